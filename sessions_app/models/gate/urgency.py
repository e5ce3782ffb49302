"""What pending approvals are put in order by: these expressions stand in queries and in the index of ``Approval``."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import Case, IntegerField, Value, When
from django.db.models.functions import Coalesce

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Stands for "does not expire" where approvals are put in order."""
RANKS = ((0, ("critical", "destructive")), (1, ("high",)), (3, ("low",)))
OTHER_RANK = 2
"""Of a call with another risk label, or none: between medium and low."""


def rank() -> Case:
    """Rank of the risk; 0 is the greatest."""
    return Case(
        *(When(risk__in=labels, then=Value(rank)) for rank, labels in RANKS), default=Value(OTHER_RANK),
        output_field=IntegerField(),
    )  # fmt: skip


def expires() -> Coalesce:
    """When it expires."""
    return Coalesce("expires_at", Value(NEVER))
