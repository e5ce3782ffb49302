"""Overviews of sessions as they are kept, see ``services.log.overview``."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sessions_app.compiled import Compiled
from sessions_app.models import Session, SessionOverview

LISTED = 50
"""Sessions of one page of a list."""


def overview_of(session_id: UUID) -> SessionOverview | None:
    """What is kept, with its pictures and without its buckets; None before anybody asked."""
    return _OVERVIEW.first(session_id)


_OVERVIEW = Compiled[SessionOverview](
    lambda session_id: SessionOverview.objects.filter(pk=session_id).defer("buckets")[:1]
)


def sessions_of(workspace_id: UUID, ids: Iterable[UUID]) -> list[Session]:
    """Those of these sessions that are the workspace's."""
    found = Session.objects.filter(workspace_id=workspace_id, pk__in=list(ids)[:LISTED])
    return list(
        found.only("id", "last_seq", "error_count", "cost_recorded", "cost_priced", "unpriced_tokens", "under_reported")
    )


def overviews_of(sessions: Iterable[Session]) -> dict[UUID, SessionOverview]:
    """What is kept of several sessions, by their ids."""
    found = SessionOverview.objects.filter(pk__in=[session.pk for session in sessions]).defer("buckets")
    return {overview.pk: overview for overview in found}
