"""Damaged and hostile files out of good ones: mutation ``number`` of a seed is the same bytes each time it is made.

What is changed is drawn in this order: a format, a file of it (small ones more often), then one to three changes, most
of them to a JSON value in the file, the others to its bytes or lines.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import random
import zipfile
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import orjson

from vcon_app.formats.common.encodings.zstandard import zstd

MARK = "\N{OBJECT REPLACEMENT CHARACTER}here"
"""Stands in a document for the bytes that JSON libraries would not write, until it is written."""
SMALL = 3_000
"""Bytes: a file is drawn in inverse proportion to its size and this, so that a tenth of a megabyte comes every 30th."""
CACHED = 2_000_000
"""Bytes of files whose parsed values are kept."""
MAX_BYTES = 16 * 1024 * 1024

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 1.5, -0.0, 1e308, 10**12, 10**18, 2**63, -(2**63), 2**64, "", "x", " ", "\0",
    "a\0b", [], {}, [None], [[]], [{}], {"": 1}, {"type": None}, [None, [], {}, "x", 7], ["x"], {"a": {"b": {"c": {}}}},
    "\u202ettxet\u202c", "\ufeff", "\x1b[31mred\x1b[0m\x1b]8;;http://a.example\x07", "<script>alert(1)</script>",
    "http://127.0.0.1:9/x", "file:///etc/passwd", "../../etc/passwd", "data:text/html;base64,PHg+",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999+23:59", "2026-02-30T25:61:00Z", "2026-01-01", "1e999", -1e18,
    1e18, "NaN", "null", "{}", "[]", '{"type":"text"}', "A" * 5_000, "é" * 70_000, "e30", "eyJhIjoxfQ",
)  # fmt: skip
RAW_VALUES: tuple[bytes, ...] = (
    b"NaN", b"-Infinity", b"1e999", b"-1e999", b"1e-999", b"9" * 400, b"9" * 5_000, b"-" + b"1" * 70,
    b"0." + b"3" * 3_000, rb'"\ud800"', rb'"\udfff\ud800 x"', rb'"\u0000"', rb'"\q"', b'"\xff\xfe"', b'"\xed\xa0\x80"',
    b"'x'", b"01", b"+1", b"", b"undefined", b"tru", b'"open', b"{", b"]", b"1,,2", b"/* c */ 1",
    b'{"a":1,"a":{"a":2}}',
    b'{"type":"a","type":7}', *(mark * depth + b"1" + end * depth for depth in (90, 199, 201, 260, 1_100, 60_000)
      for mark, end in ((b"[", b"]"), (b'{"a":', b"}"))),
    b"[" * 3_000,
)  # fmt: skip
BYTES = b'"{}[]:,\\\0\xff\n\r\t -0e.u\xc3\x80\x1f\x8bP'


@dataclass(frozen=True)
class Original:
    """A file that mutations start from."""

    name: str
    format: str | None
    data: bytes


@dataclass
class Pool:
    """The files, in a fixed order; ``weights`` by format."""

    files: Sequence[Original]
    groups: list[tuple[list[Original], list[float]]] = field(init=False)
    parsed: dict[str, Any] = field(init=False, default_factory=dict)
    cached: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        by_format: dict[str, list[Original]] = {}
        for file in self.files:
            by_format.setdefault(file.format or "", []).append(file)
        self.groups = [
            (group, list(accumulate(1 / (SMALL + len(file.data)) for file in group)))
            for _, group in sorted(by_format.items())
        ]

    def draw(self, dice: random.Random) -> Original:
        """One file; every format is as likely as any other."""
        group, sums = dice.choice(self.groups)
        return group[min(bisect(sums, dice.random() * sums[-1]), len(group) - 1)]

    def value_of(self, key: str, data: bytes) -> Any:
        """The JSON in some bytes of a file, None where there is none; parsed once where it is small."""
        if key in self.parsed:
            return self.parsed[key]
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if self.cached + len(data) < CACHED:
            self.cached += len(data)
            self.parsed[key] = value
        return value


@dataclass(frozen=True)
class Mutation:
    """A file to be read, the format of what it was made of, and how it was made."""

    data: bytes
    format: str | None
    made: str


def mutation(seed: int, number: int, pool: Pool) -> Mutation:
    """The mutation of that number; depends on the files of the pool and on nothing else."""
    dice = random.Random(f"{seed}:{number}")
    original = pool.draw(dice)
    data, steps = original.data, [original.name]
    for turn in range(dice.choice((1, 1, 1, 2, 3))):
        if turn == 0 and dice.random() < 0.65:
            data = _json_changed(data, original, pool, dice)
            steps.append("json")
        else:
            change = dice.choice(CHANGES)
            data = change(data, pool, dice)[:MAX_BYTES]
            steps.append(change.__name__.strip("_"))
    return Mutation(data, original.format, " ".join(steps))


# --- changes to JSON ---


def _json_changed(data: bytes, original: Original, pool: Pool, dice: random.Random) -> bytes:
    """One or a few values changed, in the document or in one of its lines."""
    whole = pool.value_of(original.name, data)
    if isinstance(whole, (dict, list)):
        return _written(whole, dice, pool)
    lines = data.split(b"\n")
    number = dice.randrange(len(lines))
    value = pool.value_of(f"{original.name}:{number}", lines[number])
    if isinstance(value, (dict, list)):
        lines[number] = _written(value, dice, pool)
        return b"\n".join(lines)
    return dice.choice(CHANGES)(data, pool, dice)


def _written(value: Any, dice: random.Random, pool: Pool) -> bytes:
    raw = [b"null"]
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        value = _changed(value, dice, pool, raw)
    return _dumped(value, raw[0])


def _dumped(value: Any, raw: bytes) -> bytes:
    """JSON with ``raw`` in the place of the mark, wherever that was repeated, as often as a file has room for."""
    try:
        written, mark = orjson.dumps(value), orjson.dumps(MARK)
    except TypeError:
        written, mark = json.dumps(value).encode(), json.dumps(MARK).encode()
    count = written.count(mark)
    most = _times(len(raw), count)
    return written.replace(mark, raw, most).replace(mark, b"null")


def _changed(value: Any, dice: random.Random, pool: Pool, raw: list[bytes]) -> Any:
    """A copy with one change somewhere inside; what was not changed is shared with the original."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        if dice.random() < 0.1:
            return _other_keys(value, key, dice)
        return {**value, key: _changed(value[key], dice, pool, raw)}
    if isinstance(value, list) and value and dice.random() < 0.85:
        index = dice.randrange(len(value))
        if dice.random() < 0.1:
            return _other_items(value, index, dice)
        return [*value[:index], _changed(value[index], dice, pool, raw), *value[index + 1 :]]
    if isinstance(value, str) and len(value) > 1 and dice.random() < 0.5:
        return _text_changed(value, dice, pool, raw)
    return _replacement(value, dice, pool, raw)


