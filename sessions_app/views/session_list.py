"""The list of sessions. The page of one session is in ``session``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Role, SavedView
from sessions_app.queries.money.totals import Sums
from sessions_app.queries.reviews import saved_views, seen
from sessions_app.queries.sessions import folding, narrowing, relevance, said, session_filter
from sessions_app.queries.sessions import session_list as queries
from sessions_app.queries.sessions.conditions import BadFilter, read_typed
from sessions_app.queries.sessions.run_summaries import note_summaries

from . import access, filter_fields, list_columns
from .pages import page_or_fragment, wants_fragment

ROWS = 50
FIRST = 30
"""Rows that the page comes with, more than a screen shows: 20 more are 40 % of what it costs to write and to draw.
``ROWS`` follow when somebody scrolls to their end.
"""


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """All sessions of the workspace; the URL holds filter, order and place."""
    read = session_filter.read(request.GET, request.member.pk)
    chosen = saved_views.columns_of(request.member)
    names = list_columns.shown(chosen.names)
    for name in session_filter.unknown(request.GET):
        read.errors[name] = gettext("the list has no such filter, or no longer has it; remove it from the address")
    may = Role(request.member.role).covers(Role.REVIEWER)
    span = 1 + len({*names} - {"run"})  # columns at every width: one too many takes a share of those that were resized
    context: dict[str, Any] = {"read": read, "shown": names, "may_review": may, "span": span}
    context["query_here"] = read.query(cursor=request.GET.get("cursor"), totals=request.GET.get("totals"))
    if not (wants_fragment(request) and request.GET.get("cursor")):
        context |= filter_fields.form(request, read) | _heads(read, names, chosen.widths)
        context |= _tools(request, read, names)
    context |= _found(request, read, names)
    cursor = request.GET.get("cursor")
    fragment = "sessions/list/_rows.html" if cursor and not read.errors else "sessions/list/_list.html"
    return page_or_fragment(request, "sessions/list/index.html", fragment, context, status=400 if read.errors else 200)


def _heads(read: session_filter.ReadFilter, names: list[str], widths: dict[str, int]) -> dict[str, Any]:
    columns = list_columns.heads(read, names, widths)
    return {"columns": columns, "is_sized": any(column.width for column in columns)}


def _tools(request: access.DeskRequest, read: session_filter.ReadFilter, names: list[str]) -> dict[str, Any]:
    """Saved views, and columns to choose from."""
    here, mine, moved = read.query(), request.member.pk, request.GET.get(list_columns.MOVED, "")
    choices = list_columns.choices(names, moved)
    views = saved_views.views_of(request.member)
    return {
        "views": [View(one, f"?{one.query}" == here, one.member_id == mine) for one in views],
        "column_choices": choices,
        "is_arranging": any(choice.focus for choice in choices),
    }  # fmt: skip


@dataclass(frozen=True)
class View:
    """A saved view as the list shows it."""

    view: SavedView
    on: bool
    is_mine: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """How many events of a session are new to a member, and the last one that is not."""

    count: int
    read_to: int


def _found(request: access.DeskRequest, read: session_filter.ReadFilter, names: list[str]) -> dict[str, Any]:
    """Rows and totals; a value that only the query can judge becomes an error of the form."""
    try:
        listed = _page(request, read, request.GET)
    except BadFilter as bad:
        read.errors[bad.field] = str(bad)
    if read.errors:
        return {}
    page = listed.page
    if "assignee" in names:
        prefetch_related_objects(page.items, "assignee__user")
    note_summaries(page.items, request.member.workspace.rules_off)
    seen_to = seen.seen_by(request.member, [one.pk for one in page.items])
    unseen = {pk: Unread(one.last_seq - seen_to[pk], seen_to[pk]) for one in page.items if (pk := one.pk) in seen_to}
    more = {"page": page, "more": read.query(cursor=page.next_cursor), "unseen": unseen, "listed": listed}
    more["are_all_looked_at"] = page.is_walked and not page.items and "cursor" in request.GET
    more["unfolded"] = read.query(fold="no")
    more["more_when_seen"] = "cursor" not in request.GET and FIRST < ROWS
    if wants_fragment(request) and request.GET.get("cursor"):
        return more  # further rows of a table whose totals stand above it already
    if read.wanted.q:
        more["read_typed"] = typed = read_typed(read.wanted.q)
        more["side_by_side"] = said.has_words_side_by_side(typed.words)
        more["unsearchable"] = said.unsearchable(request.member.workspace_id)
    return more | _sums(request, read, listed, request.GET)


def totals_now(request: access.DeskRequest, query: str) -> dict[str, Any]:
    """What stands above the list of a query string, as the next load of it would say; empty where it has a fault."""
    asked = QueryDict(query.removeprefix("?"))
    read = session_filter.read(asked, request.member.pk)
    try:
        return {} if read.errors else _sums(request, read, _page(request, read, asked), asked)
    except BadFilter:
        return {}


def _sums(
    request: access.DeskRequest, read: session_filter.ReadFilter, listed: folding.FoldedPage, asked: QueryDict
) -> dict[str, Any]:
    page = listed.page
    if page.next_cursor is None and "cursor" not in asked and not listed.folds:
        return _totals_for_page(queries.totals_of(page.items))
    everything = asked.get("totals") == "all"
    return _totals(request.member.workspace_id, read, everything=everything, are_found=not page.is_walked)


def _page(request: access.DeskRequest, read: session_filter.ReadFilter, asked: QueryDict) -> folding.FoldedPage:
    workspace_id, cursor = request.member.workspace_id, asked.get("cursor")
    rows = ROWS if cursor else min(FIRST, ROWS)
    if read.folds:
        found = queries.filtered(workspace_id, read.wanted)
        return folding.page(workspace_id, found, read.wanted.sort, rows, cursor)
    return folding.FoldedPage(relevance.found_page(workspace_id, read.wanted, rows, cursor))


def _totals(
    workspace_id: UUID, read: session_filter.ReadFilter, *, everything: bool, are_found: bool
) -> dict[str, Any]:
    """Totals, or where many sessions pass, or are not found without looking at many others (``are_found``), the address
    at which all of them are added up.

    ``about`` is how many there are by statistics, to two digits: not told where filters may depend on each other.
    """
    if everything:
        return _totals_for_page(queries.totals(queries.filtered(workspace_id, read.wanted), None))
    many: dict[str, Any] = {"totals": None, "all_totals": read.query(totals="all")}
    if not are_found:
        return many | {"is_walked": True}
    if not queries.says_little(workspace_id, read.wanted):
        return many
    found = queries.filtered(workspace_id, read.wanted)
    about = narrowing.estimated(found)
    if about > queries.SUMMED:
        is_known = len(read.wanted.active) < 2 and not read.wanted.q
        return many | {"about": round(about, 2 - len(str(about))) if is_known else None}
    row = queries.totals(found, queries.SUMMED)
    return _totals_for_page(row) if row else many | {"summed": queries.SUMMED}


def _totals_for_page(row: dict[str, Any]) -> dict[str, Any]:
    return {"totals": row, "sums": Sums.from_row(row)}
