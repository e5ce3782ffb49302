"""What each filter of the session list asks of a session, and each operator among the words that somebody typed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.lookups import DataContains
from django.db.models import F, Func, Q, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.lookups import Exact, GreaterThanOrEqual, In, LessThan

from sessions_app.extensions import IMPORTED, providers
from sessions_app.models import Agent, Session, UsageTotal
from sessions_app.models.session_order import ENDED, ENDINGS, NEVER, STARTED
from sessions_app.models.usage import UsageKind
from sessions_app.search import operators
from sessions_app.search.operators import BadOperator, Clause

from . import run_findings
from .said import say

VERDICTS = {"pass": ["pass"], "fail": ["fail"], "unsure": ["unsure"], "mixed": ["mixed"], "none": [""]}
VERDICTS["any"] = ["pass", "fail", "unsure", "mixed"]
"""Words of the filter "verdict", and what ``Session.verdict`` is then; ``none``: nobody has said anything."""
NOBODY = "none"
"""As an assignee: sessions that are assigned to nobody."""
MOST_AGENTS = MOST_MODELS = 20


class BadFilter(ValueError):
    """A filter has a value that means nothing; ``field`` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def assignee_id(who: str) -> UUID | None:
    """The member whom a filter names by id; None where it asks for sessions of nobody. Raises ``BadFilter``."""
    if who == NOBODY:
        return None
    try:
        return UUID(who)
    except ValueError:
        raise BadFilter("assignee", f'"{who[:40]}" is nobody; use none, or the id of a member') from None


def of_agents(ids: list[UUID]) -> Q:
    """The sessions of some agents, see ``agents_called``: PostgreSQL knows of an id how many sessions it has."""
    return Q(agent_id=ids[0]) if len(ids) == 1 else Q(agent_id__in=ids)


def _costs_at_least(dollars: Decimal) -> Q:
    return Q(measures__cost__gte=dollars)


def _started_from(since: datetime) -> Q:
    """In the words of the index: who has not started stands at ``NEVER`` in it."""
    return Q(GreaterThanOrEqual(STARTED, Value(since))) if since > NEVER else Q(started_at__gte=since)


def _started_before(until: datetime) -> Q:
    return Q(LessThan(STARTED, Value(until)), started_at__isnull=False)


def _of_import(import_id: UUID) -> Q:
    """By the app that imports, see ``provenance``."""
    return reduce(or_, (Q(pk__in=provider(import_id)) for provider in providers(IMPORTED)), Q(pk__in=()))


SHORT = 500
"""Characters of a name in the index: of a shorter one they are all, so what the index finds is right."""


class ShortNames(Func):
    """The names of an array as they stand in its index (migration 0030), which has no room for long ones."""

    function = "countersign_short_names"
    output_field: Any = ArrayField(TextField())


def _names(field: str, name: str) -> Q:
    short = Q(DataContains(ShortNames(F(field)), ShortNames(Value([name]))))
    return short if len(name) < SHORT else short & Q(**{f"{field}__contains": [name]})


CONDITIONS: dict[str, Callable[[Any], Q]] = {
    "status": lambda status: Q(status=status),
    "origin": lambda origin: Q(origin=origin),
    "ended": lambda word: Q(Exact(ENDED, Value(word))),
    "tag": lambda tag: Q(tags__contains=[tag]),
    "from_": _started_from,
    "to": _started_before,
    "model": lambda model: _names("model_names", model),
    "tool": lambda tool: _names("tools_invoked", tool),
    "min_cost": _costs_at_least,
    "has_errors": lambda some: Q(error_count__gt=0) if some else Q(error_count=0),
    "verdict": lambda word: Q(verdict__in=VERDICTS[word]),
    "assignee": lambda who: Q(assignee=assignee_id(who)),
    "import_": _of_import,
    "needs_approval": lambda some: Q(pending_approvals__gt=0) if some else Q(pending_approvals=0),
}
"""What a filter with a value asks of a session, by the filter's field."""


def is_in_order(name: str, value: Any) -> bool:
    """Whether an index has the sessions that pass a filter in the order of their beginning, see ``Session``."""
    if name in ("has_errors", "needs_approval"):
        return value is True
    if name == "verdict":
        return len(VERDICTS[value]) == 1
    return name in ("status", "origin", "ended") or name == "assignee" and value != NOBODY


