"""Messages that wait behind a turn, and turns that are tried again: for programs what the page's composer does."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.services.turns import messages

from .auth import own_reader, own_writer
from .paging import MOST, Cursor, Limit, Page, behind
from .parsing import reply
from .problems import Problem, not_found
from .schemas.common import NOTHING, NoBody
from .schemas.sessions import Session, Waiting
from .sessions import session_read, session_schema

seed_router = Router(tags=["sessions of an agent"])
"""Below ``/dashboard/agents``."""
SESSION = "/{uuid:agent_id}/sessions/{uuid:session_id}"


@seed_router.get(f"{SESSION}/queue", auth=own_reader, response=Page[Waiting])
def list_waiting(request: HttpRequest, agent_id: UUID, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the messages that wait, in the order in which the agent will read them: at most the first 500."""
    session = session_read(request, session_id, agent_id)
    waiting = list(models.QueuedMessage.objects.filter(session=session).in_line()[:MOST])
    rows, next_cursor = behind(waiting, lambda row: str(row.pk), limit, cursor)
    return reply(Page(items=[Waiting.from_row(row) for row in rows], next_cursor=next_cursor))


@seed_router.delete(f"{SESSION}/queue/{{uuid:message_id}}", auth=own_writer, response={204: None})
def take_back(request: HttpRequest, agent_id: UUID, session_id: UUID, message_id: UUID) -> HttpResponse:
    """Delete a message that still waits. 404 when its turn has begun."""
    if not messages.take_back(session_read(request, session_id, agent_id).pk, message_id):
        raise not_found("message")
    return HttpResponse(status=204)


@seed_router.post(f"{SESSION}/go-on", auth=own_writer, response={202: Session})
def go_on(request: HttpRequest, agent_id: UUID, session_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Send the messages that were held back: for lack of money, or because the agent was paused or stopped.

    409 when none is held back, a turn is in flight, or the agent is still not active; 402 when there is still no money.
    """
    if not messages.send_waiting(session_read(request, session_id, agent_id).pk):
        raise Problem(409, "no message is held back")
    return reply(session_schema(session_read(request, session_id, agent_id)), 202)


@seed_router.post(f"{SESSION}/retry", auth=own_writer, response={202: Session})
def retry(request: HttpRequest, agent_id: UUID, session_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Have the agent take up its last turn again, after an error or an interruption.

    409 while a turn is in flight, where there was none yet, and for an agent that runs elsewhere or is not active; 402
    when no budget or wallet can pay for it.
    """
    if not messages.retry(session_read(request, session_id, agent_id).pk, by=request.auth.actor):
        raise Problem(409, "no turn can be tried again: one is in flight, none was taken, or the agent runs elsewhere")
    return reply(session_schema(session_read(request, session_id, agent_id)), 202)
