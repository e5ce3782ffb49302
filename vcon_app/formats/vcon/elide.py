"""Long strings left out while a large file is read, so that a recording of 200 MB does not cost 200 MB.

``Elider`` stands between a byte stream and a JSON parser. A string literal longer than ``LONG`` bytes is
replaced by a short marker; everything else passes through unchanged.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO

LONG = 256 * 1024
"""Bytes of JSON text; longer strings stay in the original file and are pointed at."""
CHUNK = 64 * 1024
MARK = "\x00elided:"
_MARK_JSON = b'"\\u0000elided:%d"'
_QUOTE = re.compile(rb'\\.|"', re.DOTALL)


class Elided(dict[str, Any]):
    """Stands in the parsed tree for a string that was too long to carry: plain JSON that says where it is."""

    def __init__(self, pointer: str, length: int) -> None:
        super().__init__({"x-elided": pointer, "bytes": length})

    @property
    def pointer(self) -> str:
        return self["x-elided"]

    @property
    def length(self) -> int:
        return self["bytes"]


def elided_length(text: str) -> int | None:
    """The length told by a marker string, or ``None`` for every other string."""
    return int(text[len(MARK) :]) if text.startswith(MARK) and text[len(MARK) :].isdecimal() else None


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
        data, self._out = bytes(self._out[:cut]), self._out[cut:]
        return data

    def _fill(self) -> None:
        chunk = self._source.read(CHUNK)
        if not chunk:
            self._done = True
            self._out += self._string + self._held
            return
        data, self._held = self._held + chunk, b""
        start = 0
        for match in _QUOTE.finditer(data):
            if match.group() != b'"':
                continue
            end = match.end()
            if self._inside:
                self._keep(data[start:end])
                self._close()
            else:
                self._out += data[start : match.start()]
                self._string += b'"'
            self._inside = not self._inside
            start = end
        self._rest(data[start:])

    def _rest(self, rest: bytes) -> None:
        """What follows the last quote; an odd backslash at the end waits for its second half."""
        if (len(rest) - len(rest.rstrip(b"\\"))) % 2:
            rest, self._held = rest[:-1], b"\\"
        if self._inside:
            self._keep(rest)
        else:
            self._out += rest

    def _keep(self, piece: bytes) -> None:
        if self._dropped or len(self._string) + len(piece) > LONG:
            self._dropped += len(self._string) + len(piece)
            self._string.clear()
        else:
            self._string += piece

    def _close(self) -> None:
        self._out += _MARK_JSON % (self._dropped - 2) if self._dropped else self._string
        self.left_out += bool(self._dropped)
        self._string.clear()
        self._dropped = 0
