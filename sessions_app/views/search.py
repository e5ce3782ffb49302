"""Search over all transcripts: hits in context under each session, with the filters of the session list."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app.queries.sessions import conditions, said, session_filter
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.queries.sessions.search import SESSIONS, ResultPage, search
from sessions_app.search import operators
from sessions_app.search.operators import Read

from . import access, filter_fields
from .pages import page_or_fragment, wants_fragment


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The URL holds what is searched for, filter, order and place, by the names of the session list."""
    read = session_filter.read(request.GET, request.member.pk)
    for name in session_filter.unknown(request.GET):
        read.errors[name] = _("the search has no such filter; remove it from the address")
    cursor = request.GET.get("cursor")
    is_more = bool(cursor) and wants_fragment(request)
    context: dict[str, Any] = {"read": read, "operator_names": operators.NAMES}
    if not is_more:
        context |= filter_fields.form(request, read)
    if read.wanted.active and not read.errors:
        context |= _found(request, read, cursor, is_more=is_more)
    fragment = "search/_results.html" if is_more and not read.errors else "search/_search.html"
    return page_or_fragment(request, "search/index.html", fragment, context, status=400 if read.errors else 200)


def _found(
    request: access.DeskRequest, read: session_filter.ReadFilter, cursor: str | None, *, is_more: bool
) -> dict[str, Any]:
    """A page of results; a value that only the query can judge becomes an error of the form."""
    workspace_id = request.member.workspace_id
    try:
        page = search(workspace_id, read.wanted, SESSIONS, cursor)
    except BadFilter as bad:
        read.errors[bad.field] = str(bad)
        return {}
    found: dict[str, Any] = {"page": page, "next": read.query(cursor=page.next_cursor), "in_session": _kept(page)}
    found["are_all_looked_at"] = page.is_walked and not page.results and bool(cursor)
    if is_more:
        return found
    found["notices"] = _notices(request, page.read)
    if page.read.words:
        found["unsearchable"] = said.unsearchable(workspace_id)
    return found


def _kept(page: ResultPage) -> str:
    """What links into a session say of the words."""
    return urlencode({"q": page.read.words}) if page.read.words else ""


def _notices(request: access.DeskRequest, read: Read) -> list[str]:
    """One sentence for each thing in what was typed that stands for nothing here."""
    agents = conditions.unknown_agents(request.member.workspace_id, read)
    told = [
        _("There is no agent “%(name)s” in this workspace; the filter “Agent” names those that there are")
        % {"name": name}
        for name in agents
    ]
    return [*([read.told] if read.told else []), *told]
