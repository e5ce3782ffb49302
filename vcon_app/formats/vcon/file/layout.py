"""JSON laid out in pieces: two spaces of indent, arrays that are written while they are made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

import orjson

from ....drafts import Json

PIECE = 64 * 1024
PARTY_MEMBERS = (
    "name", "mailto", "tel", "sip", "did", "stir", "uuid", "type", "org", "dept", "role", "validation", "meta",
)  # fmt: skip
DIALOG_MEMBERS = (
    "type", "start", "duration", "parties", "originator", "mediatype", "filename", "encoding", "body", "url",
    "content_hash", "message_id", "application",
)  # fmt: skip
ANALYSIS_MEMBERS = (
    "type", "dialog", "attachment", "vendor", "product", "schema", "mediatype", "filename", "encoding", "body", "url",
    "content_hash",
)  # fmt: skip
ATTACHMENT_MEMBERS = (
    "purpose", "start", "party", "dialog", "mediatype", "filename", "encoding", "body", "url", "content_hash", "meta",
)  # fmt: skip
"""The order in which people expect members; a database does not keep that of the file."""


def dumps(value: Json, option: int = 0) -> bytes:
    """JSON bytes, times as text; integers beyond 64 bits, which orjson refuses, go through the standard library."""
    try:
        return orjson.dumps(value, None, option)
    except TypeError:
        indent = 2 if option & orjson.OPT_INDENT_2 else None
        compact = (",", ": ") if indent else (",", ":")
        return json.dumps(
            value,
            indent=indent,
            separators=compact,
            ensure_ascii=False,
            sort_keys=bool(option & orjson.OPT_SORT_KEYS),
            default=datetime.isoformat,
        ).encode("utf-8", "replace")


def indented_json(value: Json, level: int) -> bytes:
    """Pretty JSON whose lines after the first are indented to ``level``."""
    return dumps(value, orjson.OPT_INDENT_2).replace(b"\n", b"\n" + b"  " * level)


def in_member_order(item: dict[str, Json], names: tuple[str, ...]) -> dict[str, Json]:
    """The same object with known members first, in this order, and the others behind, by name."""
    known = {name: item[name] for name in names if name in item}
    return known | {name: item[name] for name in sorted(item.keys() - known.keys())}


def json_array(items: Iterable[bytes | Iterator[bytes]], level: int) -> Iterator[bytes]:
    """An array of values laid out at ``level + 1``, one at a time; a long one may come in pieces."""
    pad, empty = b"\n" + b"  " * (level + 1), True
    for item in items:
        yield (b"[" if empty else b",") + pad
        if isinstance(item, bytes):
            yield item
        else:
            yield from item
        empty = False
    yield b"[]" if empty else b"\n" + b"  " * level + b"]"


def json_string(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """JSON pieces as the inside of one JSON string (the "string bodies" of core-02 and before)."""
    yield b'"'
    for piece in pieces:
        yield dumps(piece.decode())[1:-1]
    yield b'"'


def in_large_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of a useful size."""
    buffered: list[bytes] = []
    size = 0
    for piece in pieces:
        buffered.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(buffered)
            buffered, size = [], 0
    if buffered:
        yield b"".join(buffered)


class NestedObjects:
    """Objects nested in each other's ``children``, told one after the other with their depth."""

    def __init__(self, level: int) -> None:
        self._base = level
        self._open: list[tuple[int, bool]] = []
        """Depth as told, and whether ``children`` were begun."""
        self._empty = True

    def add(self, depth: int, value: dict[str, Json]) -> bytes:
        """The bytes that close what is done and begin this object."""
        parts = [self._close(depth)]
        if self._open:
            begun = self._open[-1][1]
            self._open[-1] = (self._open[-1][0], True)
            parts.append(b"," if begun else b"," + self._pad(1, -1) + b'"children": [')
        else:
            parts.append(b"[" if self._empty else b",")
        self._empty = False
        level = self._base + 1 + 2 * len(self._open)
        self._open.append((depth, False))
        parts += [b"\n" + b"  " * level, indented_json(value, level)[: -(2 * level + 2)]]
        return b"".join(parts)

    def finish(self) -> bytes:
        """The bytes that close everything."""
        if self._empty:
            return b"[]"
        return self._close(-1) + b"\n" + b"  " * self._base + b"]"

    def _pad(self, extra: int, back: int) -> bytes:
        return b"\n" + b"  " * (self._base + 1 + 2 * (len(self._open) + back) + extra)

    def _close(self, depth: int) -> bytes:
        closed = b""
        while self._open and self._open[-1][0] >= depth:
            if self._open[-1][1]:
                closed += self._pad(1, -1) + b"]"
            closed += self._pad(0, -1) + b"}"
            self._open.pop()
        return closed
