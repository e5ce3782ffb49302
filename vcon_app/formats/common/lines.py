"""Bytes to lines: one JSON object at a time, whatever the writer (or a crash) did to the file.

The rules are those of every JSON Lines reader that meets real files: a line may be cut off, hold two
objects, be padded with NUL bytes after a power loss, or be too large to parse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, BinaryIO

import orjson

from ...drafts import ActorKind, EventDraft, Finding, FormatError, Kind, ToolDraft, Usage
from .jsonio import Unreadable, dumps, loads

MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line that is still parsed; parsing takes about ten times that in memory."""
MAX_UNPACKED = 2 * 1024**3
"""Bytes that a compressed transcript may unpack to; text of this kind packs about ten to one."""
SHOWN = 200
"""Bytes of an unreadable line that are shown."""
MALFORMED_TOLD = 10_000
"""Lines of a file without an object that are told one by one; a damaged one has them by the hundred thousand, and each
takes 14 µs. The others are counted."""
_BLANK = b" \t\r\n\0"
GAPS = tuple(" \t\r\n\0")
BOM = b"\xef\xbb\xbf"
OPENING = 8
"""Bytes of a line that may be nothing but the bracket of an indented object: byte order mark, bracket, break."""
CONTINUING = (b" ", b"\t", b"}")
"""How the lines of an indented object begin. Those of the next one begin with its bracket."""
MAX_TRIES = 64
"""Lines that looked like the end of a document and were not, before it is given up."""
_DECODER = json.JSONDecoder()
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_ESCAPES = re.compile(rb"(?<!\\)\\")
"""Where backslashes begin that follow one another."""
REPLACED_AT_ONCE = 64 * 1024
"""Bytes: ``sub`` keeps what stands between its matches, and a file of nothing but NULs took 25 times its size."""


Actor = tuple[ActorKind, str]
"""Kind and name."""


@dataclass(slots=True)
class Line:
    """One JSON object of the file and, once ``Reading`` has looked at it, its place in the session."""

    value: dict[str, Any]
    pointer: str
    raw: bytes
    """Its JSON as it stands in the file."""
    offset: int | None
    key: str = ""
    at: datetime | None = None
    depth: int = 0
    parent: str | None = None
    agent: Actor = ("agent", "")
    """Actor kind and name of whoever answers on this line."""
    data: dict[str, Any] | None = None
    """What is added to the data of each of its events."""
    about_session: bool = False
    """Whether it tells of the whole session, and so changes while that goes on: keys of others do not hang on it."""

    def event(
        self, kind: Kind, text: str = "", *, part: str = "", at_path: str = "", data: dict[str, Any] | None = None,
        parent: str | None = None, actor: Actor = ("system", ""), tool: ToolDraft | None = None,
        model: str | None = None, usage: Usage | None = None, request: str | None = None, cost: Decimal | None = None,
    ) -> EventDraft:  # fmt: skip
        """An event of this line. ``part`` tells several of one line apart in their keys."""
        extra = self.data
        # In the order of the fields: by their names it takes twice as long, for each event of each file.
        return EventDraft(
            kind, self.key + part, self.at, actor[0], actor[1], text, tool, model, usage, request, cost,
            parent or self.parent, self.depth, {**(data or {}), **extra} if extra else data or {},
            self.pointer + at_path, self.offset, None if self.offset is None else len(self.raw),
        )  # fmt: skip


Item = Line | EventDraft | Finding


def digest(data: bytes) -> str:
    """A short fingerprint for keys of what has no id of its own."""
    return blake2b(data, digest_size=12).hexdigest()


def fingerprint(value: Any) -> str:
    """Twelve digits that change with a value: what tells two versions of one thing apart in keys."""
    return digest(dumps(value))[:12]


def json_lines(source: BinaryIO, name: str, *, packed: bool = False) -> Iterator[Item]:
    """The objects of a JSON Lines stream; what cannot be read comes as an ``unknown`` event and a finding.

    Some programs lay the lines out anew: several objects on one, or an object indented over many. Both are read.
    ``name`` is the format's, with which the rules of the findings begin. A last line without its line break
    that does not parse gives a finding only: the writer may be alive, and the next import of the grown file
    reads it whole. Lines of a ``packed`` source have no place in the document. Raises ``FormatError`` when
    such a source grows beyond ``MAX_UNPACKED``.
    """
    yield from named(name, _lines(source, packed))


def json_documents(source: BinaryIO, name: str, *, packed: bool = False) -> Iterator[Item]:
    """Objects and lists that follow one another, each on one line or indented over many, as ``json_lines``.

    A list comes as the object ``{"items": [...]}``. A document that is broken ends where the next begins, which
    is known by its bracket at the start of a line. Raises ``FormatError``.
    """
    yield from named(name, _documents(source, packed))


