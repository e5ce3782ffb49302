"""What stands in a file and in nothing that was read from it: found by reading the file again when somebody asks.

No reader keeps every member of a format that changes from week to week, and keeping all of them with each event would
double the log. So a value is compared with what is shown of the session: its events, its facts, and the parts that its
reader kept (``file_parts``). What is in none of these is told with its place.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from typing import BinaryIO

from ..drafts import EventDraft, FormatError, Json, SessionDraft
from ..signing import cbor
from .common import zips
from .common.head import DAMAGE, SIZES, Head, open_plain, why_damaged
from .common.jsonio import Unreadable, dumps, loads
from .common.lines import Line
from .common.records import is_sse, records
from .common.sqlite.opening import Row, is_sqlite, open_store
from .common.sqlite.rows import json_of
from .common.times import moment_of
from .file_parts import MOST_VALUES, VALUE_LIMIT, FilePart, Value, token

MOST_BYTES = 8 * 1024 * 1024
"""Of a file, unpacked, that is looked through while somebody waits: 1 to 2 CPU seconds."""
MOST_VALUES_READ = 500_000
DEEPEST = 60
"""Lists and objects that are nested deeper are told as the JSON that they are."""
PROSE = 20
"""Characters from which a text with a blank in it is kept before others, where there are too many."""
HEADING = 2
"""Lines of a text before the first event of a session that are its own."""
MARKUP = "#> "
"""Before a line of a transcript in Markdown; events have the text without it."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]")
_NUMBERED = re.compile(r"L?\d+", re.ASCII)
_LINE = re.compile(r"L\d{1,9}", re.ASCII)
Place = tuple[str, ...]


class TooLarge(ValueError):
    """The file is too large to be looked through here."""


@dataclass(frozen=True, slots=True)
class Rest:
    parts: tuple[FilePart, ...] = ()
    left_out: int = 0
    """Values for which there was no room."""


class Shown:
    """Texts, numbers and times that are shown of a session somewhere; ``places`` are those of its events."""

    def __init__(
        self, session: SessionDraft, events: Iterable[EventDraft], parts: Iterable[FilePart], prefix: str = ""
    ) -> None:
        """``prefix`` stands before the pointers of events that were read from a member of an archive."""
        self.session = session.external_id
        self._texts: set[str] = set()
        self._lines: set[str] = set()
        self._moments: set[datetime] = set()
        told = (getattr(session, one.name) for one in fields(session) if one.name != "record")
        for value in (*told, *(value.text for part in parts for value in part.values)):
            self._add(value)
        self.places: set[Place] = set()
        for event in events:
            self.places.add(tokens(event.pointer.removeprefix(prefix)))
            for one in fields(event):
                if one.name != "origin":
                    self._add(getattr(event, one.name))

    @property
    def by_line(self) -> bool:
        """Whether the events were read from lines: a file of one line is a document, too."""
        return any(place and _LINE.fullmatch(place[0]) for place in self.places)

    def has(self, leaf: Json) -> bool:
        """Whether a scalar is shown: as it is, line by line, or as a time in another form."""
        if leaf is None or isinstance(leaf, bool) or leaf == "":
            return True
        text = leaf if isinstance(leaf, str) else str(leaf)
        if text in self._texts or text[:VALUE_LIMIT] in self._texts:
            return True
        if not isinstance(leaf, str) or _TIME.match(leaf):
            at = moment_of(leaf).at
            return at is not None and at in self._moments
        lines = [line for one in leaf.split("\n") if (line := one.strip())]
        return all(line in self._lines for line in lines)

    def _add(self, value: object) -> None:
        stack = [value]
        while stack:
            one = stack.pop()
            if isinstance(one, dict):
                stack += [*one.keys(), *one.values()]
            elif isinstance(one, (list, tuple)):
                stack += one
            elif isinstance(one, datetime):
                self._moments.add(one)
            elif is_dataclass(one):
                stack += [getattr(one, name.name) for name in fields(one)]
            elif one is not None:
                self._add_text(format(one, "f") if isinstance(one, Decimal) else str(one))

    def _add_text(self, text: str) -> None:
        self._texts.add(text)
        self._lines.update(line.strip() for line in text.split("\n"))
        if text[:1] in ("{", "[", '"'):  # arguments of calls are often JSON in a text
            try:
                inner = loads(text.encode("utf-8", "replace"))[0]
            except Unreadable:
                return
            self._add(inner)


