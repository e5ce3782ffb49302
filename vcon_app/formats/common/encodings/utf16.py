"""Text in UTF-16, as PowerShell 5 writes what a program prints (``claude -p … > run.jsonl``), read as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, cast

MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""With which such a file begins; without one it is not told from other bytes."""
PIECE = 64 * 1024
NOTE = "This file is UTF-16 text, as PowerShell writes it: it was read as UTF-8, and its bytes are kept as they came"


def is_utf16(source: BinaryIO) -> bool:
    """Whether a file says that it is. It is left at its start."""
    source.seek(0)
    mark = source.read(2)
    source.seek(0)
    return mark in MARKS


def as_utf8(data: bytes) -> bytes:
    """The first bytes of such a file in UTF-8, without the mark; what is no text becomes U+FFFD."""
    return _decoder().decode(data).encode()


def open_utf16(source: BinaryIO) -> BinaryIO:
    """The whole of such a file in UTF-8, from its start, decoded piece by piece. Can be sought, at the cost of decoding
    from the start again."""
    return cast(BinaryIO, io.BufferedReader(_Utf8(source), PIECE))


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-16")("replace")


class _Utf8(io.RawIOBase):
    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._begin()

    def _begin(self) -> None:
        self._source.seek(0)
        self._decode = _decoder().decode
        self._rest = memoryview(b"")
        self._ended = False
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        while not self._rest and not self._ended:
            raw = self._source.read(PIECE)
            self._ended = not raw
            self._rest = memoryview(self._decode(raw, self._ended).encode())
        given = self._rest[: len(buffer)]
        buffer[: len(given)] = given
        self._rest = self._rest[len(given) :]
        self._at += len(given)
        return len(given)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_END:
            while self.read(PIECE):
                pass
        place = offset if whence == io.SEEK_SET else self._at + offset
        if place < self._at:
            self._begin()
        while self._at < place and self.read(min(PIECE, place - self._at)):
            pass
        return self._at