COMPARISONS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
MEASURED = {"cost": "measures__cost", "tokens": "measures__tokens", "turns": "turn_count", "errors": "error_count"}
"""Columns that operators compare with a number."""
CHOICES = {"status": Session.Status.values, "origin": Session.Origin.values, "verdict": list(VERDICTS)}
CHOICES |= {"finding": list(run_findings.CHOICES), "ended": list(ENDINGS)}
ONE_OF: dict[str, Combinable] = {"status": F("status"), "origin": F("origin"), "ended": ENDED}
"""Filters of which each session has exactly one value, with an index by them."""


def check_choice(name: str, value: Any) -> None:
    """Raises ``BadFilter`` where a filter has only certain values, and this is none of them."""
    if name in CHOICES and value not in CHOICES[name]:
        noun = "state" if name == "ended" else name
        raise BadFilter(name, f'"{value[: operators.QUOTED]}" is no {noun}; use one of {", ".join(CHOICES[name])}')


def read_typed(typed: str) -> operators.Read:
    """What somebody typed, taken apart. Raises ``BadFilter``."""
    try:
        return operators.read(typed)
    except BadOperator as bad:
        raise BadFilter("q", str(bad)) from None


def names_agent(agent: str | None, typed: str) -> bool:
    """Whether a list or a search is one of sessions of a named agent. Raises ``BadFilter``."""
    return bool(agent or read_typed(typed).values("agent"))


def clause_conditions(workspace_id: UUID, read: operators.Read) -> list[Q]:
    """One condition for each operator. Raises ``BadFilter``."""
    return [_excluded(workspace_id, one) if one.is_excluded else _clause(workspace_id, one) for one in read.clauses]


def unknown_agents(workspace_id: UUID, read: operators.Read) -> list[str]:
    """What ``agent:`` names and is no agent of the workspace."""
    return [name for name in read.values("agent") if not agents_called(workspace_id, name)]


def _clause(workspace_id: UUID, clause: Clause) -> Q:
    name, value = clause.name, clause.value
    if name in MEASURED:
        sign, number = value
        return Q(**{f"{MEASURED[name]}__{COMPARISONS[sign]}": number})
    if name == "agent":
        return Q(agent_id__in=agents_called(workspace_id, value))
    if name == "file":
        return say(workspace_id, f'"{value}"')
    if name in ("tool", "model"):
        names = spellings(value) if name == "tool" else models_called(workspace_id, value)
        return reduce(or_, (CONDITIONS[name](one) for one in names))
    return CONDITIONS["from_" if name == "from" else name](_choice(clause))


def _excluded(workspace_id: UUID, clause: Clause) -> Q:
    """That a session is not what an operator names. Of a few values it has one of the others: an index finds these,
    while PostgreSQL would go through all sessions for those that are not of the one that most are of.
    """
    if (column := ONE_OF.get(clause.name)) is None:
        return ~_clause(workspace_id, clause)
    others = [value for value in CHOICES[clause.name] if value != _choice(clause)]
    return Q(In(column, others))


def _choice(clause: Clause) -> Any:
    """The value of an operator. Raises ``BadFilter`` where it has only certain values, and this is none of them."""
    value = clause.value.lower().replace("-", "_") if clause.name == "ended" else clause.value
    try:
        check_choice(clause.name, value)
    except BadFilter as bad:
        raise BadFilter("q", f"{clause.name}: {bad}") from None
    return value


def spellings(name: str) -> list[str]:
    """A name as it was typed; of one in small letters also with a capital, as coding agents call their tools."""
    return [name, name.capitalize()] if name.islower() else [name]


def models_called(workspace_id: UUID, name: str) -> list[str]:
    """A model by its name, and those with usage whose names begin so: ``claude-opus`` is ``claude-opus-4-5``, too."""
    used = UsageTotal.objects.filter(
        workspace_id=workspace_id, kind=UsageKind.MODEL, tag=UUID(int=0), agent="", span="ever", name__istartswith=name
    )
    names = [found for found in used.order_by("name").values_list("name", flat=True) if found]
    return [*dict.fromkeys([*spellings(name), *names])][:MOST_MODELS]


def agents_called(workspace_id: UUID, name: str) -> list[UUID]:
    """Agents by id, slug or name, in whatever letters."""
    found = Agent.objects.filter(workspace_id=workspace_id)
    try:
        called = Q(pk=UUID(name))
    except ValueError:
        called = Q(slug=name.lower()) | Q(name__iexact=name)
    return list(found.filter(called).order_by("pk").values_list("pk", flat=True)[:MOST_AGENTS])
