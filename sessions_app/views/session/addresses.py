"""Places in a session, and the URLs that lead there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.translation import gettext

from sessions_app.models import Session
from sessions_app.queries.log import lenses, outline
from sessions_app.queries.log.call_order import Order
from sessions_app.queries.log.timeline import APART, DEPTHS, hides, path_to
from sessions_app.queries.retention import hidden

from .. import access
from ..pages import page_or_fragment, wants_fragment

JOINED, EVERYTHING = "joined", "everything"
"""How the story is shown: runs of calls and notes joined, or each step; the other ``DEPTHS`` leave steps out."""
FOLDS = 200
"""Turns that an address folds at most: it stays below a kilobyte."""
MOST = 2**31 - 1
"""The largest number that a column for ``seq`` holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place that a URL names: by which lens, how much of the story, and where in the session.

    ``path`` leads to ``event``; ``start`` and ``end`` bound a window for who turns the pages without JavaScript.
    ``near`` is the event that was read under another lens; ``usual`` the lens where an address names none.
    """

    lens: str
    show: str
    event: int | None
    turn: int | None
    start: int | None
    end: int | None
    near: int | None
    words: str
    path: list[int]
    calls: lenses.CallFilter = lenses.CallFilter()
    order: Order | None = None
    """Of the tool calls; None: as they happened."""
    usual: str = lenses.STORY
    replay: int | None = None
    """The event up to which the transcript is shown, in a replay: one step after the other."""
    without: tuple[str, ...] = ()
    """Words of ``APART`` whose kinds are left out of every step."""
    folded: tuple[int, ...] = ()
    """Turns of the story of which only the head is shown."""

    @property
    def opened(self) -> frozenset[int]:
        return frozenset(self.path)

    @property
    def kept(self) -> str:
        """What the links of a page say of its lens."""
        return self._lens_kept + self.folds

    @property
    def folds(self) -> str:
        """The end of an address that folds the same turns."""
        return folds_of(self.folded)

    def with_fold(self, turn: int) -> str:
        """What a link says of the lens that folds a turn, or opens it where it is folded."""
        return self._lens_kept + folds_of({*self.folded} ^ {turn})

    @property
    def _lens_kept(self) -> str:
        if self.lens == lenses.STORY:
            if self.show != JOINED:
                return f"&show={self.show}{self.without_of(self.without)}"
            return "" if self.usual == self.lens else "&lens=story"
        return "&" + urlencode({"lens": self.lens} | self.asked)

    @staticmethod
    def without_of(words: Iterable[str]) -> str:
        """The end of an address that leaves these kinds out."""
        joined = ".".join(words)
        return f"&without={joined}" if joined else ""

    @property
    def asked(self) -> dict[str, str]:
        """What an address asks of the tool calls that are shown, and of their order."""
        if self.lens != lenses.TOOLS:
            return {}
        return asked_of(self.calls) | ({"sort": str(self.order)} if self.order else {})


def folds_of(turns: Iterable[int]) -> str:
    """The end of an address that folds these turns, or the first ``FOLDS`` of them."""
    joined = ".".join(map(str, sorted(turns)[:FOLDS]))
    return f"&folded={joined}" if joined else ""


def place_in(session: Session, asked: QueryDict, usual: str = lenses.STORY) -> Place:
    """The place that an address names; what makes no sense in it is as good as absent."""
    show = asked.get("show", JOINED)
    show = show if show in DEPTHS else JOINED
    without = _apart(asked.get("without", "")) if show != JOINED else ()
    lens = asked.get("lens", lenses.STORY if "show" in asked else usual)
    lens = lens if lens in lenses.LENSES else lenses.STORY
    if replay := number(asked.get("replay")):
        lens, show, replay, without = lenses.STORY, EVERYTHING, min(replay, session.last_seq), ()
    event = number(asked.get("event"))
    if event and lens != lenses.STORY:
        path = lenses.path_to(session.pk, lens, event)
        lens = lens if path else lenses.STORY  # a link to an event shows that event
    if event and lens == lenses.STORY:
        path = path_to(session.pk, event)
        if path and show != JOINED and hides(session.pk, show, path, without):
            show, without = JOINED, ()
        if (
            path
            and show == JOINED
            and any(one.first_seq <= path[0] <= one.last_seq for one in hidden.known_of(session))
        ):
            show = EVERYTHING
    turn, start, end, near = (number(asked.get(name)) for name in ("turn", "from", "until", "near"))
    folded = () if replay else _folded(session, asked.get("folded", ""), event)
    words = asked.get("q", "").strip()[:500]
    order = Order.named(asked.get("sort", "")) if lens == lenses.TOOLS else None
    path = path if event else []
    return Place(
        lens, show, event, turn, start, end, near, words, path, calls_in(asked), order, usual, replay or None, without,
        folded,
    )  # fmt: skip


def _folded(session: Session, value: str, event: int | None) -> tuple[int, ...]:
    """Turns to fold, ``3.7`` of an address; never one with a pending approval, or with the event that is looked for."""
    turns = {turn for word in value.split(".")[:FOLDS] if (turn := number(word)) is not None}
    if not turns:
        return ()
    shown = [event] if event else []
    if session.pending_approvals:
        shown += outline.pending_seqs(session.pk)
    return tuple(sorted(turns - outline.turns_of(session.pk, shown)))


def _apart(value: str) -> tuple[str, ...]:
    """``notes.reasoning`` of an address, in the order of ``APART``; words that are none of it are as good as absent."""
    words = value.split(".")
    return tuple(word for word in APART if word in words)


def calls_in(asked: QueryDict) -> lenses.CallFilter:
    """Which tool calls an address asks for: ``?tool=Bash&is=failed&about=src/&took=5&cost=0.10``."""
    name, words = (asked.get(key, "").replace("\0", "").strip()[:200] for key in ("tool", "about"))
    took, cost = (_amount(asked.get(key, "")) for key in ("took", "cost"))
    return lenses.CallFilter(name, asked.get("is") == "failed", words, took, cost)


def asked_of(calls: lenses.CallFilter) -> dict[str, str]:
    """The words of an address that asks for these calls."""
    said = {
        "tool": calls.name, "is": "failed" if calls.failed else "", "about": calls.words,
        "took": calls.seconds, "cost": calls.dollars,
    }  # fmt: skip
    return {name: str(value) for name, value in said.items() if value not in ("", None)}


def _amount(value: str) -> Decimal | None:
    """A number of seconds or dollars of at most nine digits, or None for whatever else stands there."""
    return Decimal(value) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", value) else None


def number(value: str | None) -> int | None:
    """A number of an event or turn from an address, or None for whatever else stands there."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 10 else None


