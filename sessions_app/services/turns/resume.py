"""Resuming and stopping the turn in flight of a session.

Apart from ``messages`` and ``in_flight``: approvals resume turns, and an interruption cancels approvals.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import TurnInFlight

from .. import task_queue
from ..fair_queue import Line

WAITING = ("triggered", "requester", "session__workspace_id")
"""Fields that say where a turn waits."""


def resume(session_id: UUID) -> None:
    """Enqueue the turn in flight, unless there is none or a worker is at it."""
    turn = TurnInFlight.objects.filter(session_id=session_id, worker=None)
    if turn.update(rung_at=timezone.now()) and (flight := turn.select_related("session").only(*WAITING).first()):
        enqueue(flight)


def enqueue(flight: TurnInFlight) -> None:
    """Enqueue a turn in the line of who sent its message."""
    task_queue.enqueue(task_of(flight), flight.session_id, line_of(flight))


def wake(flight: TurnInFlight) -> None:
    """Let another turn of the same sender begin, if one waits: this one ends, or waits for a person."""
    task_queue.wake(task_of(flight), line_of(flight))


def task_of(flight: TurnInFlight) -> str:
    """Name of the task that runs a turn: those that webhooks began have workers of their own."""
    return task_queue.RUN_TRIGGERED_TURN if flight.triggered else task_queue.RUN_TURN


def line_of(flight: TurnInFlight) -> Line:
    """Where a turn waits."""
    return Line(flight.session.workspace_id, flight.requester)


@transaction.atomic
def stop(session_id: UUID) -> None:
    """Have the worker that is at the turn stop; a turn that waits for a person ends when it is resumed."""
    TurnInFlight.objects.filter(session_id=session_id, interrupted_at=None).update(interrupted_at=timezone.now())
    resume(session_id)
