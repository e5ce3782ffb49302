"""Where the cost of a session went."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.services.money import bills

from ..auth import own_viewer
from ..parsing import reply
from ..schemas.bill import SessionCost
from ..sessions import session_read

router = Router(tags=["sessions"])


@router.get("/sessions/{uuid:session_id}/cost", auth=own_viewer, response=SessionCost)
def read_cost(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return what a session cost by class of tokens, model, sub-agent and tool, and which events cost most."""
    session = session_read(request, session_id)
    return reply(SessionCost.from_bill(session, bills.of(session)))
