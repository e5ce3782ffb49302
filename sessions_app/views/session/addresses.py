"""Places in a session, and the URLs that lead there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse

from sessions_app.models import Session
from sessions_app.queries.log.timeline import DEPTHS, hides, path_to

from .. import access
from ..pages import page_or_fragment, wants_fragment

EVERYTHING = "everything"
MOST = 2**31 - 1
"""The largest number that a column for ``seq`` holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place that a URL names: how much to show, and where in the session.

    ``path`` leads to ``event``; ``start`` and ``end`` bound a window for who turns the pages without JavaScript.
    """

    show: str
    event: int | None
    turn: int | None
    start: int | None
    end: int | None
    words: str
    path: list[int]

    @property
    def opened(self) -> frozenset[int]:
        return frozenset(self.path)


def place_in(session: Session, asked: QueryDict) -> Place:
    """The place that an address names; what makes no sense in it is as good as absent."""
    show = asked.get("show", EVERYTHING)
    show = show if show in DEPTHS else EVERYTHING
    event = number(asked.get("event"))
    path = path_to(session.pk, event) if event else []
    if path and hides(session.pk, show, path):
        show = EVERYTHING  # a link to an event shows that event
    turn, start, end = (number(asked.get(name)) for name in ("turn", "from", "until"))
    return Place(show, event, turn, start, end, asked.get("q", "").strip()[:500], path)


def number(value: str | None) -> int | None:
    """A number of an event or turn from an address, or None for whatever else stands there."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 10 else None


def session_at(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> Session:
    """The session behind an address; 404 also when it is not this agent's."""
    session = access.session_read(request, session_id)
    if session.agent_id != agent_id:
        raise Http404("There is no such session of this agent.")
    return session


def at(session: Session, place: Place, **more: Any) -> dict[str, Any]:
    """What every piece of the page needs: the session, and what its links begin and end with.

    ``here`` is empty: on the page itself ``?event=87`` is address enough, and it stands there a hundred times.
    """
    kept = f"&show={place.show}" if place.show != EVERYTHING else ""
    return {"session": session, "place": place, "base": event_url(session, None), "here": "", "kept": kept, **more}


def event_url(session: Session, seq: int | None, show: str = "", tab: str = "") -> str:
    """The permanent address of an event, or of the session when there is none."""
    base = reverse("session-detail", args=[session.agent_id, session.pk])
    kept = f"&show={show}" if show in DEPTHS and show != EVERYTHING else ""
    return f"{base}?event={seq}{kept}{f'&tab={tab}' if tab else ''}#e-{seq}" if seq else base


def fragment(request: access.DeskRequest, template: str, context: dict[str, Any], title: str) -> HttpResponse:
    """A piece of the page; who comes without htmx gets it on a page of its own."""
    if wants_fragment(request):
        return page_or_fragment(request, template, template, context)
    alone = {"template": template, "title": title, "here": context.get("base", "")}
    return page_or_fragment(request, "sessions/alone.html", template, context | alone)
