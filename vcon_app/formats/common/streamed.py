"""JSON documents that are too large to hold, one token or list item at a time.

``ijson.items`` and ``ijson.parse`` are not used: they keep the path of every open container as a string, so that
120 KB of ``{"a":{"a":…`` take 3.6 GB of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import ijson

from .jsonio import MAX_DEPTH, too_deep_note

STARTS: dict[str, type] = {"start_map": dict, "start_array": list}
ENDS = frozenset({"end_map", "end_array"})
PIECE, LARGEST = 64 * 1024, 512 * 1024
"""Bytes that the parser is given at once: it holds all tokens of them, which takes 40 MB for the largest."""


class Pieces:
    """A stream of which more is read at once for as long as no token ends: the parser begins a token again with each
    piece, so 16 MB of one text take 10 s in small ones. Who takes the tokens sets ``size`` back with each."""

    def __init__(self, source: BinaryIO) -> None:
        self.size = PIECE
        self._source = source

    def read(self, size: int = -1) -> bytes:
        if size == 0:  # asked for once, to learn what kind of stream it is
            return b""
        data = self._source.read(self.size)
        self.size = min(self.size * 2, LARGEST)
        return data


def parsed(pieces: Pieces, *, multiple_values: bool = False) -> Iterator[tuple[str, Any]]:
    """ijson's events. Raises ``ijson.JSONError`` and ``UnicodeDecodeError`` where the document goes wrong."""
    # use_float: without it ijson 3.6.0 crashes the process on an integer of more than 4,300 digits
    found: Iterator[tuple[str, Any]] = ijson.basic_parse(pieces, use_float=True, multiple_values=multiple_values)
    return found


def tokens(source: BinaryIO) -> Iterator[tuple[int, str, Any]]:
    """How many containers stand around a token, and the token (ijson's event and value).

    A container inside of ``MAX_DEPTH`` others is a string that says so. Raises ``ijson.JSONError`` and
    ``UnicodeDecodeError`` where the document goes wrong.
    """
    depth = 0
    pieces = Pieces(source)
    for event, value in parsed(pieces):
        pieces.size = PIECE
        if event in ENDS:
            depth -= 1
            if depth < MAX_DEPTH:
                yield depth, event, value
        elif event in STARTS:
            if depth < MAX_DEPTH:
                yield depth, event, value
            elif depth == MAX_DEPTH:
                yield depth, "string", too_deep_note()
            depth += 1
        elif depth <= MAX_DEPTH:
            yield depth, event, value


def items(source: BinaryIO, key: str = "") -> Iterator[Any]:
    """The values of the list that a document is, or that its outer object has under ``key``. Raises as ``tokens``."""
    outside = 1 if key else 0
    listed, name = False, ""
    holders: list[Any] = []  # containers that are open in the item, and the key that each is at
    keys: list[str] = []
    for depth, event, value in tokens(source):
        if depth <= outside:
            name = value if event == "map_key" else name
            listed = event == "start_array" and depth == outside and (not key or name == key)
        elif not listed:
            continue
        elif event == "map_key":
            keys[-1] = value
        elif event in ENDS:
            done = holders.pop()
            keys.pop()
            if not holders:
                yield done
        else:
            start = STARTS.get(event)
            made = start() if start else value
            if holders:
                _put_member(holders[-1], keys[-1], made)
            elif not start:
                yield made
            if start:
                holders.append(made)
                keys.append("")


def _put_member(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = value
