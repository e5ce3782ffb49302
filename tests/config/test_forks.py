"""A part is the same whether it was forked or started: its arguments, outputs, parent, session and end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from config.database.postgres import wait_until
from config.env import BASE_DIR
from config.processes.children import Process, spawn
from config.processes.fork_client import ForkedProcess, Forker
from config.processes.heartbeat_files import HeartbeatFile, open_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process can adopt another")
DJANGO = {"DJANGO_SETTINGS_MODULE": "config.settings"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def loaded(logs) -> Iterator[Forker]:
    forker = Forker(DJANGO, logs)
    assert wait_until(forker.finished_loading, seconds=60)
    yield forker
    forker.stop()


def launched(launch, *arguments: str) -> tuple[Process, dict, str]:
    """The process of ``tests.config.part``, what it says about itself, and its standard error so far."""
    said, faults = os.pipe(), os.pipe()
    process = launch("part", ["tests.config.part", *arguments], {"PART_OF_A_TEST": "yes"}, said[1], faults[1])
    os.close(said[1])
    os.close(faults[1])
    with os.fdopen(said[0]) as out, os.fdopen(faults[0]) as error:
        return process, json.loads(out.readline()), error.readline()


def test_a_forked_part_is_a_child_as_a_started_one_is(loaded):
    forked, said, fault = launched(loaded.launch, "a", "b c")
    started, said_by_started, fault_of_started = launched(spawn, "a", "b c")
    assert (type(forked), type(started)) == (ForkedProcess, subprocess.Popen)
    assert (said.pop("pid"), said.pop("session")) == (forked.pid, forked.pid)
    assert (said_by_started.pop("pid"), said_by_started.pop("session")) == (started.pid, started.pid)
    assert (said.pop("loaded_before"), said_by_started.pop("loaded_before")) == (True, False)
    assert (said.pop("protocol_loaded"), said_by_started.pop("protocol_loaded")) == (False, False), "a fifth of it all"
    assert said == said_by_started == {"argv": ["a", "b c"], "environment": "yes", "parent": os.getpid()}
    assert fault == fault_of_started == "a fault\n"
    assert (forked.wait(), forked.poll(), started.wait()) == (7, 7, 7)


def test_a_part_that_is_killed_leaves_its_signal_and_no_zombie(loaded):
    part, _, _ = launched(loaded.launch, "stay")
    assert part.poll() is None
    part.send_signal(signal.SIGKILL)
    assert part.wait() == -signal.SIGKILL
    assert not psutil.pid_exists(part.pid)
    part.send_signal(signal.SIGKILL)  # nobody is hit


def test_a_part_goes_on_when_the_forker_ends_and_the_next_is_started(logs):
    forker = Forker(DJANGO, logs)
    assert wait_until(forker.finished_loading, seconds=60)
    part, _, _ = launched(forker.launch, "stay")
    forker.stop()
    assert part.poll() is None
    part.send_signal(signal.SIGTERM)
    assert part.wait() == -signal.SIGTERM
    part, said, _ = launched(forker.launch)
    assert (type(part), said["loaded_before"], part.wait()) == (subprocess.Popen, False, 7)


def test_a_forker_that_is_started_again_is_not_missed_while_it_loads(logs):
    open_folder(logs)
    heartbeat = HeartbeatFile(logs, "forker")
    forker = Forker(DJANGO, logs, heartbeat)
    assert heartbeat.beaten_at() is None, "it has shown nothing yet"
    assert wait_until(forker.finished_loading, seconds=60)
    shown = heartbeat.beaten_at()
    forker.stop()
    forker.keep_running()
    assert forker.alive() and heartbeat.beaten_at() > shown
    forker.stop()


@pytest.mark.parametrize("settings", ["config.no_settings", "tests.config.settings_with_a_thread"])
def test_failing_forker_does_not_keep_the_processes_from_starting(logs, settings):
    forker = Forker({"DJANGO_SETTINGS_MODULE": settings}, logs)
    assert wait_until(forker.finished_loading, seconds=60)
    assert not forker.alive()
    part, _, _ = launched(forker.launch)
    assert (type(part), part.wait()) == (subprocess.Popen, 7)


def test_orphans_of_other_processes_are_not_adopted(loaded):
    launched(loaded.launch)[0].wait()
    code = "import os, time; os.fork() and os._exit(0); print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        orphan = psutil.Process(int(parent.stdout.readline()))
        parent.wait()
        assert orphan.ppid() != os.getpid()
        orphan.kill()


def test_a_part_without_its_supervisor_ends(logs):
    """The supervisor is killed: the forker and what it forked go with it, as what was started does."""
    code = (
        "import os, sys, time; from pathlib import Path; from config.processes.fork_client import Forker; "
        "from config.database.postgres import wait_until; "
        f"forker = Forker({DJANGO!r}, Path({str(logs)!r})); wait_until(forker.finished_loading, 60); "
        "part = forker.launch('part', ['tests.config.part', 'stay'], {}, 2, 2); "
        "print(part.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=BASE_DIR, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as supervisor:
        assert int(supervisor.stdout.readline())
        family = psutil.Process(supervisor.pid).children(recursive=True)
        assert len(family) == 2
        supervisor.kill()
        supervisor.wait()
        assert wait_until(lambda: not any(process.is_running() for process in family), seconds=60)
