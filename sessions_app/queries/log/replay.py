"""The steps of a replay: events of a session's main flow, one after the other, with their times."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions_app.models import Event

STEPS = 300
"""Of one answer: what a person plays in some minutes."""


class Step(NamedTuple):
    seq: int
    at: datetime | None


def after(session_id: UUID, seq: int, limit: int = STEPS) -> list[Step]:
    """The steps behind an event, in order."""
    return [Step(*row) for row in _steps(session_id).filter(seq__gt=seq).order_by("seq")[:limit]]


def before(session_id: UUID, seq: int, limit: int = STEPS) -> list[Step]:
    """The steps that end before an event, in order."""
    return [Step(*row) for row in _steps(session_id).filter(seq__lt=seq).order_by("-seq")[:limit]][::-1]


def _steps(session_id: UUID) -> QuerySet[Event, tuple[int, datetime | None]]:
    """What a sub-agent did lies below the row that began it, and is no step of its own."""
    nested = Q(depth__gt=0, parent_seq__isnull=False)
    return Event.objects.filter(session_id=session_id).exclude(nested).values_list("seq", "at")
