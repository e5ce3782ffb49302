"""The search rows of a session: for every 64 events one with their words, and one for its title.

Events that are appended singly have small rows first, which are merged by eight and then by 64. Words are found by
``sessions_app.search`` and not by PostgreSQL, whose parser costs three times as much (docs/search.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app.models import SearchBacklog
from sessions_app.prepared import Statement, fetch, run
from sessions_app.queries.log.search_text import SESSION, TEXT, WORKSPACE
from sessions_app.search.words import words

from .. import task_queue
from ..fair_queue import Line
from .heads import Head

SMALL = 500
"""Up to so many new events are indexed in the transaction that appends them; more are left to a task."""
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
"""Characters from which on each event of a block gets a row of its own: a tsvector holds 1 MB."""

SESSION_ROW = Statement("""
SELECT id, workspace_id, indexed_seq, last_seq, concat_ws(' ', CASE WHEN NOT title_is_prompt THEN title END, summary)
FROM sessions_app_session WHERE id = %s
""")
READ = Statement(f"""
SELECT min(e.seq), max(e.seq), string_agg({TEXT}, ' ') FROM sessions_app_event e
WHERE e.session_id = %(session)s AND e.seq >= %(begin)s AND e.seq <= %(until)s
GROUP BY (e.seq - 1) / %(size)s ORDER BY 1
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

    @classmethod
    def of(cls, head: Head, last: int) -> Indexed:
        """A session that is locked and has got events up to ``last`` since its head was read. Where nothing was indexed
        before, it is read again for its title, which those events may have given it.
        """
        named = None if head.indexed_seq else _read(head.session_id)
        return cls(head.session_id, head.workspace_id, head.indexed_seq, last, named.title if named else "")

    def row(self, first: int, last: int, text: str) -> Row | None:
        """A row of the index; None where nothing is said."""
        if not (found := words(text)):
            return None
        marks = f"{SESSION}{self.id.hex}".encode(), f"{WORKSPACE}{self.workspace_id.hex}".encode()
        return self.id, first, last, [*found, *marks]


def is_small(head: Head, last: int) -> bool:
    """Whether the append that ends at ``last`` makes all searchable; else ``tasks.index_session`` does."""
    return last <= head.indexed_seq + SMALL


def index_if_small(session: Indexed, alone: str) -> None:
    """Index now when little is new; a bulk import enqueues ``tasks.index_session`` after its commit instead. To be
    called in the transaction of the append, which writes itself how far the session is indexed. ``alone`` is the text
    of the last event.
    """
    if session.last <= session.indexed + SMALL:
        begin = _begin(session.indexed, session.last)
        if begin == session.last:
            _put(session, begin, list(filter(None, [session.row(begin, begin, alone)])))
        else:
            _put(session, begin, list(_rows(session, begin, session.last)))
    else:
        SearchBacklog.objects.bulk_create([_backlog(session)], ignore_conflicts=True)


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


def _index(session: Indexed, until: int) -> None:
    begin = _begin(session.indexed, until)
    rows = list(_rows(session, begin, until))
    with transaction.atomic(savepoint=False):
        if fetch(MOVE_ON, [until, session.id, session.indexed]):  # else somebody has indexed it meanwhile
            _put(session, begin, rows)


def _put(session: Indexed, begin: int, rows: list[Row]) -> None:
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


def _rows(session: Indexed, begin: int, until: int, size: int = BLOCK) -> Iterator[Row]:
    scope = {"session": session.id, "begin": begin, "until": until, "size": size}
    for first, last, text in fetch(READ, scope, keep=until - begin < SMALL):
        if len(text) > LONGEST and size > 1:
            yield from _rows(session, first, last, size=1)
        elif row := session.row(first, last, text):
            yield row


def _write_title(session: Indexed, forget: Statement = FORGET_TITLE) -> None:
    run(forget, {"session": session.id})
    if row := session.row(0, 0, session.title):
        _write([row])


def _write(rows: list[Row]) -> None:
    if len(rows) == 1:  # a statement costs half of what COPY does
        run(ADD, _as_text(rows[0]))
    elif rows:
        with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(COPY) as copy:
            copy.set_types(COPIED_TYPES)
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
    waiting = SearchBacklog.objects.filter(session_id__in=list(session_ids)).order_by("session_id")
    return list(waiting.values_list("session_id", flat=True))


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