def _replacement(value: Any, dice: random.Random, pool: Pool, raw: list[bytes]) -> Any:
    kind = dice.random()
    if kind < 0.2:
        raw[0] = dice.choice(RAW_VALUES)
        return MARK
    if kind < 0.3:
        other = pool.draw(dice)
        return _part(pool.value_of(other.name, other.data), dice)
    if kind < 0.35:
        return [value] * _times(len(_dumped(value, b"null")), dice.choice((1, 2, 50)))
    if kind < 0.4:
        return {dice.choice(("", "type", "text", "content", "\0", "é")): value}
    if kind < 0.45:
        return json.dumps(value)
    return dice.choice(ODD_VALUES)


def _part(value: Any, dice: random.Random) -> Any:
    """Some value from inside of another."""
    while isinstance(value, (dict, list)) and value and dice.random() < 0.7:
        value = dice.choice(list(value.values()) if isinstance(value, dict) else value)
    return value


def _other_keys(value: dict[str, Any], key: str, dice: random.Random) -> dict[str, Any]:
    left = {name: item for name, item in value.items() if name != key}
    if dice.random() < 0.5:
        return left
    return {**left, dice.choice((*value, "", "type", "\0", key * 2, "x" * 600)): value[key]}


def _other_items(value: list[Any], index: int, dice: random.Random) -> list[Any]:
    change = dice.randrange(4)
    if change == 0:
        return value[:index] + value[index + 1 :]
    if change == 1:
        some = value[index : index + 3]
        return [*value, *some * _times(len(_dumped(some, b"null")), dice.choice((1, 2, 40)))]
    if change == 2:
        return value[::-1]
    return dice.sample(value, len(value))


