"""Waits for a tool that works in another thread, with an eye on the person who may stop the turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from django.db import connections

from sessions_app.runtimes.run import TurnRun

T = TypeVar("T")
LOOK_SECONDS = 0.1


class Stopped(Exception):
    """The turn was interrupted while the tool ran."""


class TooSlow(Exception):
    """The tool took longer than its definition allows."""


class Down(Exception):
    """A server of tools could not be reached or spoken to; the message says why."""


class BrokeOff(Down):
    """The session with it ended while a request was under way."""


def outcome(future: Future[T], turn: TurnRun, seconds: float) -> T:
    """The result of a future, which is cancelled when nobody waits any more.

    Raises ``Stopped``, ``TooSlow``, ``LeaseLost`` and what the future raises. Holds no database connection meanwhile.
    """
    connections.close_all()
    until = time.monotonic() + seconds
    try:
        while not wait([future], timeout=min(LOOK_SECONDS, seconds)).done:
            if turn.interrupted:
                raise Stopped
            if time.monotonic() > until:
                raise TooSlow(f"no answer within {seconds:g} seconds")
        return future.result()
    finally:
        future.cancel()


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Run a function that cannot be cancelled: when nobody waits any more, its thread is left to itself."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # whoever waits gets it
            future.set_exception(error)
        finally:
            connections.close_all()

    threading.Thread(target=run, name="tool", daemon=True).start()
    return future
