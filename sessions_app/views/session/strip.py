"""The run of a session in one band: on its page, as a page with a table, and small in lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from sessions_app.models import Session, SessionOverview
from sessions_app.queries.log import overview as queries
from sessions_app.rendering.overview.buckets import COUNTED, Buckets
from sessions_app.rendering.overview.drawing import HEIGHT, Picture, summary
from sessions_app.services.log import overview as overviews

from .. import access
from ..pages import page_or_fragment
from ..translated import translated
from .addresses import session_at

AXES = ("events", "time")
LANES = dict(zip(COUNTED, (
    _("Person"), _("Agent"), _("Sub-agents"), _("Read"), _("Write"), _("Run"), _("Ask"), _("Other tools"), _("Errors"),
    _("Compactions"),
), strict=True))  # fmt: skip
STRETCHES = 40
"""Rows of the table."""
MOST_EVENTS = 20_000
"""Events that are read for one page of a list; sessions beyond them are asked for again."""


@dataclass(frozen=True, slots=True)
class Strip:
    """A band as a template shows it. ``picture`` is None where nothing is drawn yet."""

    session: Session
    picture: Picture | None
    axis: str
    has_time: bool
    summary: str
    is_current: bool
    seq: int

    @property
    def height(self) -> int:
        return HEIGHT

    @property
    def is_least(self) -> bool:
        """Whether what was spent so far is at least what is known of it."""
        return overviews.is_least(self.session)

    @property
    def links(self) -> Iterator[tuple[int, int, int]]:
        """Where each slice begins, how wide it is, and its first event."""
        starts = self.picture["slices"] if self.picture else []
        ends = [start for start, _ in starts[1:]] + [self.picture["columns"] if self.picture else 0]
        return ((start, end - start, seq) for (start, seq), end in zip(starts, ends, strict=True))


def strip_of(session: Session, asked: QueryDict) -> Strip | None:
    """The band of a session as it is kept, which costs a query; None for a session without events."""
    return _strip(session, queries.overview_of(session.pk), asked) if session.last_seq else None


def _strip(session: Session, overview: SessionOverview | None, asked: QueryDict) -> Strip:
    drawn = overview.pictures if overview and overview.version == overviews.VERSION else {}
    axis = asked.get("axis", AXES[0])
    axis = axis if axis in AXES and drawn.get(axis) else AXES[0]
    return Strip(
        session, drawn.get(axis), axis, bool(drawn.get("time")), _summary(drawn),
        overviews.is_current(overview, session), overview.seq if overview else 0,
    )  # fmt: skip


def _summary(drawn: Any) -> str:
    return str(translated(summary(drawn["facts"]))) if drawn else ""


@require_safe
@access.viewer
def index(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The band, brought up to date; without htmx a page of its own with what it shows as a table. ``?axis=time``."""
    session = session_at(request, agent_id, session_id)
    overview = overviews.read_on(session)
    buckets = Buckets.of(overview.buckets) if overview.buckets else Buckets()
    context: dict[str, Any] = {"session": session, "strip": _strip(session, overview, request.GET)}
    context |= {"stretches": list(stretches(buckets)), "errors": buckets.errors, "lanes": LANES.values()}
    context["all_errors"] = sum(buckets.counts["errors"])
    response = page_or_fragment(request, "sessions/strip/index.html", "sessions/strip/_strip.html", context)
    if buckets.compactions:
        response.headers["HX-Trigger"] = "cuts-known"  # the outline says so of each turn
    return response


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of the events of a session, one after the other, with what is among them."""

    first_seq: int
    last_seq: int
    turn: int | None
    counts: dict[str, int]
    cost: Decimal | None
    """So far."""

    @property
    def cells(self) -> Iterator[tuple[Any, int]]:
        """The counts by what they are called, in the order of ``LANES``."""
        return ((label, self.counts[name]) for name, label in LANES.items())


def stretches(buckets: Buckets) -> Iterator[Stretch]:
    """At most 40 stretches of equal length."""
    step = -(-max(1, len(buckets)) // STRETCHES)
    costs = buckets.running_costs()
    for at in range(0, len(buckets), step):
        end = min(at + step, len(buckets))
        counts = {name: sum(buckets.counts[name][at:end]) for name in COUNTED}
        turn = next((turn for turn in buckets.turns[at:end] if turn is not None), None)
        last_seq = min(buckets.seq, end * buckets.step)
        yield Stretch(buckets.first_seq(at), last_seq, turn, counts, costs[end - 1])


@require_safe
@access.viewer
def small(request: access.DeskRequest) -> HttpResponse:
    """Bands for the rows of a list: ``?id=`` for each of at most 50 sessions.

    Those that are not drawn yet are, up to a number of events; for the others the list asks again.
    """
    asked = [found for found in map(_uuid, request.GET.getlist("id")[: queries.LISTED]) if found]
    sessions = queries.sessions_of(request.member.workspace_id, asked)
    kept = queries.overviews_of(sessions)
    room = MOST_EVENTS
    strips = []
    for session in sessions:
        overview = kept.get(session.pk)
        if session.last_seq and not overviews.is_current(overview, session) and room > 0:
            room -= session.last_seq - (overview.seq if overview else 0)
            overview = overviews.read_on(session)
        if overview and overview.version == overviews.VERSION and overview.seq == session.last_seq:
            drawn = overview.pictures
            strips.append({"session": session, "picture": drawn["small"], "summary": _summary(drawn)})
    return render(request, "sessions/strip/_small.html", {"strips": strips, "height": HEIGHT})


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
