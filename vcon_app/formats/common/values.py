"""Small, total functions over values that may be anything: a transcript is hostile input."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from .jsonio import MAX_DEPTH, dumps

FIELD_LIMIT = 256 * 1024
"""Characters kept of one string inside a structured result; the raw line still has the rest."""
RESULT_LIMIT = 16 * FIELD_LIMIT
"""Bytes of JSON kept of a whole structured result."""
MOST_TOKENS = 10**12
"""More tokens than any response has: a larger number in a file is nonsense and counts as not stated.

One bound for every format, and that of the log (``sessions_app.services.log.sanitise``): the sum of nine million such
counts still fits a bigint column, while two of 2**62 do not.
"""
LABEL_LIMIT = 500
"""Characters kept of a string that only describes an event (``data``)."""


def forget_oldest(held: dict[Any, Any], most: int) -> None:
    """Drop the first entry of more than ``most``: what a reader remembers stays bounded however long the file is."""
    if len(held) > most:
        del held[next(iter(held))]


def text_of(value: Any) -> str:
    """The value when it is a string, else ``""``."""
    return value if isinstance(value, str) else ""


def text_or_none(value: Any) -> str | None:
    """The value when it is a string with something in it, else ``None``."""
    return value if isinstance(value, str) and value else None


def dict_of(value: Any) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int | None:
    """The value when it is a whole number that can be a count of tokens, else ``None``: unknown is not 0."""
    if type(value) is float and value.is_integer():  # JSON does not tell 12.0 from 12
        value = int(value)
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def first_text(*values: Any) -> str:
    """The first of the values that is a string with more than white space in it, else ``""``."""
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def money_of(value: Any) -> Decimal | None:
    """A finite amount from 0 to below a million, from a number or decimal text, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount < 10**6 else None


def number_of(value: Any, below: int) -> float | int | None:
    """The value when it is a number from 0 to ``below``, else ``None``: sums of it must fit a database column."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if plain and 0 <= value < below else None


def scalars_of(value: dict[str, Any], skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The scalars of an object that say something, long strings clipped: what a badge can show."""
    return {
        key: item[:LABEL_LIMIT] if isinstance(item, str) else item
        for key, item in value.items()
        if key not in skip and item != "" and isinstance(item, (str, int, float))
    }


def short_text(value: Any) -> str:
    """A scalar in at most 60 characters, else what it is: the text of a deep list would exhaust the stack."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return str(value)[:60]


def too_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than ``MAX_DEPTH``: JSON writers refuse those."""
    level = [value]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for item in level:
            for child in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
                if isinstance(child, (dict, list)):
                    deeper.append(child)
        if not deeper:
            return False
        level = deeper
    return True


def bounded(value: Any, size: int) -> Any:
    """The value as it is when its line (``size`` bytes) is small, else with huge strings cut.

    A cut string ends with a mark that says how much is missing; a value that is still larger than
    ``RESULT_LIMIT`` becomes ``{"cut": true, "bytes": n}``.
    """
    if too_deep(value):
        return {"cut": True, "reason": f"nested deeper than {MAX_DEPTH} levels"}
    if size <= FIELD_LIMIT:
        return value
    value = _cut(value)
    written = len(dumps(value))
    return value if written <= RESULT_LIMIT else {"cut": True, "bytes": written}


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > FIELD_LIMIT:
        return f"{value[:FIELD_LIMIT]}… [cut: {len(value) - FIELD_LIMIT} more characters]"
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value
