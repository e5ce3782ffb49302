"""Long strings left out while a large file is read, so that a recording of 200 MB does not cost 200 MB.

``Elider`` stands between a byte stream and a JSON parser. A string literal longer than ``LONG`` bytes is
replaced by a short marker; everything else passes through unchanged.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO

LONG_STRING = 256 * 1024
"""Bytes of JSON text; longer strings stay in the original file and are pointed at."""
CHUNK = 64 * 1024
ELIDED = "x-elided"
"""Member of the object that stands for a long string."""
MARK = "\x00elided:"
_MARK_JSON = b'"\\u0000elided:%d"'
_QUOTE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class Elided(dict[str, Any]):
    """Stands in the parsed tree for a string that was too long to carry: plain JSON that says where it is."""

    def __init__(self, pointer: str, length: int) -> None:
        super().__init__({ELIDED: pointer, "bytes": length})

    @property
    def pointer(self) -> str:
        return self[ELIDED]

    @property
    def length(self) -> int:
        return self["bytes"]


def elided_length(text: str) -> int | None:
    """The length told by a marker string, or ``None`` for every other string."""
    digits = text[len(MARK) :] if text.startswith(MARK) else ""
    return int(digits) if digits.isdecimal() and len(digits) < 16 else None


class Elider:
    """A readable stream of the same JSON, with every long string literal replaced by its marker."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._held = b""
        self._string = bytearray()
        self._dropped = 0
        self._inside = False
        self._out = bytearray()
        self._done = False
        self.left_out = 0
        """How many strings were too long."""

    def read(self, size: int = -1) -> bytes:
        while not self._done and (size < 0 or len(self._out) < size):
            self._fill()
        cut = len(self._out) if size < 0 else size
        with memoryview(self._out) as view:  # a slice of it would be one more copy of a large file
            data = bytes(view[:cut])
        del self._out[:cut]
        return data

    def _fill(self) -> None:
        """A string that begins and ends in one chunk is short: only the first and the last quote matter."""
        chunk = self._source.read(CHUNK)
        if not chunk:
            self._done = True
            self._out += self._string + self._held
            return
        data, self._held = self._held + chunk, b""
        if (len(data) - len(data.rstrip(b"\\"))) % 2:  # the first half of an escape
            data, self._held = data[:-1], b"\\"
        if self._inside:
            end = _first_quote(data)
            self._write_piece(data[:end])
            if end is None:
                return
            self._close()
            data = data[end:]
        start = _open_quote(data)
        self._out += data[:start]
        self._inside = start is not None
        if start is not None:
            self._string += data[start:]

    def _write_piece(self, piece: bytes) -> None:
        if self._dropped or len(self._string) + len(piece) > LONG_STRING:
            self._dropped += len(self._string) + len(piece)
            self._string.clear()
        else:
            self._string += piece

    def _close(self) -> None:
        self._out += _MARK_JSON % (self._dropped - 2) if self._dropped else self._string
        self.left_out += bool(self._dropped)
        self._string.clear()
        self._dropped = 0


def _first_quote(data: bytes) -> int | None:
    """Offset behind the first quote that is not escaped, for bytes that begin inside a string."""
    match = _QUOTE.match(data) if b'"' in data else None
    return match.end() if match else None


def _open_quote(data: bytes) -> int | None:
    """Offset of a string that begins and does not end, for bytes that begin outside of strings."""
    plain = data.replace(b"\\\\", b"")
    if (plain.count(b'"') - plain.count(b'\\"')) % 2 == 0:
        return None
    place = data.rfind(b'"')
    while _is_escaped(data, place):
        place = data.rfind(b'"', 0, place)
    return place


def _is_escaped(data: bytes, place: int) -> bool:
    first = place
    while first and data[first - 1] == ord("\\"):
        first -= 1
    return bool((place - first) % 2)
