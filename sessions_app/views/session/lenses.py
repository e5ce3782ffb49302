"""Lenses of the session page: which rows a place shows, and what the links between lenses need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, HttpResponseBadRequest
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import Session
from sessions_app.queries.log import lenses, model_requests, timeline
from sessions_app.queries.log.call_order import SORTS, OrderedCalls
from sessions_app.queries.log.story import Story
from sessions_app.queries.log.timeline import Timeline, Window
from sessions_app.rendering import numbers
from sessions_app.services.people import members

from .. import access
from .addresses import EVERYTHING, JOINED, Place, at, fragment, place_in, session_at
from .timeline import layout, lens_rows, said

NAMES = {
    lenses.STORY: gettext_lazy("Story"),
    lenses.TOOLS: gettext_lazy("Tools"),
    lenses.REQUESTS: gettext_lazy("Requests"),
    lenses.RAW: gettext_lazy("Raw"),
}
TITLES = {
    lenses.STORY: gettext_lazy("Prompts, replies, and one line for each run of tool calls (1)"),
    lenses.TOOLS: gettext_lazy("Every tool call as a table to sort and filter (2)"),
    lenses.REQUESTS: gettext_lazy("Every model request with its context, cache, tokens and price (3)"),
    lenses.RAW: gettext_lazy("Every event as it is kept (4)"),
}


KINDS = {
    "messages": gettext_lazy("Messages"),
    "reasoning": gettext_lazy("Reasoning"),
    "tools": gettext_lazy("Tool calls"),
    "notes": gettext_lazy("Notes of the recorder"),
}
"""What a reader may leave out of every step, by the word of the address."""


class Covers(TypedDict):
    """First and last event that the signature of a file covers."""

    first_seq: int
    last_seq: int


TOOLS = 200
"""Names of tools to choose among."""
WIDE, HIGH = 960, 56
FALL = 0.4
LINKS = 30
"""Places of the chart that can be clicked: with its path it stays below 10 KB."""


@dataclass(frozen=True, slots=True)
class Tab:
    """The link to one lens; ``count`` is None where there is nothing to count by."""

    lens: str
    name: str
    title: str
    count: int
    more: bool
    """Whether there are more than ``count``."""


def tabs(session: Session) -> list[Tab]:
    """The links to all lenses, with what stands under each."""
    found = lenses.counts(session)
    return [
        Tab(lens, str(NAMES[lens]), str(TITLES[lens]), getattr(found, lens), found.more and lens == lenses.REQUESTS)
        for lens in lenses.LENSES
    ]


@dataclass(frozen=True, slots=True)
class Kind:
    """The link that leaves one kind of rows out, or brings it back."""

    name: str
    is_shown: bool
    query: str


def kinds(place: Place) -> list[Kind]:
    """The links to leave kinds out of every step; none where runs are joined."""
    if place.lens != lenses.STORY or place.show == JOINED or place.replay:
        return []
    return [
        Kind(
            str(name), word not in place.without,
            f"show={place.show}{place.without_of(one for one in KINDS if (one in place.without) != (one == word))}",
        )
        for word, name in KINDS.items()
    ]  # fmt: skip


def rows_of(
    session: Session, place: Place, under: int | None = None, run: int | None = None, covers: Covers | None = None
) -> Timeline:
    """The rows that a place shows: of the main flow, ``under`` an event, or those of a ``run``, each by itself.

    No run goes on over the end of what is signed.
    """
    if under is not None or run is not None:
        return Timeline(session.pk, EVERYTHING if place.show == JOINED else place.show, under)
    if place.lens == lenses.TOOLS:
        if place.order:
            return OrderedCalls(session.pk, place.calls, place.order)
        return lenses.Calls(session.pk, place.calls)
    if place.lens == lenses.REQUESTS:
        return lenses.Requests(session.pk)
    if place.lens == lenses.RAW:
        return lenses.Raw(session.pk)
    if place.show != JOINED:
        return Timeline(session.pk, place.show, without=place.without, folded=place.folded)
    return Story(session, said.marker(session), [covers["last_seq"]] if covers else [], place.folded)


def row_near(session: Session, place: Place, seq: int) -> int:
    """The event to open a lens at, coming from ``seq`` under another one."""
    path = timeline.path_to(session.pk, seq) if place.lens == lenses.STORY else []
    return path[0] if path else seq


def form_of(place: Place) -> layout.Form:
    """How the rows of a place are put together."""
    if place.order:
        return lens_rows.ORDERED
    if place.replay:
        return layout.ALONE
    if place.lens in lens_rows.FORMS:
        return lens_rows.FORMS[place.lens]
    return layout.JOINED if place.show == JOINED else layout.STEPS


def around(session: Session, place: Place, window: Window) -> dict[str, Any]:
    """What the page of a lens has beside its rows: the row that its reader comes from."""
    row = window.entries[min(window.anchor, len(window.entries) - 1)] if window.entries else None
    return {
        "near": row.seq if row and place.near is not None else None,
        "tool_names": session.tools_invoked[:TOOLS] if place.lens == lenses.TOOLS else [],
        "columns": columns(place) if place.lens == lenses.TOOLS else [],
    }


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column of the tool calls: a link that sorts by it. ``state`` is that of ``aria-sort``."""

    name: str
    query: str
    state: str


