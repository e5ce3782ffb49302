"""The page that shows sessions beside each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Session
from sessions_app.queries import erasure
from sessions_app.queries.sessions import comparison
from sessions_app.search.operators import QUOTED
from sessions_app.services.log import file_changes

from . import access
from .session.files import leaf_of


@dataclass(frozen=True, slots=True)
class Column:
    """A side and where the page is without it."""

    side: comparison.Side
    without: str


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """``?session=ID&session=ID``: two to four; with one, a choice of what to compare it with. What was deleted since is
    told, and the others are shown.
    """
    ids, problems = _ids(request)
    found = comparison.sessions(request.member.workspace_id, ids)
    there = {session.pk for session in found}
    status = 404 if ids and not found else 400 if problems else 200
    problems += [_deleted(request, one) for one in ids if one not in there]
    context: dict[str, Any] = {"problems": problems, "compared": found, "most": comparison.MOST}
    others = comparison.candidates(found[0]) if 0 < len(found) < comparison.MOST else []
    context["candidates"] = [(one, address([*found, one])) for one in others if one not in found]
    if len(found) > 1:
        context |= _compared(found)
    return render(request, "compare/index.html", context, status=status)


def _deleted(request: access.DeskRequest, id_: UUID) -> str:
    """That a session was deleted, and when; 404 where there never was one here."""
    gone = erasure.tombstone_of(request.member.workspace_id, id_)
    if gone is None:
        raise Http404(gettext("There is no such session in this workspace."))
    return gettext("Session %(id)s was deleted on %(day)s.") % {"id": id_, "day": f"{gone.at:%Y-%m-%d}"}


def _compared(found: list[Session]) -> dict[str, Any]:
    for session in found:
        file_changes.read_on(session.pk)  # the next piece of at most 4,000 events; a longer log is said to be unread
    sides = comparison.sides(found)
    columns = [Column(side, address([one for one in found if one is not side.session])) for side in sides]
    return {
        "columns": columns,
        "lines": comparison.aligned(sides),
        "has_more_turns": any(side.more for side in sides),
        "tools": comparison.tools(sides),
        "files": [replace(line, cells=[_as_leaf(cell) for cell in line.cells]) for line in comparison.files(sides)],
    }


def _as_leaf(cell: comparison.Cell) -> comparison.Cell:
    """A changed file in the words of the tree of files: of what a command wrote no lines are known."""
    return replace(cell, shown=cell.shown and leaf_of(cell.side.session, cell.shown))


def _ids(request: HttpRequest) -> tuple[list[UUID], list[str]]:
    """The sessions asked for, each once, and what of the address means nothing."""
    ids: dict[UUID, None] = {}
    problems = []
    for value in request.GET.getlist("session"):
        text = value.strip().split("?")[0].rstrip("/").rsplit("/", 1)[-1]  # the address of a session will do
        try:
            id_ = UUID(text)
            if id_ in ids:
                problems.append(gettext("%(value)s is among them already; choose another") % {"value": id_})
            ids[id_] = None
        except ValueError:
            problems.append(
                gettext('"%(value)s" is no session; paste its id or the address of its page')
                % {"value": value[:QUOTED]}
            )
    if len(ids) > comparison.MOST:
        problems.append(
            gettext("%(ids)s sessions are too many beside each other; the first %(most)s are shown")
            % {"ids": len(ids), "most": comparison.MOST}
        )
    return list(ids)[: comparison.MOST], problems


def address(of: list[Session]) -> str:
    """The page that shows these sessions beside each other."""
    return f"{reverse('session-compare')}?{urlencode([('session', one.pk) for one in of])}"
