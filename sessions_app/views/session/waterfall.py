"""The waterfall of a session: what ran when, below what, and what ran beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.queries.log import waterfall as queries
from sessions_app.queries.log.waterfall import Span
from sessions_app.rendering.overview.scale import Pause, Scale, scale_of

from .. import access
from .addresses import number, session_at

WIDTH = 1_000
LEAST = 3
"""Width of a bar that could not be seen otherwise."""
LONG = 1_800_000
"""Milliseconds: who waits for a command or a person so long sees of the axis its beginning and its end."""
INDENTED = 6
"""Levels that are indented; what lies deeper stands at the sixth."""


@dataclass(frozen=True, slots=True)
class Line:
    """A span with its bar: where it begins and how wide it is, of a thousand; None where its time is not known."""

    span: Span
    bar: tuple[int, int] | None

    @property
    def level(self) -> int:
        return min(self.span.depth, INDENTED)

    @property
    def is_moment(self) -> bool:
        """Whether only a beginning is known, and no length."""
        return self.span.milliseconds is None


@dataclass(frozen=True, slots=True)
class Gap:
    """A pause that is cut short, with its place of a thousand and its seconds."""

    start: int
    width: int
    seconds: float


@require_safe
@access.viewer
def index(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """A page of spans: those behind ``?after=SEQ``, of all turns or of ``?turn=``."""
    session = session_at(request, agent_id, session_id)
    turn, after = number(request.GET.get("turn")), number(request.GET.get("after")) or 0
    found = queries.waterfall(session, after, turn)
    scale = axis_of(found.spans)
    following = {"turn": turn, "after": found.next_after}
    context = {
        "session": session, "turn": turn, "after": after, "width": WIDTH,
        "lines": [Line(span, bar_of(span, scale)) for span in found.spans],
        "gaps": [_gap(pause) for pause in scale.pauses] if scale else [],
        "began": min((span.began for span in found.spans if span.began), default=None),
        "ended": max((span.ended for span in found.spans if span.ended), default=None),
        "next_url": f"?{urlencode({name: value for name, value in following.items() if value is not None})}"
        if found.next_after else "",
    }  # fmt: skip
    return render(request, "sessions/strip/waterfall.html", context)


def axis_of(spans: Iterable[Span]) -> Scale | None:
    """The axis under some spans, with pauses cut short in which nothing ran, or nothing but what took very long; None
    where no times are known.
    """
    busy: list[tuple[int, int]] = []
    for span in spans:
        if span.kind == "turn" or not span.began or not span.ended or span.milliseconds is None:
            continue
        began, ended = _milliseconds(span.began), _milliseconds(span.ended)
        busy += [(began, ended)] if ended - began <= LONG else [(began, began), (ended, ended)]
    return scale_of(busy)


def bar_of(span: Span, scale: Scale | None) -> tuple[int, int] | None:
    """Place and width of a span's bar; a mark of the least width where only one of its times is known."""
    known = [at for at in (span.began, span.ended) if at is not None]
    if scale is None or not known:
        return None
    start = min(WIDTH - LEAST, int(scale.place(_milliseconds(known[0])) * WIDTH))
    end = int(scale.place(_milliseconds(known[-1])) * WIDTH)
    return start, max(LEAST, end - start) if span.milliseconds is not None else LEAST


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _gap(pause: Pause) -> Gap:
    start = round(pause.start * WIDTH)
    return Gap(start, max(1, round(pause.end * WIDTH) - start), pause.milliseconds / 1000)
