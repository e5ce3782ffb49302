"""A CBOR reader for trace bodies (RFC 8949): data only, no tag has an effect, depth and size are limited."""

from __future__ import annotations

import base64
import struct
from collections import Counter
from typing import Any

from ..drafts import Json

# Not cbor2 (6.3, 14 ms for 1.5 MB where this takes 37): of a key that stands twice it tells nothing, or refuses the map
# at the first, where we read on and report each; 1, 1.0 and true are one key to it; and its tags have effects.
# tests/signing/test_against_cbor2.py holds the two together.

DEEPEST = 100
"""A level costs four Python frames, of which there are a thousand."""
MOST = 10
"""Keys that stand twice in a map, of which so many are reported."""
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}


def loads(data: bytes, *, raw: bool = False, doubled: list[str] | None = None) -> Json:
    """One CBOR item as JSON: bytes become base64url text, map keys text; with ``raw`` both stay what they are.

    ``doubled`` takes the keys that stand twice in a map, which RFC 8949 s5.6 does not allow. Raises ``ValueError``.
    """
    reader = _Reader(data, raw)
    value = reader.item(0)
    if doubled is not None:
        doubled += reader.doubled
    if reader.place != len(data):
        raise ValueError(f"{len(data) - reader.place} bytes follow the CBOR item")
    return value


class _Break(ValueError):
    """The end of an item of indefinite length; anywhere else it is an error."""

    def __init__(self) -> None:
        super().__init__("CBOR break outside of an item of indefinite length")


class _Reader:
    def __init__(self, data: bytes, raw: bool) -> None:
        self.data, self.place, self.raw = data, 0, raw
        self.doubled: list[str] = []

    def item(self, depth: int) -> Json:
        if depth > DEEPEST:
            raise ValueError(f"CBOR nests deeper than {DEEPEST} levels")
        first = self._read_bytes(1)[0]
        major, info = first >> 5, first & 31
        if major == 7:
            return self._simple(info)
        if major in (0, 1, 6):
            return self._integer_or_tagged(major, self._size(info), depth)
        size = None if info == 31 else self._size(info)
        return (self._bytes, self._text, self._array, self._map)[major - 2](size, depth)

    def _integer_or_tagged(self, major: int, size: int, depth: int) -> Json:
        """A number, or what a tag stands before; the tag itself says nothing here."""
        if major == 6:
            return self.item(depth + 1)
        return size if major == 0 else -1 - size

    def _read_bytes(self, count: int) -> bytes:
        if self.place + count > len(self.data):
            raise ValueError("CBOR ends in the middle of an item")
        self.place += count
        return self.data[self.place - count : self.place]

    def _size(self, info: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise ValueError(f"CBOR length code {info} is reserved")
        return int.from_bytes(self._read_bytes(1 << (info - 24)), "big")

    def _simple(self, info: int) -> Json:
        if info == 31:
            raise _Break
        if info in _FLOATS:
            value = struct.unpack(_FLOATS[info], self._read_bytes(1 << (info - 24)))[0]
            return value if value == value and abs(value) != float("inf") else None
        return _SIMPLE.get(self._read_bytes(1)[0] if info == 24 else info)

    def _chunks(self, size: int | None, depth: int) -> bytes:
        if size is not None:
            return self._read_bytes(size)
        parts = []
        while self.data[self.place : self.place + 1] != b"\xff":
            major, info = divmod(self._read_bytes(1)[0], 32)
            if major not in (2, 3) or info == 31:
                raise ValueError("CBOR string of indefinite length holds something else")
            parts.append(self._read_bytes(self._size(info)))
        self.place += 1
        return b"".join(parts)

    def _bytes(self, size: int | None, depth: int) -> str | bytes:
        if self.raw:
            return self._chunks(size, depth)
        return base64.urlsafe_b64encode(self._chunks(size, depth)).rstrip(b"=").decode()

    def _text(self, size: int | None, depth: int) -> str:
        return self._chunks(size, depth).decode("utf-8", "replace")

    def _array(self, size: int | None, depth: int) -> list[Json]:
        return list(self._items(size, depth))

    def _map(self, size: int | None, depth: int) -> dict[Any, Json]:
        flat = list(self._items(None if size is None else size * 2, depth))
        if len(flat) % 2:
            raise ValueError("CBOR map has a key without a value")
        keys = [self._key(key) for key in flat[::2]]
        found = dict(zip(keys, flat[1::2], strict=True))
        if len(found) < len(keys):
            self.doubled += [str(key) for key, count in Counter(keys).items() if count > 1][:MOST]
        return found

    def _key(self, value: Json) -> str | int:
        return value if isinstance(value, str) or self.raw and isinstance(value, int) else str(value)

    def _items(self, size: int | None, depth: int) -> Any:
        count = 0
        while size is None or count < size:
            try:
                value = self.item(depth + 1)
            except _Break:
                if size is not None:
                    raise
                return
            yield value
            count += 1
