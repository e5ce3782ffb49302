"""A part that cannot be started now, since the system has no process or thread left, is started when it can be."""

from __future__ import annotations

import errno
import threading
import time

from config.processes import fork_client
from config.processes.children import Child
from config.processes.fork_client import Forker

NONE_LEFT = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


class Started:
    """A process that runs, under an id that no system gives."""

    pid, returncode = 2**30, None

    def wait(self) -> int:
        return 0

    def poll(self) -> None:
        return None


class Launcher:
    """Starts what it is asked for, but for the first few times."""

    def __init__(self, *faults: Exception) -> None:
        self.faults, self.tries = list(faults), 0

    def __call__(self, *_: object, **more: object) -> Started:
        self.tries += 1
        if self.faults:
            raise self.faults.pop(0)
        return Started()


def until_it_runs(child: Child, monkeypatch) -> float:
    """Seconds of looks, five of them each second, until it was started."""
    now = time.monotonic()
    for look in range(100):
        monkeypatch.setattr(time, "monotonic", lambda at=now + look / 5: at)
        child.keep_running()
        if child.alive():
            return look / 5
    raise AssertionError("it was never started")


def test_a_part_that_cannot_be_started_is_tried_again_ever_more_seldom(tmp_path, monkeypatch):
    launch = Launcher(NONE_LEFT, NONE_LEFT, NONE_LEFT)
    child = Child("web", [], {}, tmp_path, launch)
    waited = until_it_runs(child, monkeypatch)
    assert (launch.tries, 7 <= waited < 8) == (4, True), "1, 2 and 4 s after each try"
    assert "Resource temporarily unavailable" in (tmp_path / "web.log").read_text()


def test_no_process_is_left_behind_where_no_thread_can_read_what_it_writes(tmp_path, monkeypatch):
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    launch = Launcher()
    child = Child("web", [], {}, tmp_path, launch)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        child.keep_running()
    assert (launch.tries, child.alive()) == (0, False)
    assert until_it_runs(child, monkeypatch) <= 2


def test_a_fork_server_that_cannot_be_started_leaves_the_supervisor_running(tmp_path, monkeypatch):
    launch = Launcher()
    monkeypatch.setattr(fork_client, "spawn", launch)
    forker = Forker({}, tmp_path)
    monkeypatch.setattr(Started, "poll", lambda _: 1)  # it has ended
    launch.faults = [NONE_LEFT]
    now = time.monotonic()
    for seconds in (1, 2, 3):
        monkeypatch.setattr(time, "monotonic", lambda at=now + seconds: at)
        forker.keep_running()
    assert launch.tries == 3
