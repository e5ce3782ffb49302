"""A rule: which calls it is about, and what becomes of them. The JSON form is in docs/policies.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time
from decimal import Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

Effect = Literal["allow", "ask", "deny"]
EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
"""The least restrictive first."""
TRIGGERS = ("chat", "slack", "schedule", "webhook", "api")
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "regex", "exists", "glob")
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DECISIONS = ("approve", "edit", "answer", "deny", "always")
RISKS = ("low", "medium", "high", "critical")
ROLES = ("reviewer", "admin")
"""Who can be eligible to decide, the lower first: an admin is whatever a reviewer is."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one argument: the value at a JSON pointer (RFC 6901) compared with ``value``."""

    path: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class Hours:
    """A time of the week on the clock of a zone: from ``begins`` until before ``ends``, on days of its beginning.

    ``ends`` at or before ``begins`` is on the next day; None is midnight at the end of the day.
    """

    days: frozenset[int]
    """0 is Monday."""
    begins: time
    ends: time | None
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions of a rule; all of them must hold. None is no condition."""

    agents: tuple[str, ...] | None = None
    tool: str | None = None
    server: str | None = None
    triggers: frozenset[str] | None = None
    arguments: tuple[Predicate, ...] = ()
    input_bytes_over: int | None = None
    cost_over: Decimal | None = None
    sub_agent: bool | None = None
    hours: Hours | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``ask`` is its JSON, checked: parameters of a decision, for the effect ``ask`` alone."""

    name: str
    match: Match
    effect: Effect
    reason: str = ""
    ask: dict[str, Any] = field(default_factory=dict)
