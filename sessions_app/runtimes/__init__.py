"""Runtimes: what runs the turns of agents here. One module each (``worker.MODULES``), behind one function.

A runtime is a module with ``advance(turn: TurnRun) -> Outcome``. It is called in a worker, for a turn that begins, that
was waiting for a person, or whose worker died: it looks at the log (``turn.events()``), goes on from there, appends
what happens, and returns

``Ended()``            the turn is over; ``last`` are its final events
``Waits()``            nothing to do until a person decides; it is called again then
``Retry(seconds, why)`` not now (429, 529, a connection that broke): it is called again after that time

It raises ``Failed`` for what will not pass. It looks at ``turn.interrupted`` between steps and in long waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sessions_app.drafts import EventDraft


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over."""

    last: list[EventDraft] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Waits:
    """The turn waits for people: approvals are pending, and it is parked."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Not now; ``why`` is shown on the page until then."""

    seconds: float
    why: str


Outcome = Ended | Waits | Retry


class Failed(Exception):
    """The turn cannot go on; the message is shown in the session, and a person may retry it."""
