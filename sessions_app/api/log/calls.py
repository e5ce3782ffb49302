"""Tool calls and model requests of a session, narrowed and sorted as under the lenses of its page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries.log import model_requests
from sessions_app.queries.log.call_order import Order, listed
from sessions_app.queries.log.lenses import CallFilter
from sessions_app.queries.log.timeline import Entry, read

from ..auth import own_viewer
from ..paging import Cursor, Limit, Page, decode, encode, keyset
from ..parsing import reply
from ..schemas.calls import CallQuery, SessionModelRequest, SessionToolCall
from ..sessions import session_read

router = Router(tags=["sessions"])


@router.get("/sessions/{uuid:session_id}/calls", auth=own_viewer, response=Page[SessionToolCall])
def list_calls(
    request: HttpRequest, session_id: UUID, wanted: Query[CallQuery], limit: Limit, cursor: Cursor
) -> HttpResponse:
    """List the tool calls of a session, with those of sub-agents in it, in the order in which they were made unless
    `sort` is sent.
    """
    session = session_read(request, session_id)
    only = CallFilter(wanted.tool, wanted.status == "failed", wanted.about, wanted.took, wanted.cost)
    last = decode(cursor, lambda position: int(position[0])) if cursor else 0
    calls = listed(session.pk, only, Order.named(wanted.sort), last)[: limit + 1]
    rows: list[Any] = list(calls)
    page = rows[:limit]
    seqs = [row.seq for row in page]
    own = {"session_id": session.pk, "seq__in": seqs}
    entries: dict[int, Entry] = {one.seq: one for one in read(models.Event.objects.filter(**own))}
    asked = {one.seq: one for one in models.ModelRequest.objects.filter(**own)}
    items = [SessionToolCall.of(row, entries.get(row.seq), asked.get(row.seq)) for row in page]
    return reply(Page(items=items, next_cursor=encode([seqs[-1]]) if len(rows) > limit else None))


@router.get("/sessions/{uuid:session_id}/requests", auth=own_viewer, response=Page[SessionModelRequest])
def list_requests(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the model requests of a session in the order of their responses, each once."""
    session = session_read(request, session_id)
    found = models.ModelRequest.objects.filter(session_id=session.pk)
    rows, next_cursor = keyset(found, "seq", limit, cursor, int, ascending=True)
    facts = model_requests.facts(session.pk, {row.seq: row for row in rows}, largest=0)
    return reply(Page(items=[SessionModelRequest.of(row, facts.get(row.seq)) for row in rows], next_cursor=next_cursor))
