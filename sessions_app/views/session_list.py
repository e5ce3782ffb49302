"""The list of sessions. The page of one session is in ``session``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Role, SavedView, Session
from sessions_app.queries import members
from sessions_app.queries.money.totals import Sums
from sessions_app.queries.reviews import saved_views, seen
from sessions_app.queries.sessions import said, session_filter
from sessions_app.queries.sessions import session_list as queries
from sessions_app.queries.sessions.run_summaries import note_summaries

from . import access, list_columns
from .pages import page_or_fragment, wants_fragment

ROWS = 50
QUICK = (
    ("needs_approval", "true", "Pending approvals"), ("has_errors", "true", "With errors"),
    ("status", "running", "Running"), ("status", "archived", "Archived"),
    ("verdict", "none", "Not reviewed"), ("verdict", "fail", "Failed in review"), ("assignee", "me", "Assigned to me"),
)  # fmt: skip
NAMED = {
    "agent": "agent", "status": "status", "origin": "came by", "tag": "tag", "from": "from", "to": "to",
    "min_cost": "at least $", "model": "model", "tool": "tool", "used_from": "used from", "used_to": "used to",
    "verdict": "verdict", "assignee": "assigned to",
}  # fmt: skip


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """All sessions of the workspace; the URL holds filter, order and place."""
    read = session_filter.read(request.GET, request.member.pk)
    names = list_columns.shown(saved_views.columns_of(request.member))
    for name in session_filter.unknown(request.GET):
        read.errors[name] = "the list has no filter of this name, or has it no more; take it out of the address"
    may = Role(request.member.role).covers(Role.REVIEWER)
    context: dict[str, Any] = {"read": read, "shown": names, "may_review": may}
    if not (wants_fragment(request) and request.GET.get("cursor")):
        context |= {"chips": _chips(read), "columns": list_columns.heads(read, names), **_choices(request)}
        context |= _tools(request, read, names)
    context |= _found(request, read, names)
    cursor = request.GET.get("cursor")
    fragment = "sessions/list/_rows.html" if cursor and not read.errors else "sessions/list/_list.html"
    return page_or_fragment(request, "sessions/list/index.html", fragment, context, status=400 if read.errors else 200)


def _tools(request: access.DeskRequest, read: session_filter.ReadFilter, names: list[str]) -> dict[str, Any]:
    """Saved views, columns to choose from, and who sessions can be assigned to."""
    here, mine = read.query(), request.member.pk
    views = saved_views.views_of(request.member)
    return {
        "views": [View(one, f"?{one.query}" == here, one.member_id == mine) for one in views],
        "column_choices": list_columns.choices(names), "query": here,
        "people": list(members.deciders(request.member.workspace_id)),
        "verdicts": queries.VERDICTS,
    }  # fmt: skip


@dataclass(frozen=True)
class View:
    """A saved view as the list shows it."""

    view: SavedView
    on: bool
    is_mine: bool


def _found(request: access.DeskRequest, read: session_filter.ReadFilter, names: list[str]) -> dict[str, Any]:
    """Rows and totals; a value that only the query can judge becomes an error of the form."""
    try:
        found = queries.filtered(request.member.workspace_id, read.wanted)
        rows = found.select_related("assignee__user") if "assignee" in names else found
        page = queries.page(rows, read.wanted.sort, ROWS, request.GET.get("cursor"))
    except queries.BadFilter as bad:
        read.errors[bad.field] = str(bad)
    if read.errors:
        return {}
    note_summaries(page.items)
    seen_to = seen.seen_by(request.member, [one.pk for one in page.items])
    unseen = {pk: one.last_seq - seen_to[pk] for one in page.items if (pk := one.pk) in seen_to}
    more = {"page": page, "more": read.query(cursor=page.next_cursor), "unseen": unseen}
    if wants_fragment(request) and request.GET.get("cursor"):
        return more  # further rows of a table whose totals stand above it already
    if read.wanted.q:
        more["side_by_side"] = said.has_words_side_by_side(read.wanted.q)
        more["unsearchable"] = said.unsearchable(request.member.workspace_id)
    if page.next_cursor is None and "cursor" not in request.GET:
        return more | _told(queries.totals_of(page.items))
    return more | _totals(found, read, everything=request.GET.get("totals") == "all")


def _totals(found: QuerySet[Session], read: session_filter.ReadFilter, *, everything: bool) -> dict[str, Any]:
    """Totals, or where many sessions pass the address at which all of them are added up.

    ``about`` is how many there are by statistics, to two digits: not told where filters may depend on each other.
    """
    if everything:
        return _told(queries.totals(found, None))
    many = {"totals": None, "all_totals": read.query(totals="all")}
    about = queries.estimated(found)
    if about > 2 * queries.SUMMED:
        is_known = len(read.wanted.active) < 2 and not read.wanted.q
        return many | {"about": round(about, 2 - len(str(about))) if is_known else None}
    row = queries.totals(found, queries.SUMMED)
    return _told(row) if row else many | {"summed": queries.SUMMED}


def _told(row: dict[str, Any]) -> dict[str, Any]:
    return {"totals": row, "sums": Sums.from_row(row)}


def _choices(request: access.DeskRequest) -> dict[str, Any]:
    agents = Agent.objects.filter(workspace_id=request.member.workspace_id).order_by("name")
    return {
        "agents": agents.only("name", "slug")[:500],
        "statuses": Session.Status.choices,
        "origins": Session.Origin.choices,
    }


@dataclass(frozen=True)
class Chip:
    """A filter that one click puts on or takes off."""

    text: str
    on: bool
    url: str


def _chips(read: session_filter.ReadFilter) -> list[Chip]:
    quick = [
        Chip(text, read.values[name] == value, read.query(**{name: "" if read.values[name] == value else value}))
        for name, value, text in QUICK
    ]
    shown = {(name, value) for name, value, _ in QUICK}
    others = [
        Chip(f"{label} {read.values[name]}", True, read.query(**{name: ""}))
        for name, label in NAMED.items()
        if read.values[name] and (name, read.values[name]) not in shown
    ]
    return quick + others
