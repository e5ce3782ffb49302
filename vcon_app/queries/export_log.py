"""Exports of a session that people took: the newest first, and their number."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from sessions_app.queries.waiting import Place
from vcon_app.models import Export

from . import job_places

SHOWN = 20


class Summary(NamedTuple):
    """How often a session was exported, and when last."""

    times: int
    last: datetime | None


def exports_of(session_id: UUID) -> QuerySet[Export]:
    """Exports of a session that were written, or are being written, the newest first; pages of share links are none."""
    found = Export.objects.filter(session_id=session_id, share_link=None).exclude(status=Export.Status.FAILED)
    return found.order_by("-created_at").defer("losses", "identity")


def states(workspace_id: UUID, exports: list[Export]) -> list[str]:
    """What is said of each export beside its size: empty once it is written, else where it waits."""
    places = job_places.places(workspace_id, exports)
    return [_state(export, places.get(export.pk)) for export in exports]


def _state(export: Export, place: Place | None) -> str:
    if export.status == Export.Status.RUNNING:
        return "Is being written."
    if export.status == Export.Status.QUEUED:
        return export.waiting_for or job_places.sentence(export.requested_by, place)
    return ""


def summary_of(session_id: UUID) -> Summary:
    """Number and time of the exports that ``exports_of`` lists."""
    return Summary(**exports_of(session_id).order_by().aggregate(times=Count("pk"), last=Max("created_at")))
