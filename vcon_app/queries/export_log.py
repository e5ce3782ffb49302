"""Exports of a session that people took: the newest first, and their number."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from vcon_app.models import Export

SHOWN = 20


class Summary(NamedTuple):
    """How often a session was exported, and when last."""

    times: int
    last: datetime | None


def exports_of(session_id: UUID) -> QuerySet[Export]:
    """Exports of a session that were written, or are being written, the newest first."""
    found = Export.objects.filter(session_id=session_id).exclude(status=Export.Status.FAILED)
    return found.order_by("-created_at").defer("losses", "identity")


def summary_of(session_id: UUID) -> Summary:
    """Number and time of the exports that ``exports_of`` lists."""
    return Summary(**exports_of(session_id).order_by().aggregate(times=Count("pk"), last=Max("created_at")))