def rest_of(source: BinaryIO, shown: Shown, *, alone: bool = True, most_bytes: int = MOST_BYTES) -> Rest:
    """Values of a file that are not shown, by the member of their records under which they stand.

    ``alone``: the file tells of this session only; else only records of its own count. The same value under the same
    member of many records is told once, where it stands first. Raises ``TooLarge``, also beyond ``most_bytes``, and
    ``FormatError``.
    """
    found: dict[tuple[Place, str], tuple[Place, str]] = {}
    ours = None if alone else _Own(shown.session, shown.places)
    for place, leaf in _leaves(source, ours, shown.by_line, most_bytes):
        if not shown.has(leaf):
            text = leaf if isinstance(leaf, str) else str(leaf)
            member = tuple(part for part in place if not _NUMBERED.fullmatch(part))
            found.setdefault((member, text), (place, text))
    kept, left_out = _most(list(found.values()))
    by_member: dict[Place, list[Value]] = {}
    for place, text in kept:
        member = tuple(part for part in place if not _NUMBERED.fullmatch(part))[:2]
        size = len(text) if len(text) > VALUE_LIMIT else 0
        by_member.setdefault(member, []).append(Value(pointer(place), text[:VALUE_LIMIT], size))
    parts = (
        FilePart("/".join(member) or "Lines", values[0].place, tuple(values)) for member, values in by_member.items()
    )
    return Rest(tuple(parts), left_out)


