"""Bytes to a JSON tree, within the limits of hostile input: size, nesting, long strings."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, BinaryIO

import ijson

from ...drafts import FormatError, Json
from .. import jsonio
from .elide import Elided, Elider, elided_length
from .notes import Notes, point

SMALL = 16 * 1024 * 1024
"""Up to this many bytes are parsed at once; larger files keep only strings shorter than elide.LONG."""
DEEPEST = jsonio.MAX_DEPTH
UNPACKED = 500 * 1024 * 1024
RATIO = 200
"""Limits for what comes out of gzip: total bytes, and bytes out for one byte in."""


def load(source: BinaryIO, notes: Notes) -> tuple[Json, int]:
    """The JSON value of a stream, and how many long strings were left out of it.

    Raises ``FormatError`` with a reason for people.
    """
    head = source.read(SMALL + 1)
    if len(head) <= SMALL:
        return parse(head, notes), 0
    return _parse_large(_Joined(head, source), notes)


def parse(data: bytes, notes: Notes, pointer: str = "") -> Json:
    """One JSON value held in memory; what had to be repaired becomes a finding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError("This file is UTF-16 text; a vCon is UTF-8 (RFC 8259 s8.1). Save it as UTF-8.")
    try:
        value, repairs = jsonio.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except jsonio.Unreadable as error:
        raise FormatError(f"This is not a readable vCon: {error}.") from None
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


def _parse_large(source: Any, notes: Notes) -> tuple[Json, int]:
    builder = _Builder()
    try:
        for event, value in ijson.basic_parse(Elider(source), use_float=True):
            builder.add(event, value)
    except FormatError:
        raise
    except (ijson.JSONError, ValueError) as error:
        raise FormatError(f"This is not a readable vCon: {str(error).strip().splitlines()[0]}.") from None
    for elided in builder.elided:
        notes.info(
            "R112", elided.pointer, f"A string of {elided.length:,} bytes stays in the original file only.", "elided"
        )
    return builder.root, len(builder.elided)


class _Builder:
    """The tree of ijson's basic events; long strings become :class:`Elided` with their pointer."""

    def __init__(self) -> None:
        self.root: Json = None
        self.elided: list[Elided] = []
        self._open: list[Any] = []
        self._keys: list[Any] = []

    def add(self, event: str, value: Json) -> None:
        if event == "map_key":
            self._keys[-1] = value
        elif event in ("start_map", "start_array"):
            new: Json = {} if event == "start_map" else []
            self._place(new)
            self._open.append(new)
            self._keys.append(None)
            if len(self._open) > DEEPEST:
                raise FormatError(f"This file nests deeper than {DEEPEST} levels; it is refused as hostile.")
        elif event in ("end_map", "end_array"):
            self._open.pop()
            self._keys.pop()
        else:
            self._place(self._short(value) if event == "string" else value)

    def _short(self, text: str) -> Json:
        length = elided_length(text)
        if length is None:
            return text
        self.elided.append(Elided(point("", *self._path()), length))
        return self.elided[-1]

    def _path(self) -> list[Any]:
        """Where the next value goes; an open child of a list is already in it, the next value is not."""
        innermost = len(self._open) - 1
        return [
            key if isinstance(holder, dict) else len(holder) - (place < innermost)
            for place, (holder, key) in enumerate(zip(self._open, self._keys, strict=True))
        ]

    def _place(self, value: Json) -> None:
        if not self._open:
            self.root = value
        elif isinstance(self._open[-1], dict):
            self._open[-1][self._keys[-1]] = value
        else:
            self._open[-1].append(value)


class Unzipped:
    """A gzip stream that stops at a decompression bomb (limits ``UNPACKED`` and ``RATIO``)."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._file = gzip.GzipFile(fileobj=source)
        self._given = 0

    def read(self, size: int = -1) -> bytes:
        """Like any stream. Raises ``FormatError``."""
        try:
            piece = self._file.read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(f"This gzip file is damaged or cut off: {error}.") from None
        self._given += len(piece)
        taken = self._source.tell()
        if self._given > UNPACKED or (self._given > 1024 * 1024 and self._given > RATIO * taken):
            raise FormatError(
                f"This gzip file grows to more than {self._given:,} bytes from {taken:,}; refused "
                f"as a decompression bomb (limits: {UNPACKED:,} bytes, {RATIO} times)."
            )
        return piece