def named(name: str, items: Iterable[Item]) -> Iterator[Item]:
    """Items with the format's name put before the rules of its findings."""
    for item in items:
        yield replace(item, rule=f"{name}.{item.rule}") if isinstance(item, Finding) else item


def _lines(source: BinaryIO, packed: bool) -> Iterator[Item]:
    offset, number, ahead, malformed, further = 0, 0, b"", 0, 0
    # One byte more than allowed tells a line that is too long from one that just fits.
    while raw := ahead or source.readline(MAX_LINE + 1):
        number, ahead, more = number + 1, b"", 0
        if packed and offset > MAX_UNPACKED:
            raise FormatError(
                f"unpacked it is larger than {MAX_UNPACKED // 1024**2:,} MB; unpack it and split it first"
            )
        if len(raw) <= OPENING and raw.strip(_BLANK + BOM) == b"{":
            raw, more, ahead = _indented(raw, source)
        size, pointer, place = len(raw), f"L{number}", None if packed else offset
        # Skipped in pieces, never held: the line may be as long as the file.
        if size > MAX_LINE and not raw.endswith(b"\n"):
            size += _skip_line(source)
            yield from _malformed(raw, pointer, place, size, f"longer than {MAX_LINE} bytes ({size}); not parsed")
        elif line := _plain(raw, pointer, place):
            yield line
        elif malformed >= MALFORMED_TOLD and raw.strip(_BLANK)[:1] not in (b"", b"{", BOM[:1]):
            further += 1
        else:
            for item in _parse(raw, number, place):
                malformed += isinstance(item, EventDraft)
                yield item
        offset, number = offset + size, number + more
    if further:
        yield Finding("malformed-line", "warning", f"L{number}", f"{further:,} further lines that hold no object")


def _plain(raw: bytes, pointer: str, offset: int | None) -> Line | None:
    """The line where it is an object and nothing else, as nearly all are; None for ``_parse`` to look closer, whose
    generators take as long as a tenth of the reading."""
    if not raw.startswith(b"{") or not raw.endswith(b"}\n") or b"\\u0000" in raw:
        return None
    data = raw[:-1]
    try:
        return Line(orjson.loads(data), pointer, data, offset)
    except orjson.JSONDecodeError:
        return None


def _indented(first: bytes, source: BinaryIO) -> tuple[bytes, int, bytes]:
    """An object that is indented over many lines, behind its first: all of it, further lines, the line behind it.

    It goes on while lines are indented, and ends with a bracket at the start of a line. The line behind one that ends
    is not read (``b""``). Without its line break it is cut off: the file or ``MAX_LINE`` ended it.
    """
    buffer, count = bytearray(first), 0
    while len(buffer) <= MAX_LINE and (raw := source.readline(MAX_LINE + 1)):
        if raw[:1] not in CONTINUING:
            return bytes(buffer), count, raw
        buffer += raw
        count += 1
        if raw.startswith(b"}") and raw.rstrip(_BLANK).endswith(b"}"):
            return bytes(buffer), count, b""
    return bytes(buffer).rstrip(_BLANK), count, b""


def _documents(source: BinaryIO, packed: bool) -> Iterator[Item]:
    buffer, begin, first, number, offset, tries, indented = bytearray(), 0, 0, 0, 0, 0, False
    while raw := source.readline(MAX_LINE + 1):
        number += 1
        if packed and offset > MAX_UNPACKED:
            raise FormatError(
                f"unpacked it is larger than {MAX_UNPACKED // 1024**2:,} MB; unpack it and split it first"
            )
        begins = indented and raw[:1] in (b"{", b"[")  # a new document, although the one before has not ended
        if buffer and (begins or len(buffer) > MAX_LINE or tries > MAX_TRIES):
            yield from objects(bytes(buffer).strip(_BLANK), f"L{first}", None if packed else begin, last=False)
            buffer.clear()
        if not buffer:
            start = len(raw) - len(raw.lstrip(_BLANK + BOM))
            begin, first, tries, indented = offset + start, number, 0, False
            buffer += raw[start:]
        else:
            indented |= raw[:1] in (b" ", b"\t")
            buffer += raw
        if buffer and _ends(raw, buffer, first == number):
            # Each try parses the whole buffer again, so MAX_TRIES bounds the cost of a hostile file.
            tries += 1
            if document := _document(bytes(buffer), f"L{first}", None if packed else begin):
                yield from document
                buffer.clear()
        offset += len(raw)
    if rest := bytes(buffer).strip(_BLANK):
        yield from objects(rest, f"L{first}", None if packed else begin, last=True)


def _ends(raw: bytes, buffer: bytearray, alone: bool) -> bool:
    """Whether a document may end with this line: its last bracket stands at the start of the line, or on the first."""
    return raw.rstrip(_BLANK)[-1:] in (b"}", b"]") and (alone or raw[:1] in (b"}", b"]"))