def tokens(place: str) -> Place:
    """The parts of a pointer: ``L12/a/b`` and ``/a/b`` both name a member ``a``."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in place.split("/") if part)


def pointer(place: Place) -> str:
    """A place as pointers of events are written: a line first has no slash before it."""
    written = "/".join(map(token, place))
    return written if place and _LINE.fullmatch(place[0]) else f"/{written}"


class _Own:
    """Which values of a file with several sessions are one's own: those of its records, and of the file as a whole.

    A record is what the first number in a place counts: a line, a row, an item of a list.
    """

    def __init__(self, session: str, places: set[Place]) -> None:
        self._session = session
        self._records = set(map(_record, places))
        self._lists = {place[0] for place in places if place}
        lines = [int(place[0][1:]) for place in places if place and _LINE.fullmatch(place[0])]
        self._span = range(min(lines) - HEADING, max(lines) + 1) if lines else range(0)
        first, last = min(places, default=()), max(places, default=())
        self._common = first[
            : next((n for n, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
        ]

    def holds(self, place: Place) -> bool:
        common = len(self._common)
        of_file = place[:1] != () and place[0] not in self._lists and not _NUMBERED.fullmatch(place[0])
        return of_file or (common > 0 and place[:common] == self._common) or _record(place) in self._records

    def has_line(self, number: int) -> bool:
        """Whether a line of a text stands among those of its events, or in the heading before them."""
        return number in self._span

    def take(self, record: Place) -> None:
        """Count a record among its own."""
        self._records.add(record)

    def row(self, table: str, number: int, row: Row) -> bool:
        """Whether a row of a store is read into an event of this session, or names it."""
        return (table, str(number)) in self._records or self._session in _ids(row)


def _record(place: Place) -> Place:
    return place[: next((number for number, part in enumerate(place, 1) if _NUMBERED.fullmatch(part)), len(place))]


def _most(found: list[tuple[Place, str]]) -> tuple[list[tuple[Place, str]], int]:
    """Those that there is room for, texts that people wrote before ids, in the order of the file."""
    if len(found) <= MOST_VALUES:
        return found, 0
    by_use = sorted(range(len(found)), key=lambda n: len(found[n][1]) < PROSE or " " not in found[n][1])
    return [found[number] for number in sorted(by_use[:MOST_VALUES])], len(found) - MOST_VALUES


def _leaves(source: BinaryIO, ours: _Own | None, by_line: bool, most: int) -> Iterator[tuple[Place, Json]]:
    """Every scalar of a file with its place; what is JSON in a text, as text or base64url, leaf by leaf."""
    count = 0
    # of iterators: a list of millions is not held a second time
    stack = [_values(source, ours, ("L1",) if by_line else (), most)]
    while stack:
        if (found := next(stack[-1], None)) is None:
            stack.pop()
            continue
        place, value = found
        inner = _inside(value) if isinstance(value, str) else value
        if isinstance(inner, (dict, list)) and len(stack) > DEEPEST:
            inner = dumps(inner).decode()
        if isinstance(inner, dict):
            stack.append(_members(place, inner.items()))
        elif isinstance(inner, list):
            stack.append(_members(place, enumerate(inner)))
        elif ours is None or ours.holds(place):
            yield place, inner
        count += 1
        if count > MOST_VALUES_READ:
            raise TooLarge


def _members(place: Place, items: Iterable[tuple[object, Json]]) -> Iterator[tuple[Place, Json]]:
    return (((*place, str(key)), value) for key, value in items)


def _inside(text: str) -> Json:
    """The object or list that a text holds; where it holds none, the text."""
    data = text.encode("utf-8", "replace")
    if _BASE64.fullmatch(text):
        try:
            data = base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))
        except binascii.Error:
            return text
    if data[:1] not in (b"{", b"["):
        return text
    try:
        return loads(data)[0]
    except Unreadable:
        return text


def _values(source: BinaryIO, ours: _Own | None, whole: Place, most: int) -> Iterator[tuple[Place, Json]]:
    """The values of a file: a document (at ``whole``), its lines, rows of its tables, its members."""
    if source.seek(0, 2) > most:
        raise TooLarge
    source.seek(0)
    if is_sqlite(source):
        yield from _rows(source, ours)
    elif zips.is_zip(source):
        archive = zips.Archive(source)
        archive.check_size(most)
        for member in archive.members:
            with archive.open(member) as file:
                yield from ((tokens(member.filename) + place, value) for place, value in _text(file, ours, whole, most))
    else:
        yield from _text(source, ours, whole, most)


def _rows(source: BinaryIO, ours: _Own | None) -> Iterator[tuple[Place, Json]]:
    """Rows of a store; of one session its own, and those of other tables that name one of them by an id."""
    with open_store(source) as store:
        every = {table: list(store.rows(table, store.all_numbers(table))) for table in store.tables}
    own = {table: [one for one in rows if ours is None or ours.row(table, *one)] for table, rows in every.items()}
    ids = {cell for rows in own.values() for _, row in rows for cell in _ids(row)}
    for table, rows in every.items():
        for number, row in own[table] or (one for one in rows if not ids.isdisjoint(_ids(one[1]))):
            if ours is not None:
                ours.take((table, str(number)))
            yield from (((table, str(number), column), _cell(cell)) for column, cell in row.items())


def _ids(row: Row) -> list[str]:
    return [str(cell) for name, cell in row.items() if name.lower().endswith("id") and isinstance(cell, (str, int))]


def _cell(cell: Json) -> Json:
    told = json_of(cell)
    return None if isinstance(told, bytes) else told


def _text(source: BinaryIO, ours: _Own | None, whole: Place, most: int) -> Iterator[tuple[Place, Json]]:
    try:
        data = open_plain(source).read(most + 1)
    except DAMAGE as fault:
        raise FormatError(why_damaged(fault)) from None
    if len(data) > most:
        raise TooLarge
    try:
        yield whole, loads(data)[0]
        return
    except Unreadable:
        pass  # lines, or no JSON at all
    if (record := _cbor(data)) is not None:
        yield (), record
        return
    head = Head(data[: SIZES[0]])
    if head.lines or is_sse(head):
        source.seek(0)
        yield from ((tokens(item.pointer), item.value) for item in records(source, "rest") if isinstance(item, Line))
        return
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if ours is not None and ours.has_line(number):
            ours.take((f"L{number}",))
        yield (f"L{number}",), line.lstrip(MARKUP)


def _cbor(data: bytes) -> Json:
    """The object that the bytes hold as CBOR; None where they are none. Texts begin with no byte from 0x80 to 0xBF."""
    if data[:1] and not 0x80 <= data[0] <= 0xDB:
        return None
    try:
        found = cbor.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, (dict, list)) else None
