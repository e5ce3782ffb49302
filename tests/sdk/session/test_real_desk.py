"""The same with a real desk: what was recorded is in its log, once, in order, and can be read again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import textwrap
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from countersign import DeskError, Session

from config.database.postgres import wait_until
from sessions_app.models import Event, Role
from sessions_app.models import Session as Kept
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.places import DOCS

from ..conftest import SOURCE
from .fake_desk import FakeDesk, serving

SENT = 120
PAGE = (DOCS / "sdk.md").read_text()
BLOCKS = re.findall(r"```python\n(.+?)```", PAGE, re.S)
LOAD = """
import itertools, time
from countersign import Session
session = Session("load", "Load")
for n in itertools.count():
    session.message(str(n))
    print(n, flush=True)
    time.sleep(0.001)
"""


class InFront(FakeDesk):
    """Stands before a real desk, and is away when it is told so; of every third request the answer is lost."""

    def __init__(self, desk: str, key: str) -> None:
        super().__init__()
        self.desk, self.key, self.is_away, self.number = desk, key, False, 0

    def answer(self, path, body):
        if self.is_away:
            return 0, b""
        self.number += 1
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(self.desk + path, json.dumps(body).encode(), headers), timeout=30) as answer:
                said = answer.status, answer.read()
        except HTTPError as error:
            said = error.code, error.read()
        return (0, b"") if self.number % 3 == 0 or self.is_away else said


def environment(url, key, folder):
    return {"PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key,
            "COUNTERSIGN_SPOOL": str(folder)}  # fmt: skip


def kept_texts(external_id):
    session = Kept.objects.get(external_id=external_id)
    return list(Event.objects.filter(session=session).order_by("seq").values_list("text", flat=True))


def test_a_desk_that_is_away_under_load_loses_nothing_and_doubles_nothing(desk_server, agent_key, tmp_path):
    """In the middle of it the process is killed, and another one ends its work."""
    front = InFront(desk_server, agent_key)
    with serving(front) as url:
        running = subprocess.Popen([sys.executable, "-c", LOAD], env=environment(url, agent_key, tmp_path), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
        told = []
        reading = threading.Thread(target=lambda: told.extend(running.stdout))
        reading.start()
        assert wait_until(lambda: front.number > 4, SENT)
        front.is_away, before = True, len(told)
        assert wait_until(lambda: len(told) > before + 500, SENT)
        front.is_away, before = False, front.number
        assert wait_until(lambda: front.number > before + 3, SENT)
        running.send_signal(signal.SIGKILL)
        running.wait(SENT)
        reading.join(SENT)
        last = Session("load", "Load", url=url, api_key=agent_key, spool=tmp_path)
        assert last.flush(SENT)
    texts = kept_texts("load")
    recorded = [line.strip() for line in told if line.endswith("\n")]
    # One more may be kept than the program had told of.
    assert len(recorded) > 500 and texts[: len(recorded)] == recorded and len(texts) <= len(recorded) + 1


def test_the_programs_of_the_page(desk_server, agent_key, workspace, asked, decide, tmp_path):
    refund = "def issue_refund(**given):\n    return {'refunded': given['amount']}\n\n"
    programs = [refund + BLOCKS[0], BLOCKS[1], textwrap.dedent(BLOCKS[2]) + "\nprint(len(calls), 'calls')\n"]
    running = started(programs[0], desk_server, agent_key, tmp_path)
    decide(asked(), "approve", arguments={"order": "4711", "amount": "4.00"})
    assert finished(running) == ""
    session = Kept.objects.get(external_id="refund-4711")
    assert (session.agent.name, session.user_id, session.metadata) == ("Refund agent", "ines", {"shop": "Porto"})
    assert (session.turn_count, session.tool_call_count) == (1, 2) and session.input_tokens == 812
    assert Event.objects.get(session=session, kind="tool_result", result__refunded="4.00")
    assert "It was shipped." in finished(started(programs[1], desk_server, agent_key, tmp_path))
    read = finished(started(programs[2], desk_server, agent_key, tmp_path))
    assert read.splitlines() == [
        "user Refund order 4711, please.", "assistant 40.00 is on its way back.", "2 calls"]  # fmt: skip


def started(source, url, key, folder):
    return subprocess.Popen([sys.executable, "-c", source], env=environment(url, key, folder), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def finished(running):
    said, problems = running.communicate(timeout=SENT)
    assert running.returncode == 0 and problems == ""
    return said


def test_history_events_and_export(desk_server, workspace, agent_key, tmp_path):
    reviewer = api_keys.create_api_key(workspace, "Reviewer", Role.REVIEWER, by=audit.COMMAND)[1]
    run = Session("long", "Clerk", url=desk_server, api_key=reviewer, spool=tmp_path)
    for n in range(700):
        run.message(f"question {n}", "user")
        run.message(f"answer {n}")
    assert run.flush(SENT)
    assert [said["text"] for said in run.history(3)] == ["answer 698", "question 699", "answer 699"]
    asked = run.history(400, "user")
    assert [said["text"] for said in asked] == [f"question {n}" for n in range(300, 700)]
    assert [said["seq"] for said in run.events(limit=1100)] == list(range(1, 1101))
    assert [said["text"] for said in run.events(1396, kind="user_message")] == ["question 698", "question 699"]
    assert b"question 699" in run.export("jsonl")
    with pytest.raises(DeskError) as refused:
        Session("other", "Clerk", url=desk_server, api_key=agent_key, spool=tmp_path).export()
    assert refused.value.status == 403
