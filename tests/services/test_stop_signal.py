"""A stop that a signal's handler asks for, wherever in the waiting the signal comes."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType

import pytest

from sessions_app.stop_signal import StopSignal

PATIENCE = 10.0


def wait_with_a_handler_at(stop, number: int) -> bool:
    """Wait while ``stop.set()`` runs in the same thread before the line of that number of what ``wait`` runs, as a
    handler would; whether the line was reached. Fails where the waiting does not end."""
    seen, answers = [0], []

    def handler(frame: FrameType, event: str, argument: object):
        if event == "line":
            seen[0] += 1
            if seen[0] == number:
                sys.settrace(None)
                frame.f_trace = None
                stop.set()
        return handler

    def run() -> None:
        sys.settrace(handler)
        stop.wait(0.05)
        sys.settrace(None)
        answers.append(seen[0] >= number)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert answers, f"it hangs where the signal comes before line {number} of the waiting"
    return answers[0]


def test_a_signal_may_come_before_any_line_of_the_waiting():
    number = 1
    while wait_with_a_handler_at(stop := StopSignal(), number):
        assert stop.is_set()
        assert stop.wait(60)
        number += 1
    assert number > 3


def test_an_event_of_the_standard_library_would_hang(monkeypatch):
    """So the test above can fail."""
    monkeypatch.setattr(sys.modules[__name__], "PATIENCE", 0.5)
    with pytest.raises(AssertionError, match="it hangs"):
        for number in range(1, 20):
            wait_with_a_handler_at(threading.Event(), number)


def test_it_wakes_all_who_wait_and_stays_set():
    stop, woken = StopSignal(), []
    threads = [threading.Thread(target=lambda: woken.append(stop.wait(60))) for _ in range(3)]
    for thread in threads:
        thread.start()
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert woken == [True] * 3
    assert stop.is_set() and stop.wait(60)


def test_without_a_stop_it_waits_its_time():
    stop, began = StopSignal(), time.monotonic()
    assert not stop.wait(0.05)
    assert time.monotonic() - began >= 0.05
    assert not stop.is_set()
