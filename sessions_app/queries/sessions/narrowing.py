"""Several filters of the session list at once: which of them is looked up, and which each session is asked.

PostgreSQL would look up each in an index of its own and put the results together: of errors, a model and a tool that
is 16,187 rows for a page of 50, at 10,223 sessions. So the filter that the fewest sessions pass goes first. Where those
are few, all of them are read. Else the list is walked in its own order, and each session that it comes to is asked the
other filters: ``session_list`` ends a page where it has looked at enough of them, also where the page is not full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

import orjson
from django.db.models import BooleanField, Case, Q, QuerySet, Value, When

from sessions_app.models import Session

FEW = 1_500
"""Sessions that are read to list those of them that pass the other filters."""
STARTED = ("started", "-started")
PERIOD = ("from_", "to")
"""Filters by when a session began: they say where a list in that order begins and ends."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a filter asks of a session."""

    passing: Q
    name: str = ""
    is_in_order: bool = False
    """Whether an index has those that pass in the order of their beginning."""
    each: Q | None = None
    """The same as a question to one session, where ``passing`` looks for all of them."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Sessions, and what each that a list comes to is to be asked besides (None: nothing)."""

    found: QuerySet[Session]
    asked: Q | None = None


def narrowed(sessions: QuerySet[Session], conditions: Sequence[Condition], sort: str) -> Narrowed:
    """Those of some sessions that pass, for a list in an order."""
    is_by_time = sort in STARTED
    bounds = [one for one in conditions if is_by_time and one.name in PERIOD]
    others = [one for one in conditions if one not in bounds]
    within = _all(sessions, bounds)
    if not others or len(others) == 1 and is_by_time and others[0].each is None:
        return Narrowed(_all(within, others))
    others, count = _fewest_first(sessions, others)
    if count <= FEW:
        return Narrowed(_looked_up(within, others))
    leader = next((one for one in others if is_by_time and one.is_in_order), None)
    asked = [one for one in others if one is not leader]
    if leader:
        within = within.filter(leader.passing)
    return Narrowed(within, _asked(asked) if asked else None)


def passing(sessions: QuerySet[Session], conditions: Sequence[Condition]) -> QuerySet[Session]:
    """All of some sessions that pass, in no order."""
    if len(conditions) < 2:
        return _all(sessions, conditions)
    conditions, count = _fewest_first(sessions, conditions)
    return _looked_up(sessions, conditions) if count <= FEW else _all(sessions, conditions)


def is_true(asked: Q) -> Case:
    """Whether a session passes, as a value: PostgreSQL looks for no index for it."""
    return Case(When(asked, then=Value(True)), default=Value(False), output_field=BooleanField())


def _fewest_first(sessions: QuerySet[Session], conditions: Sequence[Condition]) -> tuple[list[Condition], int]:
    """Conditions in order of how many sessions pass them, and how many pass the first."""
    counted = [(estimated(sessions.filter(one.passing)), one) for one in conditions]
    counted.sort(key=lambda pair: pair[0])
    return [one for _, one in counted], counted[0][0]


def _looked_up(sessions: QuerySet[Session], conditions: Sequence[Condition]) -> QuerySet[Session]:
    """All that pass the first condition are read, and asked the others."""
    first, *others = conditions
    found = sessions.filter(first.passing)
    return found.filter(is_true(_asked(others))) if others else found


def _asked(conditions: Sequence[Condition]) -> Q:
    return reduce(and_, (one.passing if one.each is None else one.each for one in conditions))


def _all(sessions: QuerySet[Session], conditions: Sequence[Condition]) -> QuerySet[Session]:
    for one in conditions:
        sessions = sessions.filter(one.passing)
    return sessions


def estimated(found: QuerySet[Session]) -> int:
    """How many pass by PostgreSQL's statistics, of which a search by words has none (it takes them for a half).

    To plan takes 0.4 ms however many there are, while what finds the sessions of a tag, tool, model or cost reads all
    of them, also where ``session_list.totals`` would stop at a thousand.
    """
    told = found.order_by().values("pk").explain(format="json")
    return int(orjson.loads(told)[0]["Plan"]["Plan Rows"]) if told else 0  # nothing is asked where nobody can pass
