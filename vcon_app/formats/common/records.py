"""One record after the other out of a file, whatever holds them: a JSON list, lines, server-sent events, one object.

Tools that are no command line keep the same objects in any of these. Lists are streamed; what is one object is
read whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import ijson
import orjson

from ...drafts import Finding, FormatError
from .head import SIZES, Head, open_plain
from .jsonio import Unreadable, dumps, loads
from .lines import MAX_LINE, MAX_UNPACKED, Item, Line, json_lines, named, objects
from .streamed import items
from .values import dict_of, list_of, too_deep

MAX_DOCUMENT = 64 * 1024 * 1024
"""Bytes of a document that is parsed as a whole, which takes about ten times that in memory."""
BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n\0"
LOOKED_AT = 5
"""Lines behind a broken one that tell a log from a document."""
SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
DONE = b"[DONE]"


def records(source: BinaryIO, name: str, wrapper: str = "") -> Iterator[Item]:
    """The objects in ``source``, which can be sought and may be packed with gzip.

    ``name`` is the format's, with which the rules of findings begin; ``wrapper`` the key under which an object
    may hold the list. Pointers are those of the list, of the line, or "" for the only object. Raises
    ``FormatError`` for a document that is too large, or no JSON from its beginning on.
    """
    plain = open_plain(source)
    packed = plain is not source
    head = Head(plain.read(SIZES[0]))
    start = len(head.data) - len(head.data.removeprefix(BOM).lstrip(BLANK))
    first = head.data[start : start + 1]
    plain.seek(0)
    if first == b"[":
        yield from named(name, _listed(plain, start, ""))
    elif wrapper and head.shape.get(wrapper) == "[":
        yield from named(name, _listed(plain, start, wrapper))
    elif first == b"{" and not (_is_lines(plain, start) or len(head.objects) > 1 or _are_behind(head)):
        yield from named(name, _document(plain, start))
    elif is_sse(head):
        yield from named(name, _server_sent(plain, packed))
    else:
        yield from json_lines(plain, name, packed=packed)


def lines_or_list(source: BinaryIO, name: str) -> Iterator[Item]:
    """The objects of lines, or of the list that a program joined them to. Raises ``FormatError``."""
    plain = open_plain(source)
    head = plain.read(SIZES[0])
    plain.seek(0)
    if head.removeprefix(BOM).lstrip(BLANK).startswith(b"["):
        return listed(source, name, "")
    return json_lines(plain, name, packed=plain is not source)


def listed(source: BinaryIO, name: str, wrapper: str) -> Iterator[Item]:
    """The objects of the list ``wrapper`` in one object, however far behind its beginning the list stands."""
    plain = open_plain(source)
    head = plain.read(SIZES[0])
    yield from named(name, _listed(plain, len(head) - len(head.removeprefix(BOM).lstrip(BLANK)), wrapper))


def part_of(line: Line, value: dict[str, Any], path: str) -> Line:
    """An object inside of a record, as a record of its own at the same time."""
    return Line(value, line.pointer + path, dumps(value), None, at=line.at, depth=line.depth, agent=line.agent)


def is_sse(head: Head) -> bool:
    """Whether the bytes begin as server-sent events do."""
    return head.data.removeprefix(BOM).lstrip(BLANK).startswith(SSE_STARTS)


def first_records(head: Head) -> list[dict[str, Any]]:
    """Records among the first bytes of lines or server-sent events, for detection."""
    if not is_sse(head):
        return head.lines
    data = (line.strip().removeprefix(b"data:") for line in head.data.split(b"\n", 200)[:200])
    return [value for payload in data if isinstance(value := _value(payload), dict)]


def _value(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def _is_lines(source: BinaryIO, start: int) -> bool:
    """Whether the first line is an object by itself and others may follow. The stream is put back to its start."""
    source.seek(start)
    first = source.readline(MAX_LINE)
    source.seek(0)
    try:
        return first.endswith(b"\n") and isinstance(loads(first.strip(BLANK))[0], dict)
    except Unreadable:
        return False


def _are_behind(head: Head) -> bool:
    """Whether lines follow a first one that is broken, as where a log begins in the middle of one. Those of a document
    that is laid out over many are no objects, or not all of them."""
    behind = [line for line in head.data.split(b"\n", LOOKED_AT + 1)[1 : LOOKED_AT + 1] if line.strip(BLANK)]
    return bool(behind) and all(isinstance(_value(line), dict) for line in behind)


def _document(source: BinaryIO, start: int) -> Iterator[Item]:
    source.seek(start)
    data = source.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise FormatError(f"it is one JSON object of more than {MAX_DOCUMENT // 1024**2} MB; split it first")
    found = list(objects(data.strip(BLANK), "", None, last=False))
    if not any(isinstance(item, Line) for item in found):
        reason = next((item.message for item in found if isinstance(item, Finding)), "there is no object in it")
        raise FormatError(f"it cannot be read: {reason}")
    yield from found


def _listed(source: BinaryIO, start: int, wrapper: str) -> Iterator[Item]:
    pointer = f"/{wrapper}" if wrapper else ""
    source.seek(start)
    count = 0
    try:
        for value in items(source, wrapper):
            yield from record(value, f"{pointer}/{count}")
            count += 1
            if source.tell() > MAX_UNPACKED:
                raise FormatError(f"it is larger than {MAX_UNPACKED // 1024**2:,} MB; split it first")
    except (ijson.JSONError, UnicodeDecodeError) as error:
        source.seek(start)
        yield from _records_after_failure(source, wrapper, count, str(error).partition("\n")[0])


def _records_after_failure(source: BinaryIO, wrapper: str, count: int, why: str) -> Iterator[Item]:
    """What the streaming parser stumbled over: NaN, integers over 64 bits and bytes that are no UTF-8 can be read."""
    pointer = f"/{wrapper}" if wrapper else ""
    data = source.read(MAX_DOCUMENT + 1)
    try:
        value, repairs = loads(data) if len(data) <= MAX_DOCUMENT else (None, [])
    except Unreadable as error:
        value, repairs, why = None, [], str(error)
    for repair in repairs:
        yield Finding("repaired-document", "info", pointer, repair)
    if value is None:
        yield Finding("cut-off-document", "warning", f"{pointer}/{count}", f"it breaks off behind {count} items: {why}")
    for index, item in enumerate(list_of(dict_of(value).get(wrapper) if wrapper else value)[count:], count):
        yield from record(item, f"{pointer}/{index}")


def record(value: Any, pointer: str) -> Iterator[Item]:
    """A value as a record; what cannot be kept as it is (NUL, nesting) is repaired or told."""
    raw = dumps(value)  # of what is too deep it writes a note, which is then the value
    if isinstance(value, dict) and b"\\u0000" not in raw and not too_deep(value):
        yield Line(value, pointer, raw, None)
    else:
        yield from objects(raw, pointer, None, last=False)


def _server_sent(source: BinaryIO, packed: bool) -> Iterator[Item]:
    """The payloads of an event stream; a payload is an object on one line, or on several ``data:`` lines."""
    buffer: list[bytes] = []
    offset, number, first, at = 0, 0, 0, 0
    while raw := source.readline(MAX_LINE + 1):
        number += 1
        field, _, value = raw.removeprefix(BOM).strip(BLANK).partition(b":")
        value = value.strip(BLANK)
        if field == b"data" and value != DONE:
            if not buffer:
                first, at = number, offset + raw.index(value)
            buffer.append(value)
        payload = b"\n".join(buffer)
        ended = field != b"data" or (payload.endswith(b"}") and _value(payload) is not None)
        if buffer and ended:
            whole = None if packed or len(buffer) > 1 else at
            yield from objects(payload, f"L{first}", whole, last=False)
            buffer = []
        offset += len(raw)
        if offset > MAX_UNPACKED:
            raise FormatError(f"it is larger than {MAX_UNPACKED // 1024**2:,} MB; split it first")
    if buffer:
        yield from objects(b"\n".join(buffer), f"L{first}", None if packed else at, last=True)
