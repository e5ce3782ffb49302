"""The worker of a turn: claims it, writes its heartbeat, and parks or finishes it as its runtime says."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from types import ModuleType
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, connections
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.ids import uuid7
from sessions_app.models import Session, TurnInFlight
from sessions_app.services.money import budgets
from sessions_app.services.turns import in_flight
from sessions_app.services.turns.in_flight import LeaseLost

from . import Ended, Failed, Outcome, Retry, Waits
from .run import TurnRun
from .turn_heartbeats import turn_heartbeats

log = logging.getLogger(__name__)
RELEASED_TIMES = 3
"""Workers that give a turn back because the database failed them; after them it waits for its lease each time."""
MOST_FAILURES = 5
"""Consecutive failures of the kind that may pass, before a turn is given up; the waits between grow to a minute."""
LONGEST_WAIT = 300.0
MODULES = {
    "built_in": "sessions_app.runtimes.built_in.turns",
    "local": "sessions_app.runtimes.local.loop",
    "managed": "sessions_app.runtimes.managed.loop",
    "scripted": "sessions_app.runtimes.scripted",
}
"""Runtime of an agent -> the module that takes its turns."""


def run(session_id: UUID, beside: Callable[[TurnInFlight], AbstractContextManager[None]] = nullcontext) -> None:
    """Go on with the turn of a session, unless somebody is at it or there is none.

    ``beside`` is entered while this worker is at the turn, and left when the turn is parked or over.
    """
    flight = in_flight.claim(session_id)
    if flight is None:
        return
    turn, started = TurnRun(flight), time.monotonic()
    try:
        with beside(flight), turn_heartbeats.during(turn):
            outcome = _run_until_it_parks(turn)
            _park_or_finish(turn, outcome, round((time.monotonic() - started) * 1000))
    except LeaseLost:
        log.warning("the turn of session %s went over to another worker", session_id)
    except (OperationalError, InterfaceError):
        if flight.attempt <= RELEASED_TIMES:
            _release(flight)
        raise
    finally:
        connections.close_all()


def _release(flight: TurnInFlight) -> None:
    """Give the turn back for another worker to go on with at once; what cannot be given back is found by the sweep."""
    until = time.monotonic() + in_flight.LEASE.total_seconds()
    while time.monotonic() < until:
        connections.close_all()
        try:
            return in_flight.release(flight)
        except (OperationalError, InterfaceError):
            time.sleep(1)


def close(session_id: UUID) -> bool:
    """Close a session that is archived here at its runtime, too. False when that has to be tried again."""
    session = Session.objects.select_related("agent").filter(pk=session_id).first()
    return session is None or runtime_of(session.agent.runtime).close(session)  # None: it was erased meanwhile


def runtime_of(name: str) -> ModuleType:
    """The module of a runtime. They are imported when first used: an SDK takes 30 MB."""
    return import_module(MODULES[name])


def _run_until_it_parks(turn: TurnRun) -> Outcome:
    """The runtime's outcome, ``Ended`` or ``Waits``; after ``Retry`` it is called again from here."""
    failures, got_to = 0, -1
    while True:
        outcome = _advance(turn)
        if not isinstance(outcome, Retry):
            return outcome
        steps = sum(event.kind not in ("status", "error") for event in turn.events_of_turn())
        failures, got_to = failures + 1 if steps == got_to else 1, steps  # in a row: a long turn may meet many
        if failures > MOST_FAILURES:
            return Ended([error_event(turn, f"given up after {failures} tries: {outcome.why}")])
        if _waited(turn, outcome):
            stopped = _advance(turn)  # it may have something to stop
            return stopped if isinstance(stopped, Ended) else Ended([interrupted_event(turn)])


def _advance(turn: TurnRun) -> Outcome:
    try:
        outcome = runtime_of(turn.agent.runtime).advance(turn)
    except (Failed, budgets.Spent) as failed:
        return Ended([error_event(turn, str(failed))])
    except (LeaseLost, DatabaseError, InterfaceError):
        raise
    except Exception as error:  # an SDK or a tool may fail in any way, and the session must say so
        log.exception("the turn of session %s failed", turn.session_id)
        return Ended([error_event(turn, f"the runtime failed: {type(error).__name__}: {error}")])
    if isinstance(outcome, Ended) and turn.interrupted:
        return Ended([*outcome.last, interrupted_event(turn)])
    return outcome


def _waited(turn: TurnRun, retry: Retry) -> bool:
    """Wait as long as was asked, in sight of everybody; True when a person interrupts that."""
    seconds = min(max(retry.seconds, 0.0), LONGEST_WAIT)
    until = timezone.now() + timezone.timedelta(seconds=seconds)
    in_flight.still_owned(turn.flight).update(retry_at=until)
    note = f"{retry.why}; next try in {seconds:.0f} s"
    turn.append(turn.event("status", f"retry:{uuid7()}", note, actor_kind="system", data={"status": "retrying"}))
    interrupted = turn.pause(seconds)
    in_flight.still_owned(turn.flight).update(retry_at=None)
    return interrupted


def _park_or_finish(turn: TurnRun, outcome: Outcome, busy_ms: int) -> None:
    if isinstance(outcome, Waits):
        in_flight.park(turn.flight, busy_ms)
    else:
        in_flight.finish(turn.flight, busy_ms, outcome.last)


def error_event(turn: TurnRun, text: str) -> EventDraft:
    """What went wrong, for the person who reads the session."""
    return turn.event("error", f"error:{uuid7()}", text, actor_kind="system", actor_name="Countersign")


def interrupted_event(turn: TurnRun) -> EventDraft:
    """The end of a turn that a person stopped."""
    return turn.event(
        "status", f"interrupted:{turn.turn}:{turn.flight.worker}", "interrupted", actor_kind="system",
        actor_name="Countersign", data={"status": "interrupted"},
    )  # fmt: skip