def _document(data: bytes, pointer: str, offset: int | None) -> list[Item]:
    data = data.strip(_BLANK)
    try:
        value, repairs = _loads(data)
    except Unreadable:
        return []
    if isinstance(value, list):
        value = {"items": value}
    return list(_object(value, repairs, data, pointer, offset))


def _parse(raw: bytes, number: int, offset: int | None) -> Iterator[Item]:
    data = raw.removeprefix(BOM) if number == 1 else raw
    data = data.strip(_BLANK)
    if data:
        # Nearly every line starts with its object; searching is left to the others.
        start = 0 if raw.startswith(b"{") else raw.index(data)
        yield from objects(data, f"L{number}", _add_offset(offset, start), last=not raw.endswith(b"\n"))
    elif b"\0" in raw:
        yield Finding("nul-bytes", "warning", f"L{number}", f"{len(raw)} bytes that are NUL, and no line")


def objects(data: bytes, pointer: str, offset: int | None, *, last: bool) -> Iterator[Item]:
    """The object of one line, or the objects when several are glued together.

    The rules of the findings are without the name of a format; ``named`` puts it before them.
    """
    try:
        value, repairs = _loads(data)
    except Unreadable as error:
        yield from _joined_objects(data, pointer, offset, str(error), last=last)
    else:
        yield from _object(value, repairs, data, pointer, offset)


def _object(value: Any, repairs: list[str], data: bytes, pointer: str, offset: int | None) -> Iterator[Item]:
    for repair in repairs:
        yield Finding("repaired-line", "info", pointer, repair)
    if isinstance(value, dict):
        yield Line(value, pointer, data, offset)
    else:
        yield from _malformed(data, pointer, offset, len(data), f"not a JSON object but {type(value).__name__}")


def _loads(data: bytes) -> tuple[Any, list[str]]:
    if b"\\u0000" in data and _NUL.search(data):  # PostgreSQL stores no NUL, in text or in jsonb
        value, repairs = loads(_without_nul(data))
        return value, [*repairs, "NUL replaced by U+FFFD"]
    return loads(data)


def _without_nul(data: bytes) -> bytes:
    """JSON with U+FFFD in place of each NUL."""
    found, start = bytearray(), 0
    while start < len(data):
        begins = _ESCAPES.search(data, start + REPLACED_AT_ONCE)
        end = begins.start() if begins else len(data)
        found += _NUL.sub(rb"\1\\ufffd", data[start:end])
        start = end
    return bytes(found)


def _joined_objects(data: bytes, pointer: str, offset: int | None, why: str, *, last: bool) -> Iterator[Item]:
    """Objects on one line without a break between them; what follows the last good one is malformed."""
    found, behind = 0, 0
    for start, end in _spans(data):
        try:
            value, repairs = _loads(data[start:end])
        except Unreadable:
            break
        yield from _object(value, repairs, data[start:end], pointer, _add_offset(offset, start))
        found, behind = found + 1, end
    if found:
        yield Finding("glued-objects", "info", pointer, f"{found} objects without a line break; each was read")
    rest = data[behind:].strip(_BLANK)
    # No event for a cut-off end: the next import of the grown file reads the line whole, under its real key.
    if rest and last:
        yield Finding("cut-off-line", "info", pointer, "the last line is cut off; the writer may still be writing")
    elif rest:
        yield from _malformed(rest, pointer, _add_offset(offset, data.index(rest, behind)), len(rest), why)


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Byte ranges of the objects that follow one another from the beginning."""
    if not data.startswith(b"{"):  # a damaged file has such lines by the hundred thousand
        return
    # surrogateescape keeps broken bytes countable: the spans are offsets in bytes, not in characters.
    text = data.decode(errors="surrogateescape")
    at, start = 0, 0
    while text.startswith("{", at):
        try:
            _, stop = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        end = start + len(text[at:stop].encode(errors="surrogateescape"))
        yield start, end
        at = stop
        while text[at : at + 1] in GAPS:
            at += 1
        start = end + at - stop


def _add_offset(offset: int | None, more: int) -> int | None:
    return None if offset is None else offset + more


def _malformed(data: bytes, pointer: str, offset: int | None, size: int, why: str) -> Iterator[Item]:
    # PostgreSQL stores no NUL in text.
    start = data[:SHOWN].decode(errors="replace").replace("\0", "\ufffd")
    yield Finding("malformed-line", "warning", pointer, f"{why}; begins {start!r}")
    yield EventDraft(
        kind="unknown", key=f"line:{digest(data)}", text=start, data={"type": "malformed", "why": why},
        pointer=pointer, offset=offset, length=None if offset is None else size,
    )  # fmt: skip


def _skip_line(source: BinaryIO) -> int:
    skipped = 0
    while chunk := source.readline(1024 * 1024):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
