"""Conditions on arguments. Each holds, does not hold, or cannot be told (None).

It cannot be told where the value is missing, is of another type than the one it is compared with, or is a text that
hides something. What a rule does then depends on its effect, see ``evaluation``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from . import patterns
from .rules import Predicate

Holds = Callable[[Any], bool | None]
"""Whether a condition holds for the arguments of a call."""


class Missing:
    """Stands for a value that is not there: null is there."""


MISSING = Missing()
ORDERS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,40})(?:\.[0-9]{1,40})?", re.ASCII)
"""A text that can be nothing but this number; amounts of money are often sent as text."""
INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


def compiled(predicate: Predicate, *, allows: bool) -> Holds:
    """The condition as a function. ``allows``: of a rule that lets calls pass, so the whole text must match."""
    steps = steps_of(predicate.path)
    test = _test_of(predicate, allows=allows)
    if len(steps) != 1:
        return lambda arguments: test(value_at(arguments, steps))
    name = steps[0]

    def holds(arguments: Any) -> bool | None:  # most conditions: two function calls less count at 10,000 a second
        return test(arguments.get(name, MISSING) if type(arguments) is dict else value_at(arguments, steps))

    return holds


def steps_of(pointer: str) -> list[str]:
    """The steps of a JSON pointer (RFC 6901, section 4), unescaped. Raises ``ValueError``."""
    if pointer and not pointer.startswith("/"):
        raise ValueError('it must begin with "/", or be empty for all arguments')
    if re.search(r"~(?![01])", pointer):
        raise ValueError('"~" must be written "~0", and "/" in a name "~1"')
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def value_at(arguments: Any, steps: list[str]) -> Any:
    """The value that the steps lead to, or ``MISSING``."""
    value = arguments
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def _test_of(predicate: Predicate, *, allows: bool) -> Callable[[Any], bool | None]:
    op, value = predicate.op, predicate.value
    if op == "exists":
        return lambda found: (found is not MISSING) is value
    if op in ORDERS:
        compare, limit = ORDERS[op], number_of(value)
        if limit is None:
            raise ValueError(f"{value!r} is no number")

        def ordered(found: Any) -> bool | None:
            number = Decimal(found) if type(found) is int else number_of(found)
            return None if number is None else compare(number, limit)

        return ordered
    if op in ("glob", "regex"):
        return _test_of_text(predicate, allows=allows)
    if op == "in":
        return _test_of_list(value, allows=allows)
    wanted = op == "="
    return lambda found: None if (same := equal(found, value, allows=allows)) is None else same is wanted


def _test_of_list(values: list[Any], *, allows: bool) -> Callable[[Any], bool | None]:
    """Whether the value is one of these; it cannot be told where it is none, and of the type of none."""
    others = [one for one in values if one is not None]

    def test(found: Any) -> bool | None:
        if found is None and None in values:
            return True
        answers = [equal(found, one, allows=allows) for one in others]
        if True in answers:
            return True
        return False if False in answers else None

    return test


def _test_of_text(predicate: Predicate, *, allows: bool) -> Callable[[Any], bool | None]:
    """A glob is of the whole text; a regular expression too where it allows, else it may be found anywhere."""
    if predicate.op == "glob":
        glob = text_test(predicate.value, allows=allows)
        return lambda found: glob(found) if isinstance(found, str) else None
    matcher = patterns.regex(predicate.value)
    find = matcher.fullmatch if allows else matcher.search

    def test(found: Any) -> bool | None:
        if not isinstance(found, str) or len(found) > patterns.MAX_TEXT:
            return None
        return _unless_hidden(find(found) is not None, found, allows=allows)

    return test


def text_test(pattern: str, *, allows: bool) -> Callable[[str], bool | None]:
    """A glob as a test of a whole text; None for a text that hides something, unless it is exactly the pattern."""
    matches = patterns.glob(pattern)
    return lambda text: text == pattern or _unless_hidden(matches(text), text, allows=allows)


def _unless_hidden(holds: bool, text: str, *, allows: bool) -> bool | None:
    """A text that hides something is never allowed by what it looks like, and never passed over by it either."""
    return None if (allows or not holds) and patterns.hides_something(text) else holds


def equal(found: Any, wanted: Any, *, allows: bool) -> bool | None:
    """Whether two JSON values are the same; None where one is missing or they are of different types.

    Numbers compare as decimals: 1 is 1.0. Null is a type of its own, and what is there is not null.
    """
    if type(found) is int and type(wanted) is int:
        return found == wanted
    if found is MISSING:
        return None
    if wanted is None:
        return found is None
    if type_of(found) != type_of(wanted):
        return None
    if isinstance(wanted, str):
        return found == wanted or _unless_hidden(False, found, allows=allows)
    try:
        return same(found, wanted)
    except RecursionError:
        return None


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same, to the depth; 1 is 1.0, and neither is true."""
    if type_of(one) != type_of(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type_of(one) == "number":
        return (number := decimal(one)) is not None and number == decimal(other)
    return bool(one == other)


def type_of(value: Any) -> str:
    """Name of a value's JSON type."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float, Decimal)):
        return "number"
    names = {str: "text", dict: "object", list: "list", type(None): "null"}
    return names.get(type(value), "unknown")


def number_of(value: Any) -> Decimal | None:
    """A number, or a text that can be nothing but one, as a decimal; None for everything else."""
    if type_of(value) == "number":
        return decimal(value)
    if isinstance(value, str) and PLAIN_NUMBER.fullmatch(value):
        return Decimal(value)
    return None


def decimal(value: int | float | Decimal) -> Decimal | None:
    """The decimal that JSON would write for it: 0.1 is 0.1. None for what is no finite number."""
    try:
        number = Decimal(str(value))
    except (InvalidOperation, ValueError):  # ValueError: an integer of more digits than Python writes
        return None
    return number if number.is_finite() else None
