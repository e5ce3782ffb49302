"""What is inside of a list or an object, in a few words: ``18 × aws_instance: web-0 … web-17``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..text import first_line

KINDS = ("type", "kind", "resource_type", "object", "action", "op", "operation", "method", "event")
NAMES = ("name", "id", "address", "title", "path", "file_path", "key", "sku", "url", "email", "subject", "label")
MOST = 1_000
"""Items that are looked at."""


def summary_of(value: Any) -> str:
    """A line about a list or object; of anything else its text."""
    if isinstance(value, list):
        return _of_list(value)
    if isinstance(value, dict):
        return _of_object(value)
    return first_line(scalar(value), 60)


def scalar(value: Any) -> str:
    """``true``, ``null``, ``12``, or a text as it is."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_list(items: list[Any]) -> str:
    if not items:
        return "empty list"
    head = items[:MOST]
    if not all(isinstance(item, dict) for item in head):
        many = f"{len(items):,} values" if len(items) > 1 else "1 value"
        return f"{many}: {_ends([first_line(scalar(item), 30) for item in items if not isinstance(item, dict | list)])}"
    kinds = Counter(_first(item, KINDS) for item in head)
    common = [kind for kind, _ in kinds.most_common(3) if kind]
    if len(items) > MOST or len(kinds) > 3 or not common:
        return (
            f"{len(items):,} × {_ends([_first(item, NAMES) for item in head])}".rstrip(" ×")
            or f"{len(items):,} objects"
        )
    names = {kind: _ends([_first(item, NAMES) for item in head if _first(item, KINDS) == kind]) for kind in common}
    return "; ".join(f"{kinds[kind]:,} × {kind}" + (f": {said}" if said else "") for kind, said in names.items())


def _of_object(value: dict[str, Any]) -> str:
    if not value:
        return "empty object"
    if len(value) == 1 and isinstance(only := next(iter(value.values())), dict | list) and only:
        return f"{first_line(str(next(iter(value))), 30)}: {summary_of(only)}"
    said = [
        f"{first_line(str(key), 30)} {first_line(scalar(item), 30)}" if not isinstance(item, dict | list)
        else f"{first_line(str(key), 30)} ({len(item):,})"
        for key, item in list(value.items())[:4]
    ]  # fmt: skip
    return ", ".join(said) + (f" and {len(value) - 4:,} more" if len(value) > 4 else "")


def _first(item: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((first_line(str(item[key]), 40) for key in keys if isinstance(item.get(key), str | int)), "")


def _ends(names: list[str]) -> str:
    """``web-0 … web-17``: the first and the last of many."""
    names = [name for name in names if name]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]}"
