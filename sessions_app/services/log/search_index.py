"""The search rows of a session: for every 64 events one with their words, one for its title, and one for what its
file says beside them.

Events that are appended singly have small rows first, which are merged by eight and then by 64. Words are found by
``sessions_app.search`` and not by PostgreSQL, whose parser costs three times as much (docs/search.md). An append finds
those of its events in the rows that it has in hand to be hashed (``Said``); ``index`` reads events again: of older
sessions, after an upgrade, and of a log that is computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app.models import SearchBacklog
from sessions_app.prepared import Statement, copy_in, fetch, run
from sessions_app.queries.log.search_text import SESSION, TEXT, WORKSPACE, text_of_row
from sessions_app.search.words import words_of

from .. import task_queue
from ..fair_queue import Line
from .heads import Head

SMALL = 500
"""Up to so many events are read again by an append that finds them missing; more are left to a task."""
BLOCK = 64
"""Events of a row. Whoever looks for a hit reads the events of a row: of fewer there were more rows, of more each
search in a session would read more."""
MERGED = (BLOCK, 8)
"""When so many events are full, their rows become one."""
BLOCKS_AT_ONCE = 32
# Rows of one transaction, so that a long import becomes searchable piece by piece.
MESSAGE_LOST_AFTER = timedelta(seconds=15)
"""So long after its last event a session that is not searchable is indexed once more."""
SWEPT = 500
"""Sessions of one sweep: after an upgrade all are to be indexed, and their messages must not fill the queue."""
LONGEST = 500_000
"""Bytes from which on each event of a block gets a row of its own: a tsvector holds 1 MB."""

SESSION_ROW = Statement("""
SELECT id, workspace_id, indexed_seq, last_seq, concat_ws(' ', CASE WHEN NOT title_is_prompt THEN title END, summary)
FROM sessions_app_session WHERE id = %s
""")
READ = Statement(f"""
SELECT {TEXT} FROM sessions_app_event e WHERE e.session_id = %s AND e.seq BETWEEN %s AND %s ORDER BY e.seq
""")
COPY = "COPY sessions_app_searchblock (session_id, first_seq, last_seq, words) FROM STDIN (FORMAT binary)"
COPIED_TYPES = ("uuid", "int4", "int4", "bytea")
"""What is copied goes in as bytes, ``bytea`` as those that ``_vector`` makes."""
ADD = Statement(
    "INSERT INTO sessions_app_searchblock (session_id, first_seq, last_seq, words) VALUES (%s, %s, %s, %s::tsvector)"
)
MOVE_ON = Statement("UPDATE sessions_app_session SET indexed_seq = %s WHERE id = %s AND indexed_seq = %s RETURNING 1")
MERGE = Statement("DELETE FROM sessions_app_searchblock WHERE session_id = %s AND first_seq >= %s AND first_seq > 0")
DONE = """
DELETE FROM sessions_app_searchbacklog b USING sessions_app_session s
WHERE b.session_id = %s AND s.id = b.session_id AND s.indexed_seq = s.last_seq
"""
BEHIND = Statement("SELECT session_id FROM sessions_app_searchbacklog WHERE session_id = ANY(%s) ORDER BY session_id")
PLACED = 500
"""Rows from before migration 0047 that are placed in one go."""
PLACE = """
UPDATE sessions_app_searchblock b SET spans = countersign_spans(s.started_at)
FROM sessions_app_session s, (
    SELECT session_id, first_seq FROM sessions_app_searchblock WHERE spans IS NULL
    ORDER BY session_id DESC LIMIT %s FOR UPDATE SKIP LOCKED
) wanted
WHERE b.session_id = wanted.session_id AND b.first_seq = wanted.first_seq AND s.id = b.session_id
"""
FORGET_TITLE = Statement("DELETE FROM sessions_app_searchblock WHERE session_id = %(session)s AND first_seq = 0")
FORGET_OLD = Statement(
    f"WITH old AS (DELETE FROM sessions_app_eventtext WHERE session_id = %(session)s) {FORGET_TITLE}"
)
"""With the rows of an older version, of a session that is indexed for the first time."""

FILE = -1
"""``first_seq`` of the row with what the file says beside its events."""
FORGET_FILE = Statement("DELETE FROM sessions_app_searchblock WHERE session_id = %s AND first_seq = -1")

Row = tuple[UUID, int, int, list[bytes]]
"""A session, the first and last event, words."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """How far a session is indexed, and what its title row says."""

    id: UUID
    workspace_id: UUID
    indexed: int
    last: int
    title: str = ""

    def row(self, first: int, last: int, said: bytes) -> Row | None:
        """A row of the index; None where nothing is said."""
        if not (found := words_of(said)):
            return None
        marks = f"{SESSION}{self.id.hex}".encode(), f"{WORKSPACE}{self.workspace_id.hex}".encode()
        return self.id, first, last, [*found, *marks]


class Said:
    """What the events of one append say, until it is in the index.

    The append holds the session's log, and writes itself how far the session is indexed (``reach``).
    """

    def __init__(self, head: Head) -> None:
        self._session = Indexed(head.session_id, head.workspace_id, head.indexed_seq, head.last_seq)
        self._texts: list[bytes] | None = [] if head.indexed_seq == head.last_seq else None
        """Of the events that are not in the index yet; None where earlier ones are missing in it as well."""

    def add(self, said: bytes) -> None:
        """The next event."""
        if self._texts is not None:
            self._texts.append(said)

    def of(self, rows: Iterable[bytes]) -> Iterator[bytes]:
        """The rows of the next events, as they are stored, looked at on their way to whoever hashes them."""
        if self._texts is None:
            yield from rows
            return
        for row in rows:
            self._texts.append(text_of_row(row))
            yield row

    def reach(self, last_seq: int) -> int | None:
        """How far the session is indexed once the append that ends there is committed; None: no further than before.

        Where earlier events are missing few are read again, and many are left to ``tasks.index_session``.
        """
        return last_seq if self._texts is not None or last_seq <= self._session.indexed + SMALL else None

    def write_blocks(self, last_seq: int) -> None:
        """Index the blocks that are full, so that what is held of a long import does not grow."""
        until = last_seq // BLOCK * BLOCK
        if self._texts is not None and until > self._session.indexed + SMALL:
            count = until - self._session.indexed
            self._put(until, self._texts[:count])
            del self._texts[:count]

    def write(self, last_seq: int) -> None:
        """Index the rest, as far as it reaches."""
        if self.reach(last_seq) is None:
            SearchBacklog.objects.bulk_create([_backlog(self._session)], ignore_conflicts=True)
        elif self._session.indexed < last_seq:
            self._put(last_seq, self._texts or ())

    def _put(self, until: int, said: Sequence[bytes]) -> None:
        session = self._titled()
        begin = _begin(session.indexed, until)
        _replace_rows(session, begin, list(_rows(session, begin, _texts(session, begin, until, said))))
        self._session = replace(self._session, indexed=until)

    def _titled(self) -> Indexed:
        """Where nothing was indexed before, the session is read for its title, which its events may have given it."""
        named = None if self._session.indexed else _read(self._session.id)
        return replace(self._session, title=named.title) if named else self._session


def index(session_id: UUID) -> None:
    """Index every event that is not yet, in transactions of their own when not inside one."""
    while (session := _read(session_id)) and session.indexed < session.last:
        _index(session, min((session.indexed // BLOCK + BLOCKS_AT_ONCE) * BLOCK, session.last))
    _finish(session_id)


@transaction.atomic(savepoint=False)
def _finish(session_id: UUID) -> None:
    """Take a session off the backlog, unless it has grown."""
    with connection.cursor() as cursor:
        cursor.execute(DONE, [session_id])
    session = _read(session_id)
    if session and session.last == 0:
        _write_title(session)


@transaction.atomic(savepoint=False)
def index_title(session_id: UUID) -> None:
    """Index a title and summary that somebody stated. A session that is called after its first message has no row:
    the message has one."""
    if session := _read(session_id):
        _write_title(session)


def put_file_text(session_id: UUID, workspace_id: UUID, said: str) -> None:
    """Index what the file of a session says beside its events, in place of what it said before."""
    run(FORGET_FILE, [session_id])
    if row := Indexed(session_id, workspace_id, 0, 0).row(FILE, FILE, said.encode()):
        _write([row])


def _index(session: Indexed, until: int) -> None:
    begin = _begin(session.indexed, until)
    rows = list(_rows(session, begin, _texts(session, begin, until, ())))
    with transaction.atomic(savepoint=False):
        if fetch(MOVE_ON, [until, session.id, session.indexed]):  # else somebody has indexed it meanwhile
            _replace_rows(session, begin, rows)


def _replace_rows(session: Indexed, begin: int, rows: list[Row]) -> None:
    """Write the rows from ``begin`` on, in place of those that are there."""
    if begin <= session.indexed:
        run(MERGE, [session.id, begin])
    if session.indexed == 0:
        _write_title(session, FORGET_OLD)
    _write(rows)


def _begin(indexed: int, until: int) -> int:
    """The first event whose row is written: with what was indexed before where a larger row becomes full."""
    for size in MERGED:
        if until // size > indexed // size:
            return indexed // size * size + 1
    return indexed + 1


def _texts(session: Indexed, begin: int, until: int, said: Sequence[bytes]) -> list[bytes]:
    """What each of some events says. Those before the last ones, of which it is known, are read."""
    known = until - len(said) + 1
    if begin >= known:
        return list(said)
    found = fetch(READ, [session.id, begin, known - 1], keep=known - begin < SMALL)
    return [text.encode() for (text,) in found] + list(said)


def _rows(session: Indexed, begin: int, texts: Sequence[bytes]) -> Iterator[Row]:
    """Rows of events that follow one another, each with what it says."""
    first, end = begin, begin + len(texts)
    while first < end:
        behind = min((first - 1) // BLOCK * BLOCK + BLOCK + 1, end)
        block = texts[first - begin : behind - begin]
        whole = b" ".join(block)
        if len(whole) > LONGEST:
            parts = [(first + n, first + n, text) for n, text in enumerate(block)]
        else:
            parts = [(first, behind - 1, whole)]
        yield from filter(None, (session.row(*part) for part in parts))
        first = behind


def _write_title(session: Indexed, forget: Statement = FORGET_TITLE) -> None:
    run(forget, {"session": session.id})
    if row := session.row(0, 0, session.title.encode()):
        _write([row])


def _write(rows: list[Row]) -> None:
    if len(rows) == 1:  # a statement costs half of what COPY does
        run(ADD, _as_text(rows[0]))
    elif rows:
        with copy_in(COPY, COPIED_TYPES) as copy:
            for *place, found in rows:
                copy.write_row((*place, _vector(found)))


def _as_text(row: Row) -> tuple[UUID, int, int, str]:
    return *row[:3], b" ".join(row[3]).decode()


def _vector(found: list[bytes]) -> bytes:
    """A tsvector of words without places as PostgreSQL receives it: how many, and of each its bytes, a zero, and the
    number of its places. Read in half the time of the text, whose words it looks at letter by letter."""
    return len(found).to_bytes(4) + b"\0\0\0".join(found) + b"\0\0\0"


def _read(session_id: UUID) -> Indexed | None:
    """None: the session was erased meanwhile, there is nothing to index."""
    rows = fetch(SESSION_ROW, [session_id])
    return Indexed(*rows[0]) if rows else None


def _backlog(session: Indexed) -> SearchBacklog:
    return SearchBacklog(session_id=session.id, workspace_id=session.workspace_id, since=timezone.now())


def behind(session_ids: Iterable[UUID]) -> list[UUID]:
    """Which of some sessions have events that are left to a task, in the order in which every sweep locks them."""
    return [session_id for (session_id,) in fetch(BEHIND, [list(session_ids)])]


def sessions_behind() -> list[UUID]:
    """Sessions with events that are not searchable yet."""
    return list(SearchBacklog.objects.order_by("-since").values_list("session_id", flat=True))


@transaction.atomic
def place() -> int:
    """Tell rows of an older version when their sessions began, the newest first; how many. 0 when all know it."""
    with connection.cursor() as cursor:
        cursor.execute(PLACE, [PLACED])
        return cursor.rowcount


def sweep() -> int:
    """Enqueue the indexing of sessions whose message was lost, the newest first; of how many."""
    behind = SearchBacklog.objects.filter(since__lt=timezone.now() - MESSAGE_LOST_AFTER).order_by("-since")
    rows = behind.values_list("session_id", "since", "workspace_id")[:SWEPT]
    lines = {id_: Line(workspace_id) for id_, _, workspace_id in rows}
    return task_queue.requeue(task_queue.INDEX_SESSION, {id_: since for id_, since, _ in rows}, lines)
