"""Bytes to a JSON tree, within the limits of hostile input: size, nesting, long strings."""

from __future__ import annotations

import gzip
import zlib
from itertools import chain
from typing import Any, BinaryIO

import orjson

from ....drafts import FormatError, Json
from ...common import jsonio
from ...common.head import why_damaged
from . import duplicate_keys
from .elide import Elided, Elider, elided_length
from .notes import MARK, Notes, point

SMALL = 16 * 1024 * 1024
"""Up to this many bytes are parsed as they are; larger files keep only strings shorter than ``LONG_STRING``."""
LARGEST = 256 * 1024 * 1024
"""So many bytes may be left then."""
HEAVIEST = 450 * 1000 * 1000
"""Bytes of memory that reading may take as ``weight`` puts it; a worker has to stay below 500 MB."""
LIGHT = HEAVIEST // 1002
"""Up to this many bytes cannot weigh more than ``HEAVIEST``, whatever they are."""
DEEPEST = jsonio.MAX_DEPTH
WRITABLE = 254
"""Levels that orjson writes; it refuses more."""
UNPACKED = 500 * 1024 * 1024
RATIO = 200
"""Limits for what comes out of gzip: total bytes, and bytes out for one byte in."""
PIECE = 1024 * 1024
_CONTAINERS = frozenset((dict, list))


def load_json(source: BinaryIO, notes: Notes, what: str = "vCon") -> tuple[Json, int]:
    """The JSON value of a stream, and how many long strings were left out of it; ``what`` it should be.

    Raises ``FormatError`` with a reason for people.
    """
    head = source.read(SMALL + 1)
    if len(head) <= SMALL:
        return parse_json(head, notes, what=what), 0
    stream: Any = _Joined(head, source)
    del head  # the stream lets go of it when it has been read
    return _parse_large(Elider(stream), notes, what)


def parse_json(data: bytes, notes: Notes, pointer: str = "", what: str = "vCon") -> Json:
    """One JSON value held in memory; what had to be repaired becomes a finding."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError(f"This file is UTF-16 text; a {what} is UTF-8 (RFC 8259 s8.1). Save it as UTF-8.")
    try:
        value = parse_json_text(data, notes, pointer)
    except jsonio.Unreadable as error:
        raise FormatError(f"This is not a readable {what}: {str(error).removeprefix('not readable: ')}.") from None
    return value


def parse_json_text(data: bytes, notes: Notes, pointer: str) -> Json:
    """The value of JSON text, with a finding for what had to be repaired and for names that stand twice in an object.

    Raises ``jsonio.Unreadable``, and ``FormatError`` for what nests too deep.
    """
    # Counting brackets costs little beside parsing, which is what it protects from.
    if len(data) > LIGHT and (heavy := memory_needed(data)) > HEAVIEST:
        raise FormatError(
            f"This JSON holds so many values that reading it would take about {heavy / 1e6:,.0f} MB of memory; "
            f"{HEAVIEST / 1e6:,.0f} MB are allowed. Split it."
        )
    value, repairs = jsonio.loads(data.removeprefix(b"\xef\xbb\xbf"))
    for repair in repairs:
        notes.warn("R112", pointer, f"The JSON had to be repaired: {repair}.")
    if not is_plain(data, value):
        duplicate_keys.check_json(data, check_depth(value), notes, pointer)
    notes.marked = notes.marked or MARK in data
    return value


def memory_needed(data: bytes) -> int:
    """Bytes of memory that it takes to read JSON text, with all that becomes of it; measured, and rather too many.

    An object of any kind may become an event; 30 MB of ``{},`` would take 10 GB.
    """
    values = 1000 * data.count(b"{") + 100 * data.count(b"[") + (40 * data.count(b",") if len(data) > SMALL else 0)
    return 2 * len(data) + values


def is_plain(data: bytes, value: Json) -> bool:
    """Is it certain that ``value`` is not nested too deep, and that no name in the text ``data`` of it stands twice?

    The value is written again, which takes a tenth of reading it, inside of so many lists that one of more than
    ``DEEPEST`` levels cannot be. What is written has every name once, with a colon behind it, and every colon of
    the strings. So a text with no more colons has no name twice, unless it hides colons in escapes. (At most
    5.5 ms for 10,000 entries; ``check_depth`` and ``duplicate_keys`` take 17.)
    """
    if len(data) > SMALL:  # a copy of it would not fit
        return False
    for _ in range(WRITABLE - DEEPEST):
        value = [value]
    try:
        written = orjson.dumps(value)
    except TypeError:
        return False
    if written.startswith(data, WRITABLE - DEEPEST):  # the text itself, as most programs write it without spaces
        return True
    return written.count(b":") == data.count(b":") and not (
        b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data)
    )


def check_depth(value: Json) -> int:
    """How many members all objects have together; works level by level.

    Raises ``FormatError`` when containers nest deeper than ``DEEPEST``.
    """
    level, members = [value] if type(value) in _CONTAINERS else [], 0
    for _ in range(DEEPEST + 1):
        objects = [item for item in level if type(item) is dict]
        members += sum(map(len, objects))
        # Level by level instead of by recursion: hostile nesting would exhaust the stack.
        inner = chain(chain.from_iterable(map(dict.values, objects)), *[item for item in level if type(item) is list])
        level = [child for child in inner if type(child) in _CONTAINERS]
        if not level:
            return members
    raise FormatError(f"This file nests deeper than {DEEPEST} levels; it is refused as hostile.")


class _Joined:
    """Bytes already read, then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def read(self, size: int) -> bytes:
        if self._head:
            piece, self._head = bytes(self._head[:size]), self._head[size:] or memoryview(b"")
            return piece
        return self._rest.read(size)


def _parse_large(elider: Elider, notes: Notes, what: str) -> tuple[Json, int]:
    """Parse the text without its long strings, and put their places into the tree."""
    data = elider.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FormatError(
            f"This {what} holds more than {LARGEST:,} bytes beside its recordings and other long strings; "
            "it cannot be held in memory. Split it."
        )
    value = parse_json(data, notes, what=what)
    found = _replace_markers(value) if elider.left_out else []
    for elided in found:
        notes.info(
            "R112", elided.pointer, f"A string of {elided.length:,} bytes stays in the original file only.", "elided"
        )
    return value, len(found)


def _replace_markers(root: Json) -> list[Elided]:
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
        self._file = gzip.GzipFile(fileobj=source, mode="rb")
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
            raise FormatError(f"it is a gzip file: {why_damaged(error)}") from None
        self._given += len(piece)
        taken = self._source.tell()
        if self._given > UNPACKED or (self._given > PIECE and self._given > RATIO * taken):
            raise FormatError(
                f"This gzip file grows to more than {self._given:,} bytes from {taken:,}; refused "
                f"as a decompression bomb (limits: {UNPACKED:,} bytes, {RATIO} times)."
            )
        return piece