def _text_changed(text: str, dice: random.Random, pool: Pool, raw: list[bytes]) -> str:
    """JSON or base64 in a text is changed inside (a JWS, a body that is a string); other text is cut or doubled."""
    inner = _decoded(text)
    if inner is not None:
        mine = [b"null"]
        again = _dumped(_changed(inner, dice, pool, mine), mine[0])
        if text[0] in "{[":
            return again.decode("utf-8", "replace")
        return base64.urlsafe_b64encode(again).decode().rstrip("=")
    place = dice.randrange(len(text))
    middle = dice.choice(("", "\0", "\ud800", "\u202e", "é", "=", ".", "-", "0", "/", text[:200]))
    return text[:place] + middle + text[place + dice.choice((0, 1, 9)) :]


def _decoded(text: str) -> Any:
    """What a text holds: an object or a list, as JSON or in base64; None for any other."""
    if len(text) > 200_000:
        return None
    try:
        data = text if text[0] in "{[" else base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        value = json.loads(data)
    except (ValueError, binascii.Error, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


# --- changes to bytes and lines ---


def _range(data: bytes, dice: random.Random) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + dice.choice((1, 2, 9, 90, 2_000, 70_000)))


def _flipped(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20)) if made else 0):
        made[dice.randrange(len(made))] = dice.choice((dice.randrange(256), dice.choice(BYTES)))
    return bytes(made)


def _cut(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    start, end = _range(data, dice)
    return dice.choice((data[:start], data[start:], data[:start] + data[end:]))


def _doubled(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    start, end = _range(data, dice)
    return data[:end] + data[start:end] * _times(end - start, dice.choice((1, 1, 2, 30))) + data[end:]


def _times(length: int, wanted: int) -> int:
    """As often as wanted, but not far beyond what is cut off anyway: until then all of it is held in memory."""
    return min(wanted, 1 + MAX_BYTES // (length + 1))


def _spliced(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    """The beginning of this and the end of another, at line breaks or anywhere."""
    other = pool.draw(dice).data
    if dice.random() < 0.5:
        mine, theirs = data.split(b"\n"), other.split(b"\n")
        return b"\n".join([*mine[: dice.randrange(len(mine)) + 1], *theirs[dice.randrange(len(theirs)) :]])
    return data[: _range(data, dice)[0]] + other[_range(other, dice)[0] :]


def _lines(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    index = dice.randrange(len(lines))
    line = lines[index]
    made = dice.choice((
        lambda: lines[:index] + lines[index + 1 :],
        lambda: lines[:index] + [line] * _times(len(line), dice.choice((2, 3, 100))) + lines[index + 1 :],
        lambda: dice.sample(lines, len(lines)),
        lambda: [*lines[:index], dice.choice((*RAW_VALUES, b'"x"', b"[]", b"\0", b"\r")), *lines[index:]],
        lambda: lines[index:] + lines[:index],
    ))()  # fmt: skip
    return dice.choice((b"\n", b"\n", b"\r\n", b"\n\n")).join(made)


def _wrapped(data: bytes, pool: Pool, dice: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return dice.choice((
        lambda: gzip.compress(data, 1, mtime=0),
        lambda: gzip.compress(data, 1, mtime=0)[: -dice.choice((1, 8, 40))],
        lambda: gzip.compress(gzip.compress(data, 1, mtime=0), 1, mtime=0),
        lambda: gzip.compress(data + b" " * 3_000_000, 1, mtime=0),
        lambda: zstd.compress(data, 1),
        lambda: zstd.compress(data, 1)[: -dice.choice((1, 8, 40))],
        lambda: _zipped([data, pool.draw(dice).data]),
        lambda: _flipped(_zipped([data]), pool, dice),
        lambda: b"\xef\xbb\xbf" + data,
        lambda: text.encode("utf-16"),
        lambda: b"[" + data + b"," + data + b"]",
        lambda: data + data,
        lambda: json.dumps(text).encode(),
        lambda: b'{"data":' + data + b"}",
    ))()  # fmt: skip


def _zipped(members: Sequence[bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, data in enumerate(members):
            archive.writestr(zipfile.ZipInfo(f"folder/{number}.json"), data)
    return held.getvalue()


Change = Callable[[bytes, Pool, random.Random], bytes]
CHANGES: tuple[Change, ...] = (_flipped, _flipped, _cut, _cut, _doubled, _spliced, _lines, _lines, _wrapped)
