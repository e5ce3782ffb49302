"""Where the cost of a session went: its bill, short in the overview and whole on a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from sessions_app.bill import words
from sessions_app.bill.bill import Bill, Line
from sessions_app.bill.places import Place
from sessions_app.bill.words import Sentence
from sessions_app.models import Session
from sessions_app.queries.log import event_detail
from sessions_app.queries.money import paid_calls
from sessions_app.queries.money.usage import Part
from sessions_app.services.money import bills

from .. import access
from ..pages import page_or_fragment
from .addresses import event_url, session_at

FEW = 3
"""Places, models and shares that the overview shows."""
LINES = 100
"""Of a table; a session may have thousands of sub-agents."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A place as it stands on a page."""

    place: Place
    words: Sentence
    url: str


@dataclass(frozen=True, slots=True)
class Table:
    """Lines of one division of the bill, and how many there are beyond them."""

    lines: list[Line]
    more: int


@require_safe
@access.viewer
def index(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The whole bill; to htmx the short one that stands in the overview."""
    session = session_at(request, agent_id, session_id)
    bill = bills.of(session)
    children = event_detail.children(session.pk)
    paid_calls.note_costs_of([session, *children])
    context = {
        "session": session,
        "bill": bill,
        "classes": [_about(line) for line in bill.classes],
        "shares": [] if bill.is_stated else [_about(line) for line in _largest(bill.classes)],
        "models": _table(bill.models),
        "agents": _table(bill.agents),
        "tools": _table(bill.tools),
        "places": _places(session, bill),
        "base": event_url(session, None),
        "few": FEW,
        "children": children,
        "together": None if bill.is_stated else _together(session, children),
    }
    return page_or_fragment(request, "sessions/cost/index.html", "sessions/cost/_short.html", context)


def _together(session: Session, children: list[Session]) -> Part | None:
    """What a session cost with those that it started; None where it started none, or as many as are looked up.

    Not of one whose recorder states amounts: they may be of the sub-agents, too.
    """
    if not 0 < len(children) < event_detail.CHILDREN:
        return None
    every = [session, *children]
    recorded = [cost for one in every for cost in (one.cost_recorded, one.tool_cost) if cost is not None]
    priced = [one.cost_priced for one in every if one.cost_priced is not None]
    return Part(
        sum(recorded, Decimal(0)) if recorded else None, sum(priced, Decimal(0)) if priced else None,
        sum(one.unpriced_tokens for one in every), sum(one.under_reported for one in every),
    )  # fmt: skip


def _about(line: Line) -> tuple[tuple[str, str], Line]:
    """A class of tokens with its name and explanation."""
    return words.CLASSES[line.name or ""], line


def _largest(lines: list[Line]) -> list[Line]:
    """The lines with the greatest shares of the bill."""
    return sorted(filter(attrgetter("per_mille"), lines), key=attrgetter("per_mille"), reverse=True)[:FEW]


def _table(lines: list[Line]) -> Table:
    return Table(lines[:LINES], max(0, len(lines) - LINES))


def _places(session: Session, bill: Bill) -> list[Shown]:
    return [Shown(place, words.sentence(place), event_url(session, place.seq)) for place in bill.places]
