"""Sessions of a workspace: filtered, sorted, totalled, in pages that are stable under inserts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

import orjson
from django.db.models import Count, F, Q, QuerySet, Sum, UUIDField, Value
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

from sessions_app.compiled import Compiled
from sessions_app.models import Session
from sessions_app.models.session_order import LASTING
from sessions_app.search.operators import QUOTED, Read

from . import narrowing, run_findings, search_walk
from .conditions import (
    CONDITIONS,
    BadFilter,
    agents_called,
    check_choice,
    clause_conditions,
    is_in_order,
    of_agents,
    read_typed,
)  # fmt: skip
from .narrowing import Condition
from .said import say
from .used import used, used_each

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

MEASURED = ("cost", "tokens", "turns", "errors")
"""Orders by a column of ``SessionMeasures``."""
SORTS: dict[str, Combinable] = {**LASTING, **{name: F(f"measures__{name}") for name in MEASURED}}
DEFAULT_SORT = "-started"
RELEVANCE = "relevance"
"""The order of ``relevance``, which reads what others do not."""
NEEDS_WORDS = "relevance ranks where words are found: search for some, or choose another order"
EVERYTHING = Q()
STRETCH, STRETCHES = 200, 4
"""Sessions that are looked at together, and how often at most, to fill a page of a list that is gone through."""
ASKED = 25
"""Sessions of a search that are asked together whether they have words side by side, at least."""
SUMMED = 500
"""So many sessions are added up for the totals above a list without being asked."""
ADDED_UP = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cost_recorded", "cost_priced", "unpriced_tokens", "under_reported", "turn_count", "tool_call_count", "error_count",
    "pending_approvals",
)  # fmt: skip


class SortValue(TypedDict):
    """What ``page`` adds to a session: the value that it is sorted by."""

    sort_value: Any


SortedSession: TypeAlias = "WithAnnotations[Session, SortValue]"


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Filter of the session list. An empty value means "all"."""

    agent: str = ""
    """An agent's id, slug or name."""
    status: str = ""
    origin: str = ""
    ended: str = ""
    """How it ended or stands: one of ``session_order.ENDINGS``."""
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
    finding: str = ""
    """One of ``run_findings.CHOICES``."""
    import_: UUID | None = None
    """Read from the file of this import."""
    sort: str = DEFAULT_SORT

    @property
    def active(self) -> dict[str, Any]:
        """The filters that leave something out, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "sort"}
        return {name: value for name, value in named.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Ranked:
    """Among how many sessions a page was ranked; ``is_all``: no older ones say the words."""

    candidates: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list and the cursor of the next (None at the end)."""

    items: list[SortedSession]
    next_cursor: str | None
    ranked: Ranked | None = None
    """Where the order is that of relevance."""
    is_walked: bool = False
    """Whether sessions were looked at one after the other: how many pass is not known then."""
    is_cut: bool = False
    """Whether it ended because enough of them were looked at: more may pass."""


def filtered(workspace_id: UUID, wanted: SessionFilter) -> QuerySet[Session]:
    """The sessions that pass a filter, unsorted, each with its agent. Raises ``BadFilter``."""
    found = _of_workspace(workspace_id)
    read = read_typed(wanted.q)
    if read.words:
        found = found.filter(say(workspace_id, read.words))
    return narrowing.passing(found, _conditions(workspace_id, wanted, read))


def _of_workspace(workspace_id: UUID) -> QuerySet[Session]:
    return Session.objects.filter(workspace_id=workspace_id).select_related("agent").defer("source_record")


_BY_ID = Compiled[Session](lambda workspace_id, ids: _of_workspace(workspace_id).filter(pk__any_of=ids))


def by_id(workspace_id: UUID, ids: list[UUID]) -> dict[UUID, Session]:
    """Sessions of a workspace, each with its agent."""
    return {one.pk: one for one in _BY_ID(workspace_id, ids)}


def found_page(
    workspace_id: UUID,
    wanted: SessionFilter,
    limit: int,
    cursor: str | None,
    sees: Q = EVERYTHING,
) -> Page:
    """``page`` of ``filtered``. Where words are looked for and the newest sessions come first, the index is
    read as far as the page needs (``search_walk``). ``sees``: which of them the reader sees. Raises ``BadFilter``.
    """
    read = search_walk.with_files(read_typed(wanted.q))
    found = _of_workspace(workspace_id).filter(sees)
    if not read.words:
        return _narrowed_page(found, _conditions(workspace_id, wanted, read), wanted.sort, limit, cursor)
    if wanted.sort != DEFAULT_SORT or not search_walk.can_walk(workspace_id, read.words):
        return page(filtered(workspace_id, wanted).filter(sees), wanted.sort, limit, cursor)
    for condition in _conditions(workspace_id, wanted, read):
        found = found.filter(condition.passing)
    until = _decode(cursor, DEFAULT_SORT.removeprefix("-"))[0] if cursor else None
    items: list[SortedSession] = []
    for stretch in search_walk.stretches(workspace_id, read.words, until, limit + 1, items.__len__):
        items += _passing(found.filter(stretch.found), stretch.asked, limit + 1 - len(items), cursor)
        if len(items) > limit:
            return Page(items[:limit], cursor_of(items[limit - 1]))
    return Page(items, None)


