"""A process that is killed leaves its spool, and the next one sends it; one that ends sends what it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from countersign.recording.recorder import recorder_for

from config.database.postgres import wait_until

from ..conftest import SOURCE
from .fake_desk import problem

SENT = 60
PROGRAM = """
import sys
from countersign import Session
session = Session("run-1", "Refund agent")
for n in range(int(sys.argv[1])):
    session.message(f"message {n}")
print("recorded", flush=True)
if sys.argv[2] == "stay":
    sys.stdin.read()
"""


def program(url, folder, number, then):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": url,
                   "COUNTERSIGN_API_KEY": "cs_test", "COUNTERSIGN_SPOOL": str(folder)}  # fmt: skip
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(number), then], env=environment, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def killed(running):
    assert running.stdout.readline() == "recorded\n"
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=SENT)


def test_the_spool_of_a_killed_process_is_sent_by_the_next_one(session, desk, url, tmp_path):
    desk.fault = lambda path, body: problem(503, "later")
    for number in (300, 40):
        killed(program(url, tmp_path, number, "stay"))
    left = sorted(tmp_path.glob("*/*/*.jsonl"))
    assert len(left) == 2
    with left[0].open("a") as file:
        file.write('1 {"client_id": "half", "kind": "no')  # as a kill in the middle of a line leaves it
    desk.fault = lambda path, body: None
    assert session("run-2").flush(SENT)
    assert sorted(desk.texts("run-1")) == sorted(f"message {n}" for number in (300, 40) for n in range(number))
    assert wait_until(lambda: len(list(tmp_path.glob("*/*"))) == 1, SENT)  # its own


def test_what_a_killed_process_had_sent_is_not_doubled(session, desk, url, tmp_path):
    desk.after = lambda path, body: (0, b"") if "events" in path else None  # taken, and the process is not told
    running = program(url, tmp_path, 50, "stay")
    assert wait_until(lambda: len(desk.events("run-1")) == 50, SENT)
    killed(running)
    desk.after = lambda path, body: None
    assert session().flush(SENT)
    assert desk.texts("run-1") == [f"message {n}" for n in range(50)]
    assert session().progress().repeated == 50


def test_a_living_process_keeps_its_spool(session, desk, url, tmp_path):
    desk.fault = lambda path, body: problem(503, "later")
    running = program(url, tmp_path, 5, "stay")
    assert running.stdout.readline() == "recorded\n"
    desk.fault = lambda path, body: problem(503, "later") if body.get("external_id") == "run-1" else None
    other = session("run-2")
    other.message("mine")
    assert other.flush(SENT) and desk.texts("run-2") == ["mine"]
    assert desk.texts("run-1") == [] and len(list(tmp_path.glob("*/*"))) == 2
    desk.fault = lambda path, body: None
    assert "Traceback" not in running.communicate("", timeout=SENT)[1]
    assert desk.texts("run-1") == [f"message {n}" for n in range(5)]


def test_a_process_that_ends_sends_what_it_has_and_leaves_nothing(desk, url, tmp_path):
    running = program(url, tmp_path, 2000, "go")
    assert "Traceback" not in running.communicate(timeout=SENT)[1] and running.returncode == 0
    assert len(desk.texts("run-1")) == 2000 and list(tmp_path.glob("*/*")) == []


def test_a_process_that_ends_without_a_desk_leaves_its_spool(session, desk, url, tmp_path):
    desk.fault = lambda path, body: (0, b"")
    running = program(url, tmp_path, 20, "go")
    said = running.communicate(timeout=SENT)[1]
    assert "the next process sends them" in said and running.returncode == 0
    desk.fault = lambda path, body: None
    assert session("run-2").flush(SENT) and len(desk.texts("run-1")) == 20


def test_another_key_sends_nothing_of_this_one(session, desk, url, tmp_path):
    desk.fault = lambda path, body: problem(503, "later")
    killed(program(url, tmp_path, 5, "stay"))
    desk.fault = lambda path, body: None
    other = session("run-2", api_key="cs_other")
    other.message("mine")
    assert other.flush(SENT) and desk.texts("run-1") == []
    assert recorder_for(*other._desk(), tmp_path).progress().sent == 1
