"""The list of agents: what is searched, in which order, and its page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Lower
from django.http import QueryDict

from sessions_app.models import Agent

from . import agents
from .agents import AgentRow, SeenAgent

Found = TypeVar("Found", bound=Agent)
AGENTS = 100
"""Of a page."""
COUNTED = 2_000
"""Agents whose numbers are looked up so that they can be put into an order by them: 0.1 s."""
DEFAULT = "-seen"
MOST_TYPED = 200
BY_NUMBER: dict[str, Callable[[AgentRow], Any]] = {
    "sessions": lambda row: row.session_count,
    "errors": lambda row: row.error_rate or 0,
    "findings": lambda row: sum(found.sessions for found in row.findings),
    "tokens": lambda row: _sums(row).total_tokens or 0,
    "cost": lambda row: _sums(row).cost_amount or 0,
    "pending": lambda row: row.waiting,
}
SORTS = ("seen", "name", *BY_NUMBER)


@dataclass(frozen=True, slots=True)
class AskedAgents:
    """What the address asks for; ``problem`` says what of it cannot be understood."""

    q: str = ""
    sort: str = DEFAULT
    problem: str = ""

    @property
    def key(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.sort.startswith("-")

    def query(self, **changes: str) -> str:
        """The query string with some values changed."""
        query = QueryDict(mutable=True)
        for name, value in ({"q": self.q, "sort": self.sort} | changes).items():
            if value and (name, value) not in (("sort", DEFAULT), ("page", "1")):
                query[name] = value
        return f"?{query.urlencode()}" if query else "?"


@dataclass(frozen=True, slots=True)
class AgentPage:
    """A page of the list. ``scale``: sessions of the busiest day of those shown."""

    rows: Sequence[AgentRow]
    page: Page[Any]
    scale: int


def _sums(row: AgentRow) -> Any:
    """Its properties are those of models, of which it is none."""
    return row.sums


def read(query: QueryDict) -> AskedAgents:
    """Read the address. Never raises."""
    typed, sort = query.get("q", "").strip(), query.get("sort", "").strip() or DEFAULT
    if "\0" in typed or len(typed) > MOST_TYPED:
        return AskedAgents(problem=f"search for at most {MOST_TYPED} characters, without NUL")
    if sort.removeprefix("-") not in SORTS:
        return AskedAgents(typed, problem=f'"{sort[:40]}" is no order; use one of {", ".join(SORTS)}')
    return AskedAgents(typed, sort)


def page_of(workspace_id: UUID, asked: AskedAgents, number: int, off: Collection[str]) -> AgentPage:
    """A page of the agents that are asked for. By a number they are sorted where there are at most ``COUNTED``; the
    latest of more."""
    found = matching(agents.by_last_seen(workspace_id), asked.q)
    if asked.key in BY_NUMBER:
        rows = agents.rows(workspace_id, list(found[:COUNTED]), off)
        rows.sort(key=BY_NUMBER[asked.key], reverse=asked.is_descending)  # stable: the last seen first among equals
        page: Page[Any] = Paginator(rows, AGENTS).get_page(number)
        shown = list(page.object_list)
    else:
        page = Paginator(_in_order(found, asked), AGENTS).get_page(number)
        shown = agents.rows(workspace_id, list(page.object_list), off)
    return AgentPage(shown, page, max((day for row in shown for day in row.days), default=0))


def matching(found: QuerySet[Found], typed: str) -> QuerySet[Found]:
    """Those agents of whom each word stands in the name, the model or the description."""
    for word in typed.split():
        found = found.filter(Q(name__icontains=word) | Q(slug__icontains=word) | Q(model__icontains=word)
                             | Q(description__icontains=word))  # fmt: skip
    return found


def _in_order(found: QuerySet[SeenAgent], asked: AskedAgents) -> QuerySet[SeenAgent]:
    if asked.key == "name":
        name = Lower("name")
        return found.order_by(name.desc() if asked.is_descending else name.asc(), "id")
    seen = F("last_seen")
    first = seen.desc(nulls_last=True) if asked.is_descending else seen.asc(nulls_first=True)
    return found.order_by(first, "name", "id")
