"""What the forms of the session list and of the search show: fields with their choices, chips, ranges of days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from sessions_app.compiled import Compiled
from sessions_app.models import Agent, Session
from sessions_app.queries import members
from sessions_app.queries.sessions.conditions import VERDICTS, BadFilter, read_typed
from sessions_app.queries.sessions.session_filter import ReadFilter
from sessions_app.queries.sessions.session_list import DEFAULT_SORT, RELEVANCE
from sessions_app.search import operators
from sessions_app.search.operators import QUOTED
from sessions_app.summary.findings import RULES

from . import access
from .filter_words import ENDED, LABELS, words_of

QUICK = (
    ("needs_approval", "true", gettext_lazy("Pending approvals")),
    ("has_errors", "true", gettext_lazy("With errors")),
    ("finding", "any", gettext_lazy("With findings")),
    ("status", "running", gettext_lazy("Running")),
    ("status", "archived", gettext_lazy("Archived")),
    ("ended", "broke_off", gettext_lazy("Broke off")),
    ("ended", "error", gettext_lazy("Ended in error")),
    ("verdict", "none", gettext_lazy("Not reviewed")),
    ("verdict", "fail", gettext_lazy("Failed in review")),
    ("assignee", "me", gettext_lazy("Assigned to me")),
)
NAMED = (
    "agent", "ended", "status", "origin", "tag", "from", "to", "min_cost", "model", "tool", "used_from", "used_to",
    "verdict", "assignee", "finding", "import", "fold",
)  # fmt: skip
"""Filters that get a chip once they are on; what the fields for errors and approvals say stands ready."""
PERIODS = (
    (gettext_lazy("Today"), 0), (gettext_lazy("7 days"), 6),
    (gettext_lazy("30 days"), 29), (gettext_lazy("90 days"), 89),
)  # fmt: skip
"""Ranges that one click chooses, by the days before today."""
DAY = len("2026-01-31")


def form(request: access.DeskRequest, read: ReadFilter) -> dict[str, Any]:
    """Chips, and the fields with what can be chosen in them."""
    workspace_id = request.member.workspace_id
    people = list(members.deciders(workspace_id))
    return {
        "chips": chips(read, {str(one.pk): str(one) for one in people}),
        "query": read.query(),
        "agents": _AGENTS(workspace_id),
        "endings": ENDED.items(),
        "origins": Session.Origin.choices,
        "rules": [rule for rule in RULES if rule.name not in request.member.workspace.rules_off],
        "verdicts": VERDICTS,
        "people": people,
        "days": day_fields(read.values, read.errors, gettext("Started from (UTC)")),
        "periods": periods(read),
        "orders": orders(read),
    }


_AGENTS = Compiled[Agent](
    lambda workspace_id: Agent.objects.filter(workspace_id=workspace_id).order_by("name").only("name", "slug")[:500]
)


@dataclass(frozen=True)
class DayField:
    """A field for a day. A moment, which a calendar would lose, and what is no date stay text."""

    name: str
    label: str
    value: str
    has_calendar: bool
    is_bad: bool


def day_fields(values: Mapping[str, str], errors: Mapping[str, str], first: str) -> list[DayField]:
    """The fields "from", which is called ``first``, and "to" of a filter, by its values and what is wrong with them."""
    return [
        _day_field(name, label, values[name], name in errors)
        for name, label in (("from", first), ("to", gettext("to")))
    ]


def _day_field(name: str, label: str, value: str, is_bad: bool) -> DayField:
    return DayField(name, label, value, not is_bad and len(value) in (0, DAY), is_bad)


@dataclass(frozen=True)
class Chip:
    """A filter that one click puts on or takes off."""

    text: str
    on: bool
    url: str


def chips(read: ReadFilter, people: Mapping[str, str]) -> list[Chip]:
    """Filters that stand ready, then those that are on, and operators among the words; ``people`` by their ids."""
    quick = [
        Chip(text, read.values[name] == value, read.query(**{name: "" if read.values[name] == value else value}))
        for name, value, text in QUICK
    ]
    shown = {(name, value) for name, value, _ in QUICK}
    on = [(name, value) for name in NAMED if (value := read.values[name]) and (name, value) not in shown]
    others = [Chip(_filter_in_words(read, name, value, people), True, read.query(**{name: ""})) for name, value in on]
    return quick + others + _typed(read)


def _filter_in_words(read: ReadFilter, name: str, value: str, people: Mapping[str, str]) -> str:
    """A filter in words; a value that means nothing is quoted in short, for anybody can send an address."""
    if name in read.errors:
        return f'{LABELS.get(name, name)} "{value[:QUOTED]}"'
    return words_of(name, value, people)


def _typed(read: ReadFilter) -> list[Chip]:
    """Each operator of what was typed; of words that cannot be understood none."""
    typed = read.values["q"]
    try:
        clauses = read_typed(typed).clauses
    except BadFilter:
        return []
    named = {one.typed: one for one in clauses}
    return [Chip(name, True, read.query(q=operators.without(typed, one))) for name, one in named.items()]


def orders(read: ReadFilter) -> list[Chip]:
    """The newest or the most relevant first; where no words are looked for, nothing can be relevant."""
    try:
        has_words = bool(read_typed(read.values["q"]).words)
    except BadFilter:
        has_words = False
    if not has_words:
        return []
    chosen = read.wanted.sort
    return [
        Chip(text, chosen == sort, read.query(sort=sort))
        for sort, text in ((DEFAULT_SORT, gettext("Newest first")), (RELEVANCE, gettext("Most relevant first")))
    ]


def periods(read: ReadFilter) -> list[Chip]:
    """Ranges of days up to today."""
    today = timezone.now().date()
    chosen = (read.values["from"], read.values["to"])
    return [_period(read, text, f"{today - timedelta(days=days)}", chosen) for text, days in PERIODS]


def _period(read: ReadFilter, text: str, since: str, chosen: tuple[str, str]) -> Chip:
    on = chosen == (since, "")
    return Chip(text, on, read.query(**{"from": "" if on else since, "to": ""}))
