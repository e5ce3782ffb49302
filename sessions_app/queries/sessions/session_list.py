"""Sessions of a workspace: filtered, sorted, totalled, in pages that are stable under inserts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

import orjson
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.lookups import DataContains
from django.db.models import (
    Count,
    F,
    Func,
    Q,
    QuerySet,
    Sum,
    TextField,
    UUIDField,
    Value,
)
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from django.db.models.lookups import GreaterThanOrEqual, LessThan

from sessions_app.models import Agent, Session
from sessions_app.models.session_order import LASTING, NEVER, STARTED

from .said import say
from .used import used

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

MEASURED = ("cost", "tokens", "turns", "errors")
"""Orders by a column of ``SessionMeasures``."""
SORTS: dict[str, Combinable] = {**LASTING, **{name: F(f"measures__{name}") for name in MEASURED}}
DEFAULT_SORT = "-started"
VERDICTS = {"pass": ["pass"], "fail": ["fail"], "unsure": ["unsure"], "mixed": ["mixed"], "none": [""]}
VERDICTS["any"] = ["pass", "fail", "unsure", "mixed"]
"""Words of the filter "verdict", and what ``Session.verdict`` is then; ``none``: nobody has said anything."""
NOBODY = "none"
"""As an assignee: sessions that are assigned to nobody."""
SUMMED = 1_000
"""So many sessions are added up for the totals above a list without being asked."""
ADDED_UP = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cost_recorded", "cost_priced", "unpriced_tokens", "turn_count", "tool_call_count", "error_count",
    "pending_approvals",
)  # fmt: skip


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
    """What the transcript or title says, see ``search.typed``: ``refund "order 4711" -test or src/app/models.py``."""
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
    verdict: str = ""
    assignee: str = ""
    """Id of a member, or ``NOBODY``."""
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
    for condition in _conditions(workspace_id, wanted):
        found = found.filter(condition)
    return found


def _conditions(workspace_id: UUID, wanted: SessionFilter) -> list[Q]:
    """One condition for each filter that leaves something out. Raises ``BadFilter``."""
    active = wanted.active
    for name, choices in (("status", Session.Status.values), ("origin", Session.Origin.values), ("verdict", VERDICTS)):
        if name in active and active[name] not in choices:
            raise BadFilter(name, f'"{active[name]}" is no {name}; use one of {", ".join(choices)}')
    conditions = [condition(active[name]) for name, condition in CONDITIONS.items() if name in active]
    if wanted.agent:
        conditions.append(_of_agent(workspace_id, wanted.agent))
    if wanted.q:
        conditions.append(say(workspace_id, wanted.q))
    if wanted.used_from or wanted.used_to:
        conditions.append(used(workspace_id, wanted.used_from, wanted.used_to))
    return conditions


def _of_agent(workspace_id: UUID, value: str) -> Q:
    """By id also where the slug is given, which costs a query: PostgreSQL knows of an id how many sessions it has."""
    try:
        return Q(agent_id=UUID(value))
    except ValueError:
        return Q(agent_id=Agent.objects.filter(workspace_id=workspace_id, slug=value).values_list("pk").first())


def _costs_at_least(dollars: Decimal) -> Q:
    return Q(measures__cost__gte=dollars)


def _started_from(since: datetime) -> Q:
    """In the words of the index: who has not started stands at ``NEVER`` in it."""
    return Q(GreaterThanOrEqual(STARTED, Value(since))) if since > NEVER else Q(started_at__gte=since)


def _started_before(until: datetime) -> Q:
    return Q(LessThan(STARTED, Value(until)), started_at__isnull=False)


class ShortNames(Func):
    """The names of an array as they stand in its index (migration 0030), which has no room for long ones."""

    function = "countersign_short_names"
    output_field: Any = ArrayField(TextField())


def _names(field: str, name: str) -> Q:
    return Q(DataContains(ShortNames(F(field)), ShortNames(Value([name]))), **{f"{field}__contains": [name]})


CONDITIONS: dict[str, Callable[[Any], Q]] = {
    "status": lambda status: Q(status=status),
    "origin": lambda origin: Q(origin=origin),
    "tag": lambda tag: Q(tags__contains=[tag]),
    "from_": _started_from,
    "to": _started_before,
    "model": lambda model: _names("model_names", model),
    "tool": lambda tool: _names("tools_invoked", tool),
    "min_cost": _costs_at_least,
    "has_errors": lambda some: Q(error_count__gt=0) if some else Q(error_count=0),
    "verdict": lambda word: Q(verdict__in=VERDICTS[word]),
    "assignee": lambda who: Q(assignee=None) if who == NOBODY else Q(assignee=who),
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
    key, last = SORTS[name], F("id")
    if name in MEASURED:
        found, last = found.filter(measures__workspace=F("workspace")), F("measures__session")
    found = found.annotate(sort_value=key)
    if cursor:
        value, last_id = _decode(cursor, name)
        # One comparison of rows: PostgreSQL begins in the middle of the index. With "or" it begins at the end of it.
        past = TupleLessThan if descending else TupleGreaterThan
        found = found.filter(past(Tuple(key, last), (Value(value), Value(last_id, output_field=UUIDField()))))
    order = [OrderBy(by, descending=descending) for by in (F("sort_value"), last)]
    rows = list(found.order_by(*order)[: limit + 1])
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


def totals(found: QuerySet[Session], most: int | None) -> dict[str, Any] | None:
    """Totals of all sessions that pass: their number, tokens, money, errors, turns.

    None where more than ``most`` pass: adding up a hundred thousand is asked for by name, with None.
    """
    summed = found.order_by() if most is None else found.order_by()[: most + 1]
    row = summed.aggregate(sessions=Count("pk"), **{name: Sum(name) for name in ADDED_UP})
    return row if most is None or row["sessions"] <= most else None


def totals_of(sessions: Sequence[Session]) -> dict[str, Any]:
    """The same of sessions that are there already."""
    known = {name: [n for one in sessions if (n := getattr(one, name)) is not None] for name in ADDED_UP}
    return {"sessions": len(sessions)} | {name: sum(found) if found else None for name, found in known.items()}


def estimated(found: QuerySet[Session]) -> int:
    """How many pass by PostgreSQL's statistics, of which a search by words has none (it takes them for a half).

    To plan takes 0.4 ms however many there are, while what finds the sessions of a tag, tool, model or cost reads all
    of them, also where ``totals`` would stop at a thousand.
    """
    (plan,) = orjson.loads(found.order_by().values("pk").explain(format="json"))
    return int(plan["Plan"]["Plan Rows"])
