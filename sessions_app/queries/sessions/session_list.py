"""Sessions of a workspace: filtered, sorted, totalled, in pages that are stable under inserts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

import orjson
from django.db.models import Count, DateTimeField, Exists, F, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from sessions_app.models import EventText, Session, Turn

from ..log.search import web_search

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

COST = Coalesce(F("cost_recorded"), Decimal(0)) + Coalesce(F("cost_priced"), Decimal(0))
TOKENS = sum(
    (Coalesce(F(f"{name}_tokens"), 0) for name in ("cache_read", "cache_write", "output")),
    start=Coalesce(F("input_tokens"), 0),
)
NEVER = datetime.fromisoformat("0001-01-02T00:00:00+00:00")
SORTS: dict[str, Combinable] = {
    "created": F("created_at"),
    "started": Coalesce(F("started_at"), Value(NEVER), output_field=DateTimeField()),
    "cost": COST,
    "tokens": TOKENS,
    "turns": F("turn_count"),
    "errors": F("error_count"),
    "title": F("title"),
}
DEFAULT_SORT = "-started"


class SortValue(TypedDict):
    """What ``page`` adds to a session: the value that it is sorted by."""

    sort_value: Any


SortedSession: TypeAlias = "WithAnnotations[Session, SortValue]"


class BadFilter(ValueError):
    """A filter has a value that means nothing; ``field`` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Filter of the session list. An empty value means "all"."""

    agent: str = ""
    """An agent's id or slug."""
    status: str = ""
    origin: str = ""
    tag: str = ""
    q: str = ""
    """Words that occur in the transcript or title, as in a web search: ``refund "order 4711" -test``."""
    from_: datetime | None = None
    to: datetime | None = None
    min_cost: Decimal | None = None
    has_errors: bool | None = None
    needs_approval: bool | None = None
    model: str = ""
    tool: str = ""
    used_from: datetime | None = None
    """A turn began then or later, as usage counts it; with ``used_to`` one turn in between."""
    used_to: datetime | None = None
    sort: str = DEFAULT_SORT

    @property
    def active(self) -> dict[str, Any]:
        """The filters that leave something out, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "sort"}
        return {name: value for name, value in named.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list and the cursor of the next (None at the end)."""

    items: list[SortedSession]
    next_cursor: str | None


def filtered(workspace_id: UUID, wanted: SessionFilter) -> QuerySet[Session]:
    """The sessions that pass a filter, unsorted, each with its agent. Raises ``BadFilter``."""
    found = Session.objects.filter(workspace_id=workspace_id).select_related("agent").defer("source_record")
    for condition in _conditions(wanted):
        found = found.filter(condition)
    return found


def _conditions(wanted: SessionFilter) -> list[Q]:
    """One condition for each filter that leaves something out. Raises ``BadFilter``."""
    active = wanted.active
    for name, choices in (("status", Session.Status), ("origin", Session.Origin)):
        if name in active and active[name] not in choices.values:
            raise BadFilter(name, f'"{active[name]}" is no {name}; use one of {", ".join(choices.values)}')
    conditions = [condition(active[name]) for name, condition in CONDITIONS.items() if name in active]
    if wanted.used_from or wanted.used_to:
        conditions.append(_used(wanted.used_from, wanted.used_to))
    return conditions


def _used(since: datetime | None, until: datetime | None) -> Q:
    """Sessions with a turn in the period, by the moment that ``queries.usage`` gives a turn."""
    began = Coalesce("started_at", OuterRef("started_at"), OuterRef("created_at"), output_field=DateTimeField())
    turns = Turn.objects.filter(session=OuterRef("pk")).annotate(began=began)
    bounds = {"began__gte": since, "began__lt": until}
    return Q(Exists(turns.filter(**{name: bound for name, bound in bounds.items() if bound})))


def _agent(value: str) -> Q:
    try:
        return Q(agent_id=UUID(value))
    except ValueError:
        return Q(agent__slug=value)


def _has_words(words: str) -> Q:
    texts = EventText.objects.filter(session_id=OuterRef("pk"), words=web_search(words))
    return Q(Exists(texts)) | Q(title__icontains=words.replace("\0", " "))


def _costs_at_least(dollars: Decimal) -> Q:
    return Q(pk__in=Session.objects.annotate(spent=COST).filter(spent__gte=dollars).values("pk"))


CONDITIONS: dict[str, Callable[[Any], Q]] = {
    "agent": _agent,
    "status": lambda status: Q(status=status),
    "origin": lambda origin: Q(origin=origin),
    "tag": lambda tag: Q(tags__contains=[tag]),
    "q": _has_words,
    "from_": lambda since: Q(started_at__gte=since),
    "to": lambda until: Q(started_at__lt=until),
    "model": lambda model: Q(model_names__contains=[model]),
    "tool": lambda tool: Q(tools_invoked__contains=[tool]),
    "min_cost": _costs_at_least,
    "has_errors": lambda some: Q(error_count__gt=0) if some else Q(error_count=0),
    "needs_approval": lambda some: Q(pending_approvals__gt=0) if some else Q(pending_approvals=0),
}
"""What a filter with a value asks of a session, by the filter's field."""


def page(found: QuerySet[Session], sort: str, limit: int, cursor: str | None) -> Page:
    """``limit`` sessions in order of ``sort`` (a key of ``SORTS``, ``-`` in front for descending) after ``cursor``.

    The cursor holds the sort value and id of the last row, so rows that come or go do not move the others.
    Raises ``BadFilter``.
    """
    descending, name = sort.startswith("-"), sort.removeprefix("-")
    if name not in SORTS:
        raise BadFilter("sort", f'"{sort}" is no order; use one of {", ".join(SORTS)}, with "-" in front to reverse')
    found = found.annotate(sort_value=SORTS[name])
    if cursor:
        value, last_id = _decode(cursor, name)
        past = "lt" if descending else "gt"
        found = found.filter(Q(**{f"sort_value__{past}": value}) | Q(sort_value=value, **{f"id__{past}": last_id}))
    direction = "-" if descending else ""
    rows = list(found.order_by(f"{direction}sort_value", f"{direction}id")[: limit + 1])
    more = len(rows) > limit
    return Page(rows[:limit], _encode(rows[limit - 1]) if more else None)


def _encode(session: SortedSession) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([session.sort_value, session.id], default=str)).decode().rstrip("=")


def _decode(cursor: str, sort: str) -> tuple[Any, UUID]:
    try:
        value, last_id = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if sort in ("created", "started"):
            value = datetime.fromisoformat(value)
        elif sort == "cost":
            value = Decimal(value)
            if not value.is_finite() or abs(value.adjusted()) > 30:  # what numeric refuses
                raise ValueError
        elif not isinstance(value, str if sort == "title" else int) or "\0" in str(value):
            raise ValueError
        return value, UUID(last_id)
    except (ValueError, TypeError, ArithmeticError, binascii.Error):
        raise BadFilter("cursor", "this cursor does not belong to this list; begin again without one") from None


def totals(found: QuerySet[Session]) -> dict[str, Any]:
    """Totals of all sessions that pass: their number, tokens, money, errors, turns."""
    sums = {name: Sum(name) for name in (
        "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
        "cost_recorded", "cost_priced", "unpriced_tokens", "turn_count", "tool_call_count", "error_count",
        "pending_approvals",
    )}  # fmt: skip
    return found.order_by().aggregate(sessions=Count("pk"), **sums)
