"""Rings for the worker of a turn. Not in ``turns``: approvals ring too, and turns ask for approvals."""

from __future__ import annotations

from uuid import UUID

from django.utils import timezone

from sessions_app.models import TurnInFlight

from . import task_queue


def wake(session_id: UUID) -> None:
    """Have a worker go on with the turn in flight, where there is one that none is at."""
    if TurnInFlight.objects.filter(session_id=session_id, worker=None).update(rung_at=timezone.now()):
        task_queue.enqueue(task_queue.RUN_TURN, session_id)
