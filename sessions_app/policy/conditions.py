"""Conditions of a rule on a call. Each holds, does not hold, or cannot be told (None)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from . import patterns, predicates
from .rules import Hours, Match, Predicate


@dataclass(frozen=True)
class Call:
    """A call that an agent wants to make, and what is known of how it came about."""

    tool: str
    arguments: Any
    server: str | None = None
    agent_slug: str = ""
    agent_name: str = ""
    trigger: str | None = None
    """chat, slack, schedule, webhook or api; None where it is not known."""
    sub_agent: bool | None = False
    cost: Decimal | None = None
    """US dollars that the session has cost so far; None is unknown."""
    cost_is_whole: bool = True
    """Whether nothing is missing in it: tokens without a price make it a lower bound."""
    now: datetime | None = None
    """With a zone."""

    @cached_property
    def input_bytes(self) -> int | None:
        """Bytes of the arguments as compact JSON; None where they are none that JSON can write."""
        try:
            return len(orjson.dumps(self.arguments))
        except TypeError:
            return None

    @property
    def kind(self) -> tuple[Any, ...]:
        """What the conditions that do not depend on arguments, money or time look at."""
        return self.tool, self.server, self.agent_slug, self.agent_name, self.trigger, self.sub_agent


class Condition(NamedTuple):
    """A test of a call, and what it looks at, in words."""

    test: Callable[[Call], bool | None]
    about: str


def all_of(conditions: Sequence[Condition], call: Call) -> bool | None:
    """Whether all hold. One that does not hold settles it, whatever cannot be told of the others."""
    told = True
    for condition in conditions:
        holds = condition.test(call)
        if holds is False:
            return False
        told = told and holds is not None
    return True if told else None


def untold(conditions: Sequence[Condition], call: Call) -> list[str]:
    """What the conditions look at of which it cannot be told whether they hold."""
    return [condition.about for condition in conditions if condition.test(call) is None]


def of_kind(match: Match, *, allows: bool) -> list[Condition]:
    """Conditions on what kind of call it is (``Call.kind``)."""
    found: list[Condition] = []
    if match.tool is not None:
        tool = predicates.text_test(match.tool, allows=allows)
        found.append(Condition(lambda call: tool(call.tool), "the name of the tool"))
    if match.server is not None:
        server = predicates.text_test(match.server, allows=allows)
        found.append(Condition(lambda call: server(call.server or ""), "the name of the server"))
    if match.agents is not None:
        found.append(Condition(_agents(match.agents), "the name of the agent"))
    if (triggers := match.triggers) is not None:
        found.append(
            Condition(lambda call: None if call.trigger is None else call.trigger in triggers, "what began the turn")
        )
    if (sub_agent := match.sub_agent) is not None:
        found.append(
            Condition(
                lambda call: None if call.sub_agent is None else call.sub_agent is sub_agent, "whether a sub-agent asks"
            )
        )
    return found


def of_this_call(match: Match, *, allows: bool) -> list[Condition]:
    """Conditions on arguments, size, money and time. Raises ``ValueError`` where one cannot be used."""
    found = [_argument(one, allows=allows) for one in match.arguments]
    if (most := match.input_bytes_over) is not None:
        found.append(
            Condition(lambda call: None if call.input_bytes is None else call.input_bytes > most, "size of the input")
        )
    if match.cost_over is not None:
        found.append(Condition(_cost(match.cost_over), "what the session has cost"))
    if match.hours is not None:
        found.append(Condition(_hours(match.hours), "the time"))
    return found


def _argument(predicate: Predicate, *, allows: bool) -> Condition:
    holds = predicates.compiled(predicate, allows=allows)
    return Condition(lambda call: holds(call.arguments), f"the argument {predicate.path or '(all)'}")


def _agents(wanted: tuple[str, ...]) -> Callable[[Call], bool | None]:
    tests = [patterns.glob(pattern) for pattern in wanted]
    return lambda call: any(matches(call.agent_slug) or matches(call.agent_name) for matches in tests)


def _cost(limit: Decimal) -> Callable[[Call], bool | None]:
    def over(call: Call) -> bool | None:
        if call.cost is not None and call.cost > limit:
            return True
        return False if call.cost is not None and call.cost_is_whole else None

    return over


def _hours(hours: Hours) -> Callable[[Call], bool | None]:
    def within(call: Call) -> bool | None:
        if call.now is None:
            return None
        local = call.now.astimezone(hours.zone)
        if hours.ends is None:
            return local.weekday() in hours.days and local.time() >= hours.begins
        if hours.begins < hours.ends:
            return local.weekday() in hours.days and hours.begins <= local.time() < hours.ends
        began_today = local.weekday() in hours.days and local.time() >= hours.begins
        yesterday = (local - timedelta(days=1)).weekday()
        return began_today or (yesterday in hours.days and local.time() < hours.ends)

    return within
