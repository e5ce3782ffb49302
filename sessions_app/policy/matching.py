"""The ``match`` of a rule, read from JSON."""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from . import patterns, predicates
from .faults import Faults, shown
from .members import Members, check_bool, check_choice, check_text, check_whole
from .rules import DAYS, OPERATORS, TRIGGERS, Hours, Match, Predicate

MAX_GLOB = 500
MAX_POINTER = 1_000
MAX_PREDICATES = 50
MAX_VALUE = 10_000
"""Characters of a value to compare with, or entries of a list."""
MOST_BYTES = 2**31 - 1
MIDNIGHT = "24:00"
KNOWN = ("agents", "tool", "server", "triggers", "arguments", "input_bytes_over", "cost_over", "sub_agent", "hours")


def read(value: Any, pointer: str, label: str, faults: Faults) -> Match:
    """The conditions; where something is wrong it is in ``faults``, and what is returned must not be used."""
    members = Members.read(value, pointer, label, KNOWN, faults)
    if members is None:
        return Match()
    glob = check_text(MAX_GLOB)
    agents = members.take_list("agents", "names or patterns", glob)
    triggers = members.take_list("triggers", f"words of {', '.join(TRIGGERS)}", check_choice(TRIGGERS))
    cost = members.take("cost_over", 'an amount of US dollars as a text, like "5.00"', _is_amount)
    size = members.take("input_bytes_over", "a whole number of bytes", check_whole(0, MOST_BYTES))
    return Match(
        agents=tuple(agents) if agents is not None else None,
        tool=members.take("tool", "the name of a tool or a pattern", glob),
        server=members.take("server", "the name of a server or a pattern", glob),
        triggers=frozenset(triggers) if triggers is not None else None,
        arguments=read_predicates(value.get("arguments", []), f"{pointer}/arguments", label, faults),
        input_bytes_over=size,
        cost_over=Decimal(cost) if cost is not None else None,
        sub_agent=members.take("sub_agent", "true or false", check_bool),
        hours=_hours(value["hours"], f"{pointer}/hours", label, faults) if "hours" in value else None,
    )


def read_predicates(value: Any, pointer: str, label: str, faults: Faults) -> tuple[Predicate, ...]:
    """Conditions on arguments: of a rule, and of a grant."""
    if not isinstance(value, list) or len(value) > MAX_PREDICATES:
        faults.add(pointer, f"{label}: arguments are a list of at most {MAX_PREDICATES} conditions, not {shown(value)}")
        return ()
    found = [_predicate(one, f"{pointer}/{position}", label, faults) for position, one in enumerate(value)]
    return tuple(one for one in found if one is not None)


def _predicate(value: Any, pointer: str, label: str, faults: Faults) -> Predicate | None:
    members = Members.read(value, pointer, label, ("path", "op", "value"), faults)
    if members is None:
        return None
    path = members.take("path", 'a JSON pointer, like "/amount"', lambda one: _pointer_problem(one) == "", needed=True)
    op = members.take("op", f"one of {' '.join(OPERATORS)}", check_choice(OPERATORS), needed=True)
    if "value" not in value:
        faults.add(f"{pointer}/value", f"{label}: value is missing; it is what the argument is compared with")
    if path is None or op is None or "value" not in value:
        return None
    wrong = _value_problem(op, value["value"])
    if wrong:
        faults.add(f"{pointer}/value", f"{label}: {wrong}, not {shown(value['value'])}")
        return None
    return Predicate(path, op, value["value"])


def _pointer_problem(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_POINTER:
        return "not a text"
    try:
        predicates.steps_of(value)
    except ValueError as error:
        return str(error)
    return ""


def _value_problem(op: str, value: Any) -> str:
    """What a value should be for its operator; empty where it is."""
    if op == "exists":
        return "" if isinstance(value, bool) else "the value of exists is true or false"
    if op in predicates.ORDERS:
        return "" if predicates.number_of(value) is not None else f"the value of {op} is a number"
    if op == "in":
        good = isinstance(value, list) and 0 < len(value) <= MAX_VALUE
        return "" if good else f"the value of in is a list of 1 to {MAX_VALUE} values"
    if op in ("glob", "regex"):
        if not isinstance(value, str) or not value or len(value) > MAX_VALUE:
            return f"the value of {op} is a text"
        return _regex_problem(value) if op == "regex" else ""
    too_long = isinstance(value, str) and len(value) > MAX_VALUE
    return f"the value of {op} has at most {MAX_VALUE} characters" if too_long else ""


def _regex_problem(pattern: str) -> str:
    try:
        patterns.regex(pattern)
    except patterns.BadPattern as bad:
        return f"this regular expression cannot be used ({bad}); write a simpler one"
    return ""


def _is_amount(value: Any) -> bool:
    number = predicates.number_of(value) if isinstance(value, str) else None
    return number is not None and number >= 0


def _hours(value: Any, pointer: str, label: str, faults: Faults) -> Hours | None:
    members = Members.read(value, pointer, label, ("days", "from", "to", "zone"), faults)
    if members is None:
        return None
    days = members.take_list("days", f"words of {', '.join(DAYS)}", check_choice(DAYS)) or DAYS
    begins = members.take("from", 'a time like "09:00"', lambda one: _time(one) is not None) or "00:00"
    ends = members.take("to", 'a time like "18:00"', lambda one: one == MIDNIGHT or _time(one) is not None) or MIDNIGHT
    zone = members.take("zone", 'a time zone like "Europe/Berlin"', lambda one: _zone(one) is not None, needed=True)
    if begins == ends:
        faults.add(f"{pointer}/to", f"{label}: from and to are both {begins}; leave both out for whole days")
    zone_info = _zone(zone)
    if zone_info is None:
        return None
    last = None if ends in (MIDNIGHT, "00:00") else _time(ends)
    return Hours(frozenset(map(DAYS.index, days)), _time(begins) or time(), last, zone_info)


def _time(value: Any) -> time | None:
    if not isinstance(value, str) or len(value) != len("09:00"):
        return None
    try:
        return time.fromisoformat(value)
    except ValueError:
        return None


def _zone(value: Any) -> ZoneInfo | None:
    """The zone; None for what is none, or is not known on this host."""
    if not isinstance(value, str) or not value or len(value) > MAX_GLOB:
        return None
    try:
        return ZoneInfo(value)
    except (ValueError, OSError, LookupError):  # ZoneInfoNotFoundError is a LookupError; "/" and ".." are ValueErrors
        return None
