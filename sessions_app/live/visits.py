"""Visit: one HTTP request on its way through the web process, and the place it holds while it works.

The gate in front of Django (``config.web.gate``) lets few requests work at once. One that only waits from now on (a
long poll, a stream, a password in the queue of hashes) leaves its place to others: ``leave``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass


def nothing() -> None:
    """What a request without a gate leaves: in tests and commands."""


@dataclass(slots=True)
class Visit:
    """``caller`` is who sent the request, once that is known: ``api_key:ID`` or ``member:ID``."""

    caller: str = ""
    leave: Callable[[], None] = nothing


current: ContextVar[Visit | None] = ContextVar("current_visit", default=None)


def note_caller(caller: str) -> None:
    """Tell the gate whom it let in: each caller has a share of their own."""
    visit = current.get()
    if visit is not None:
        visit.caller = caller


def leave() -> None:
    """Leave the place to others. From any thread; again is nothing."""
    visit = current.get()
    if visit is not None:
        visit.leave()
