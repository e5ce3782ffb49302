"""The run of a session: in buckets from beginning to end, and as spans by time."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.queries.log import waterfall
from sessions_app.services.log import overview

from ..auth import own_viewer
from ..parsing import reply
from ..schemas.overview import Overview, WaterfallPage, WaterfallQuery
from ..sessions import session_read

router = Router(tags=["overview"])


@router.get("/sessions/{uuid:session_id}/overview", auth=own_viewer, response=Overview)
def read_overview(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the whole run of a session in buckets: how many events of each kind, from its first event to its last."""
    session = session_read(request, session_id)
    return reply(Overview.from_row(overview.read_on(session), session.last_seq))


@router.get("/sessions/{uuid:session_id}/waterfall", auth=own_viewer, response=WaterfallPage)
def read_waterfall(request: HttpRequest, session_id: UUID, wanted: Query[WaterfallQuery]) -> HttpResponse:
    """Return the turns, model requests, tool calls and sub-agents of a session as spans, with their times."""
    session = session_read(request, session_id)
    return reply(WaterfallPage.from_waterfall(waterfall.waterfall(session, wanted.after, wanted.turn)))