HEADS = {
    "": gettext_lazy("Time"),
    "tool": gettext_lazy("Tool"),
    "object": gettext_lazy("Object"),
    "result": gettext_lazy("Result"),
    "took": gettext_lazy("Duration"),
    "cost": gettext_lazy("Output · cost"),
}
DOWN_FIRST = ("took", "cost")
"""What is looked for there is the most of it."""


def columns(place: Place) -> list[Column]:
    """Heads of the table of calls; what it is sorted by, once more, turns the order round."""
    return [_column(by, str(name), place) for by, name in HEADS.items()]


def _column(by: str, name: str, place: Place) -> Column:
    chosen = place.order.by == by if place.order else not by
    down = bool(chosen and place.order and place.order.down)
    asked = {key: value for key, value in place.asked.items() if key != "sort"} | {"lens": lenses.TOOLS}
    if by in SORTS:
        turned = not down if chosen else by in DOWN_FIRST
        asked["sort"] = f"-{by}" if turned else by
    state = ("descending" if down else "ascending") if chosen else ""
    return Column(name, urlencode(asked), state)


@require_POST
@access.viewer
def choose(request: access.DeskRequest) -> HttpResponse:
    """By which lens sessions open for this member from now on, ``lens``; one that is not remembered changes nothing."""
    lens = request.POST.get("lens", "")
    if lens not in lenses.LENSES:
        return HttpResponseBadRequest(
            gettext("There is no lens %(lens)s; there are %(lenses)s.")
            % {"lens": repr(lens[:20]), "lenses": ", ".join(lenses.LENSES)}
        )
    if lens in lenses.REMEMBERED and lens != request.member.lens:
        members.choose_lens(request.member, lens)
    return HttpResponse(status=204)


@require_safe
@access.viewer
def context(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """A chart of the context that each model request of the main flow was sent."""
    session = session_at(request, agent_id, session_id)
    points, total = model_requests.chart(session.pk)
    chart = Chart.of(points, total) if len(points) > 1 else None
    place = place_in(session, request.GET)
    return fragment(request, "sessions/lenses/_context.html", at(session, place, chart=chart), _("Context"))


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of ``WIDE`` by ``HIGH``: the path of an area, a place to click for each stretch, and what it says."""

    path: str
    stretches: list[tuple[int, int, int, str]]
    """x, width, event and title of each."""
    largest: str
    total: int
    falls: int
    """Times that the context fell by more than ``FALL``: compactions, or a conversation that began anew."""

    @classmethod
    def of(cls, points: list[model_requests.Point], total: int) -> Chart:
        largest, step = max(point.context for point in points) or 1, WIDE / len(points)
        heights = [round(HIGH - (HIGH - 2) * point.context / largest) for point in points]
        tops = [f"L{number * step:.0f} {y}H{(number + 1) * step:.0f}" for number, y in enumerate(heights)]
        every = -(-len(points) // LINKS)
        stretches = []
        for number in range(0, len(points), every):
            highest = max(points[number : number + every], key=lambda point: point.context)
            said_here = {"tokens": numbers.tokens(highest.context), "seq": highest.seq}
            title = _("up to %(tokens)s tokens, event %(seq)s") % said_here
            stretches.append((round(number * step), round(step * every), highest.seq, title))
        pairs = zip(points, points[1:], strict=False)
        falls = sum(later.context < (1 - FALL) * earlier.context for earlier, later in pairs)
        path = f"M0 {HIGH}{''.join(tops)}V{HIGH}Z"
        return cls(path, stretches, numbers.tokens(largest), total, falls)
