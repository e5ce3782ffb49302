"""Names that stand twice in one JSON object: one reader keeps the first value and another the last (RFC 8259 s4).

Two people would be shown two files under one signature. Our parser keeps the last and does not tell.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ...common.jsonio import doubled_name
from .notes import Notes, point, shown


class _Doubled(dict[str, Any]):
    """An object with names that stand in it more than once."""

    names: tuple[str, ...] = ()


def check_json(data: bytes, members: int, notes: Notes, pointer: str) -> None:
    """Report the names that stand twice in an object of JSON text whose tree has so many members."""
    if doubled_name(data, members) is not None:
        text = data.decode("utf-8-sig", "replace")
        _report_doubled(json.loads(text, object_pairs_hook=_object), notes, pointer)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = _Doubled(found)
    doubled.names = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
    return doubled


def _report_doubled(root: Any, notes: Notes, pointer: str) -> None:
    stack = [(pointer, root)]
    while stack:
        place, holder = stack.pop()
        for name in holder.names if isinstance(holder, _Doubled) else ():
            _report_name(notes, point(place, name), name)
        inner = holder.items() if isinstance(holder, dict) else enumerate(holder)
        stack += [(point(place, key), value) for key, value in inner if isinstance(value, (dict, list))]


def report_in_cbor(names: list[str], notes: Notes, pointer: str) -> None:
    """Report the keys of CBOR maps that stand twice; where the map is, is not told."""
    for name in names:
        _report_name(notes, pointer, name)


def _report_name(notes: Notes, pointer: str, name: str) -> None:
    """The finding about one name."""
    notes.error(
        "R112",
        pointer,
        f"The name {shown(name)} stands more than once in this object; the last value is shown, while other readers "
        "may show another one (RFC 8259 s4).",
        "double",
    )
