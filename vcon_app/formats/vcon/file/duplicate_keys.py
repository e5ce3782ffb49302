"""Names that stand twice in one JSON object: one reader keeps the first value and another the last (RFC 8259 s4).

Two people would be shown two files under one signature. Our parser keeps the last and does not tell, so the names
in the text are counted, which takes a fraction of the parsing; only where there are more of them than members is
the text read a second time to find out which.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .notes import Notes, point, shown

_SPACE = b" \t\r\n"


PIECE = 256 * 1024
"""Bytes looked at together: what fits into the cache is counted faster, and a copy of the text costs its size."""
RUN = 4
"""Backslashes before a quote that are told apart; a longer run counts as a name, so that nothing is missed."""


class _Doubled(dict[str, Any]):
    """An object with names that stand in it more than once."""

    names: tuple[str, ...] = ()


def check_json(data: bytes, members: int, notes: Notes, pointer: str) -> None:
    """Report the names that stand twice in an object of JSON text whose tree has so many members."""
    if _most_names(data, members) > members and (text := _text_with_doubles(data)):
        _report_doubled(json.loads(text, object_pairs_hook=_object), notes, pointer)


def _most_names(data: bytes, members: int) -> int:
    """At least the number of names: closing quotes before a colon, and the few strings that begin with one.

    A quote inside a string has an odd number of backslashes before it, so runs of 1, 2, 3 … are taken off and added.
    """
    count = sum(packed.count(b'":') for packed in _packed(data))
    if count <= members:
        return count
    for packed in _packed(data):
        for run in range(1, RUN + 1):
            found = packed.count(b"\\" * run + b'":')
            count += -found if run % 2 else found
            if not found:
                break
    return count


def _packed(data: bytes) -> Iterator[bytes]:
    """The text without white space in pieces that end with a colon: what is counted does, too."""
    start = 0
    while start < len(data):
        end = data.find(b":", start + PIECE) + 1 or len(data)
        yield data[start:end].translate(None, _SPACE)
        start = end


def _text_with_doubles(data: bytes) -> str:
    """The text, when there are doubles in it; holds none of its values, of which there may be 200 MB."""
    text, found = data.decode("utf-8-sig", "replace"), False

    def note_doubles(pairs: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len(dict(pairs)) < len(pairs)

    try:
        json.loads(text, object_pairs_hook=note_doubles)
    except (ValueError, RecursionError):  # it was read after a repair that has been told
        return ""
    return text if found else ""


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