def session_at(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> Session:
    """The session behind an address; 404 also when it is not this agent's."""
    session = access.session_read(request, session_id)
    if session.agent_id != agent_id:
        raise Http404(gettext("There is no such session of this agent."))
    return session


def at(session: Session, place: Place, **more: Any) -> dict[str, Any]:
    """What every piece of the page needs: the session, and what its links begin and end with.

    ``here`` is empty: on the page itself ``?event=87`` is address enough, and it stands there a hundred times.
    """
    own = {"session": session, "place": place, "base": event_url(session, None), "here": "", "kept": place.kept}
    return own | more


def event_url(session: Session, seq: int | None, kept: str = "", tab: str = "") -> str:
    """The permanent address of an event, or of the session when there is none. ``kept`` is that of a ``Place``."""
    base = session_path(session.agent_id, session.pk)
    return f"{base}?event={seq}{kept}{f'&tab={tab}' if tab else ''}#e-{seq}" if seq else base


@lru_cache(maxsize=1_000)
def session_path(agent_id: UUID, session_id: UUID) -> str:
    """The address of a session without its host. A page has it up to a hundred times."""
    return reverse("session-detail", args=[agent_id, session_id])


def fragment(request: access.DeskRequest, template: str, context: dict[str, Any], title: str) -> HttpResponse:
    """A piece of the page; who comes without htmx gets it on a page of its own."""
    if wants_fragment(request):
        return page_or_fragment(request, template, template, context)
    alone = {"template": template, "title": title, "here": context.get("base", "")}
    return page_or_fragment(request, "sessions/alone.html", template, context | alone)