def _passing(found: QuerySet[Session], asked: Q | None, most: int, cursor: str | None) -> list[SortedSession]:
    """The newest of some sessions that pass what each is asked, up to so many: of those behind them nothing is read."""
    if asked is None:
        return page(found, DEFAULT_SORT, most, cursor).items
    kept: list[Any] = []  # with the annotation
    each = found.annotate(passes=narrowing.is_true(asked))
    while True:
        looked_at = page(each, DEFAULT_SORT, max(most - len(kept), ASKED), cursor)
        kept += filter(attrgetter("passes"), looked_at.items)
        cursor = looked_at.next_cursor
        if len(kept) >= most or cursor is None:
            return kept[:most]


def _narrowed_page(
    sessions: QuerySet[Session], conditions: list[Condition], sort: str, limit: int, cursor: str | None
) -> Page:
    """``page`` of those that pass; where they are found by going through the list, of as many as it may look at."""
    narrowed = narrowing.narrowed(sessions, conditions, sort)
    if narrowed.asked is None:
        return page(narrowed.found, sort, limit, cursor)
    asked = narrowed.found.select_related(None).only("pk").annotate(passes=narrowing.is_true(narrowed.asked))
    kept: list[Any] = []  # with the annotations of both
    for _ in range(STRETCHES):
        looked_at = page(asked, sort, STRETCH, cursor)
        kept += filter(attrgetter("passes"), looked_at.items)
        cursor = looked_at.next_cursor
        if len(kept) > limit or cursor is None:
            break
    if is_full := len(kept) > limit:
        cursor = cursor_of(kept[limit - 1])
    values = {one.pk: one.sort_value for one in kept[:limit]}
    rows = sessions.annotate(sort_value=SORTS[sort.removeprefix("-")]).in_bulk(list(values))
    items = [rows[pk] for pk in values if pk in rows]
    return Page(items, cursor, is_walked=True, is_cut=not is_full and cursor is not None)


def _conditions(workspace_id: UUID, wanted: SessionFilter, read: Read) -> list[Condition]:
    """One for each filter that leaves something out and each operator of what is typed. Raises ``BadFilter``."""
    active = wanted.active
    for name, value in active.items():
        check_choice(name, value)
    found = [
        Condition(condition(active[name]), name, is_in_order=is_in_order(name, active[name]))
        for name, condition in CONDITIONS.items() if name in active
    ]  # fmt: skip
    if wanted.agent:
        agents = agents_called(workspace_id, wanted.agent)
        found.append(Condition(of_agents(agents), "agent", is_in_order=len(agents) == 1))
    if wanted.finding:
        found.append(_with_finding(workspace_id, wanted.finding))
    if wanted.used_from or wanted.used_to:
        period = workspace_id, wanted.used_from, wanted.used_to
        found.append(Condition(used(*period), "used", each=None if wanted.used_to else used_each(*period)))
    return found + [Condition(clause) for clause in clause_conditions(workspace_id, read)]


def _with_finding(workspace_id: UUID, value: str) -> Condition:
    try:
        passing, each = run_findings.with_finding(workspace_id, value)
    except run_findings.RuleOff as off:
        raise BadFilter("finding", str(off)) from None
    return Condition(passing, "finding", each=each)


def says_little(workspace_id: UUID, wanted: SessionFilter) -> bool:
    """Whether it costs little to find all sessions that pass a filter: no words are looked for that many say."""
    words = search_walk.with_files(read_typed(wanted.q)).words
    return not search_walk.can_walk(workspace_id, words) or search_walk.are_few(workspace_id, words)


def check_order(sort: str) -> None:
    """Raises ``BadFilter`` for what is no order of sessions."""
    if sort != RELEVANCE and sort.removeprefix("-") not in SORTS:
        known = f'{", ".join(SORTS)}, with "-" in front to reverse, or {RELEVANCE}'
        raise BadFilter("sort", f'"{sort[:QUOTED]}" is no order; use one of {known}')


def page(found: QuerySet[Session], sort: str, limit: int, cursor: str | None) -> Page:
    """``limit`` sessions in order of ``sort`` (a key of ``SORTS``, ``-`` in front for descending) after ``cursor``.

    The cursor holds the sort value and id of the last row, so rows that come or go do not move the others.
    Raises ``BadFilter``.
    """
    if sort == RELEVANCE:
        raise BadFilter("sort", NEEDS_WORDS)
    check_order(sort)
    descending, name = sort.startswith("-"), sort.removeprefix("-")
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
    return Page(rows[:limit], cursor_of(rows[limit - 1]) if more else None)


def cursor_of(session: SortedSession) -> str:
    """The cursor of the page behind a session of ``page``."""
    return cursor_at(session.sort_value, session.id)


def cursor_at(value: Any, session_id: UUID) -> str:
    """The cursor of what comes behind a value and an id."""
    return base64.urlsafe_b64encode(orjson.dumps([value, session_id], default=str)).decode().rstrip("=")


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
        return value, UUID(str(last_id))
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
