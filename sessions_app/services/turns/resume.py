"""Resuming and stopping the turn in flight of a session.

Apart from ``messages`` and ``in_flight``: approvals resume turns, and an interruption cancels approvals.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import TurnInFlight

from .. import task_queue


def resume(session_id: UUID) -> None:
    """Enqueue the turn in flight, unless there is none or a worker is at it."""
    turn = TurnInFlight.objects.filter(session_id=session_id, worker=None)
    if turn.update(rung_at=timezone.now()):
        triggered = turn.filter(triggered=True).exists()
        task_queue.enqueue(task_queue.RUN_TRIGGERED_TURN if triggered else task_queue.RUN_TURN, session_id)


@transaction.atomic
def stop(session_id: UUID) -> None:
    """Have the worker that is at the turn stop; a turn that waits for a person ends when it is resumed."""
    TurnInFlight.objects.filter(session_id=session_id, interrupted_at=None).update(interrupted_at=timezone.now())
    resume(session_id)
