"""Bytes to a JSON tree, within the limits of hostile input: size, nesting, long strings."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, BinaryIO

from ...drafts import FormatError, Json
from ..common import jsonio
from .elide import Elided, Elider, elided_length
from .notes import Notes, point

SMALL = 16 * 1024 * 1024
"""Up to this many bytes are parsed as they are; larger files keep only strings shorter than elide.LONG."""
LARGEST = 256 * 1024 * 1024
"""So many bytes may be left then; the tree takes up to ten times that in memory."""
DEEPEST = jsonio.MAX_DEPTH
UNPACKED = 500 * 1024 * 1024
RATIO = 200
"""Limits for what comes out of gzip: total bytes, and bytes out for one byte in."""
PIECE = 1024 * 1024


def load(source: BinaryIO, notes: Notes, what: str = "vCon") -> tuple[Json, int]:
    """The JSON value of a stream, and how many long strings were left out of it; ``what`` it should be.

    Raises ``FormatError`` with a reason for people.
    """
    head = source.read(SMALL + 1)
    if len(head) <= SMALL:
        return parse(head, notes, what=what), 0
    return _parse_large(_Joined(head, source), notes, what)


def parse(data: bytes, notes: Notes, pointer: str = "", what: str = "vCon") -> Json:
    """One JSON value held in memory; what had to be repaired becomes a finding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError(f"This file is UTF-16 text; a {what} is UTF-8 (RFC 8259 s8.1). Save it as UTF-8.")
    try:
        value, repairs = jsonio.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except jsonio.Unreadable as error:
        raise FormatError(f"This is not a readable {what}: {error}.") from None
    for repair in repairs:
        notes.warn("R112", pointer, f"The JSON had to be repaired: {repair}.")
    check_depth(value)
    return value


def check_depth(value: Json) -> None:
    """Raise ``FormatError`` when containers nest deeper than ``DEEPEST``; works level by level."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            child
            for item in level
            if type(item) in (dict, list)
            for child in (item.values() if type(item) is dict else item)
            if type(child) in (dict, list)
        ]
        if not level:
            return
    raise FormatError(f"This file nests deeper than {DEEPEST} levels; it is refused as hostile.")


class _Joined:
    """Bytes already read, then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def read(self, size: int) -> bytes:
        if self._head:
            piece, self._head = bytes(self._head[:size]), self._head[size:]
            return piece
        return self._rest.read(size)


def _parse_large(source: Any, notes: Notes, what: str) -> tuple[Json, int]:
    """Leave long strings out of the text, parse what is left, and put their places into the tree."""
    elider = Elider(source)
    data = elider.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FormatError(
            f"This {what} holds more than {LARGEST:,} bytes beside its recordings and other long strings; "
            "it cannot be held in memory. Split it."
        )
    value = parse(data, notes, what=what)
    found = _mark(value) if elider.left_out else []
    for elided in found:
        notes.info(
            "R112", elided.pointer, f"A string of {elided.length:,} bytes stays in the original file only.", "elided"
        )
    return value, len(found)


def _mark(root: Json) -> list[Elided]:
    """Replace the marker strings in a tree by :class:`Elided` with their pointers."""
    found: list[Elided] = []
    stack = [("", root)]
    while stack:
        pointer, holder = stack.pop()
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, (dict, list)):
                stack.append((point(pointer, key), value))
            elif isinstance(value, str) and (length := elided_length(value)) is not None:
                holder[key] = Elided(point(pointer, key), length)
                found.append(holder[key])
    return found


class Unzipped:
    """A gzip stream that stops at a decompression bomb (limits ``UNPACKED`` and ``RATIO``)."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._file = gzip.GzipFile(fileobj=source)
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        """Like any stream. Raises ``FormatError``."""
        parts: list[bytes] = []
        while size and (piece := self._piece(min(size, PIECE) if size > 0 else PIECE)):
            parts.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(parts)

    def _piece(self, size: int) -> bytes:
        try:
            piece = self._file.read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(f"This gzip file is damaged or cut off: {error}.") from None
        self._given += len(piece)
        taken = self._source.tell()
        if self._given > UNPACKED or (self._given > PIECE and self._given > RATIO * taken):
            raise FormatError(
                f"This gzip file grows to more than {self._given:,} bytes from {taken:,}; refused "
                f"as a decompression bomb (limits: {UNPACKED:,} bytes, {RATIO} times)."
            )
        return piece
