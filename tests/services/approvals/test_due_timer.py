"""The timer of decisions that can be taken back: its thread is there as long as a moment is to come."""

from __future__ import annotations

import threading
from uuid import UUID, uuid4

import pytest

from sessions_app.services.approvals import due_timer
from sessions_app.services.approvals.due_timer import DueTimer


class Called:
    """What is called, and the rows that it was called with."""

    __name__ = "called"

    def __init__(self) -> None:
        self.rows: list[UUID] = []
        self._is_called = threading.Event()

    def __call__(self, row_id: UUID) -> None:
        self.rows.append(row_id)
        self._is_called.set()

    def wait(self) -> None:
        assert self._is_called.wait(10)
        self._is_called.clear()


@pytest.fixture(autouse=True)
def no_database(monkeypatch) -> None:
    monkeypatch.setattr(due_timer.connections, "close_all", lambda: None)


def test_a_moment_that_came_while_no_thread_could_be_started_is_not_lost(monkeypatch):
    timer, called, first, second = DueTimer(), Called(), uuid4(), uuid4()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            timer.add(0, called, first)
    timer.add(0, called, second)
    for _ in range(2):
        called.wait()
        if len(called.rows) == 2:
            break
    assert called.rows == [first, second]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced_with_the_next_moment(monkeypatch):
    timer, called = DueTimer(), Called()

    def die() -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(due_timer.connections, "close_all", die)
        timer.add(0, called, uuid4())
        called.wait()
        for thread in threading.enumerate():
            if thread.name == "due timer":
                thread.join(10)
    timer.add(0, called, uuid4())
    called.wait()
    assert len(called.rows) == 2
