"""Search over all transcripts."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.queries.sessions.conditions import BadFilter, names_agent
from sessions_app.queries.sessions.search import SESSIONS, search

from ..auth import own_reader
from ..paging import Cursor
from ..parsing import reply
from ..problems import invalid
from ..schemas.sessions import RankedAmong, SearchPage, SearchResult, SessionQuery
from ..sessions import session_schemas

router = Router(tags=["sessions"])
Sessions = Annotated[int, Query(SESSIONS, ge=1, le=50, description="most sessions of a page, 1 to 50")]


@router.get("/search", auth=own_reader, response=SearchPage)
def search_sessions(request: HttpRequest, wanted: Query[SessionQuery], limit: Sessions, cursor: Cursor) -> HttpResponse:
    """Search the transcripts of all sessions; each session that is found comes with hits in context. `q` takes words
    and operators: `refund tool:search is:error cost>0.50 file:src/app.py from:2026-01-31`. Filters and order are those
    of `GET /api/v1/sessions`.
    """
    try:
        sees = request.auth.lists(names_agent(wanted.agent, wanted.q))
        page = search(request.auth.workspace.id, wanted.filter(), limit, cursor, sees)
    except BadFilter as bad:
        raise invalid(f"/{bad.field}", str(bad)) from None
    sessions = session_schemas(result.session for result in page.results)
    items = [SearchResult.of(result, session) for result, session in zip(page.results, sessions, strict=True)]
    ranked = RankedAmong.of(page.ranked)
    told = SearchPage(
        items=items, next_cursor=page.next_cursor, ranked=ranked, is_cut=page.is_cut, unknown=list(page.read.unknown)
    )
    return reply(told)
