"""Links of a session: who sent which events, their rows as hashed, and whether they are as they were written."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

import psycopg
from django.db import connection

from sessions_app import event_chain
from sessions_app.compiled import Compiled
from sessions_app.event_chain import COLUMNS, GENESIS, Header
from sessions_app.models import Event, EventLink, Session

ROWS = f"""
COPY (SELECT {", ".join(COLUMNS)} FROM sessions_app_event
      WHERE session_id = '{{session}}' AND seq BETWEEN {{first}} AND {{last}} ORDER BY seq)
TO STDOUT (FORMAT binary)
"""
# An import has one link for hundreds of events, a session that grew by itself one for each: a stretch of events costs a
# stretch of the index, and events that are far from each other one step in it each.
ORIGINS = """
SELECT link.last_seq, link.origin, link.reporter_kind, link.reported_by, link.received_at
FROM unnest(%(firsts)s::int[], %(lasts)s::int[]) AS stretch (first, last)
CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_eventlink l
    WHERE l.session_id = %(session)s AND l.last_seq >= stretch.first AND l.last_seq <= coalesce((
        SELECT e.last_seq FROM sessions_app_eventlink e
        WHERE e.session_id = %(session)s AND e.last_seq >= stretch.last ORDER BY e.last_seq LIMIT 1), stretch.last)
) link
ORDER BY link.last_seq
"""
NEAR = 8
"""Numbers between two events of one stretch at most."""
SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEADER_BYTES = len(SIGNATURE) + 4 + 4
"""Signature, flags, length of the header's extension (PostgreSQL documentation, COPY, "Binary Format")."""
TRAILER = b"\xff\xff"
PAGE = 5_000
"""Links read at once: a session that grew event by event has as many as events."""


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """How an event came in: ``kind`` is file, runtime, api or desk; the name is empty where nobody is known."""

    kind: str
    reporter_kind: str
    reported_by: str
    received_at: datetime | None


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing in a session's log that is not what was written; ``seq`` is None for the log as a whole."""

    session_id: UUID
    seq: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Verified:
    """How much of a session's log is as it was written: its events, and the fault after them, if there is one."""

    events: int
    fault: Fault | None = None


def rows(session_id: UUID, first_seq: int, last_seq: int) -> Iterator[bytes]:
    """Events in the form in which they are hashed, one by one."""
    # A UUID and two integers need no quoting; Django's cursor of DEBUG takes a COPY without parameters alone.
    statement = ROWS.format(session=UUID(str(session_id)), first=int(first_seq), last=int(last_seq))
    with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(statement) as copy:
        at_start = True
        for row in _messages(copy):
            if at_start:  # the server sends the header of the file with the first row
                row, at_start = row[HEADER_BYTES:], False
            if row and row != TRAILER:
                yield row


def _messages(copy: psycopg.Copy) -> Iterator[bytes]:
    """What the server sends. What has arrived is taken at once: a wait for each row cost more than to hash it."""
    pgconn = copy.connection.pgconn
    while message := bytes(copy.read()):
        yield message
        while TRAILER not in (message, message[HEADER_BYTES:]):  # of no rows it comes with the header
            size, data = pgconn.get_copy_data(1)
            if size < 0 and (failed := pgconn.get_result()):
                raise psycopg.errors.error_from_result(failed)
            if size <= 0:
                break
            message = bytes(data)
            yield message


def header_of(link: EventLink) -> Header:
    """What a link says of its events, as it is hashed."""
    return Header(
        link.session_id, link.first_seq, link.last_seq, link.origin, link.reporter_kind, link.reporter_id,
        link.reported_by, link.received_at,
    )  # fmt: skip


def origins(session_id: UUID, seqs: Sequence[int]) -> dict[int, EventOrigin]:
    """How each of some events of a session came in, from whom and when, by ``seq``; one query."""
    firsts: list[int] = []
    lasts: list[int] = []
    for seq in sorted(seqs):
        if lasts and seq - lasts[-1] <= NEAR:
            lasts[-1] = seq
        else:
            firsts.append(seq)
            lasts.append(seq)
    if not seqs:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(ORIGINS, {"session": session_id, "firsts": firsts, "lasts": lasts})
        links = cursor.fetchall()
    ends = [end for end, *_ in links]
    places = ((seq, bisect_left(ends, seq)) for seq in seqs)
    return {seq: EventOrigin(*links[place][1:]) for seq, place in places if place < len(ends)}


def headers(session_id: UUID) -> Iterator[tuple[Header, str]]:
    """The links of a session in order: what each says of its events, and its hash in hex."""
    for page in _pages_of_links(session_id):
        for link in page:
            yield header_of(link), bytes(link.hash).hex()


def head_hash(session_id: UUID) -> str:
    """Hash of the last link in hex, which stands for the whole log; empty where there is none."""
    last = _HEAD.first(session_id)
    return bytes(last).hex() if last else ""


_HEAD = Compiled[bytes | memoryview](
    lambda session_id: (
        EventLink.objects.filter(session_id=session_id).order_by("-last_seq").values_list("hash", flat=True)[:1]
    )
)


def verify(session_id: UUID) -> Verified:
    """Compute the links of a session again from its events, in one pass that holds a row at a time.

    Raises ``Session.DoesNotExist``. Run it where the log cannot grow meanwhile (a transaction that is REPEATABLE READ),
    or what is appended in between is taken for a fault.
    """
    counted = Session.objects.values_list("last_seq", flat=True).get(pk=session_id)
    previous, seq = GENESIS, 0
    for links in _pages_of_links(session_id):
        # A connection reads one thing at a time: first a page of links, then the rows that they cover.
        stream = rows(session_id, seq + 1, links[-1].last_seq)
        for link in links:
            if link.first_seq != seq + 1:
                return Verified(seq, Fault(session_id, seq + 1, "it is in no link"))
            try:
                computed = event_chain.link(previous, header_of(link), islice(stream, link.last_seq - seq))
            except event_chain.UnexpectedRow as fault:
                return Verified(seq, Fault(session_id, fault.seq, "it is missing, or is not where it was written"))
            if computed.digest != bytes(link.hash):
                return Verified(seq, _fault(link, computed))
            previous, seq = computed.digest, link.last_seq
        if next(stream, None) is not None:
            return Verified(seq, Fault(session_id, seq + 1, "it is in no link"))
    last = Event.objects.filter(session_id=session_id).order_by("-seq").values_list("seq", flat=True).first() or 0
    if last > seq:
        return Verified(seq, Fault(session_id, seq + 1, "it is in no link"))
    if seq != counted:
        return Verified(seq, Fault(session_id, seq + 1, f"the end is missing: the session had {counted} events"))
    return Verified(seq)


def _fault(link: EventLink, computed: event_chain.Link) -> Fault:
    changed = event_chain.first_difference(link.first_seq, bytes(link.row_digests), computed.row_digests)
    if changed is not None:
        return Fault(link.session_id, changed, "it is not what was written")
    which = f"events {link.first_seq} to {link.last_seq}"
    return Fault(link.session_id, link.first_seq, f"who sent {which}, when, or the link itself is not what was written")


def _pages_of_links(session_id: UUID) -> Iterator[list[EventLink]]:
    after = 0
    found = EventLink.objects.filter(session_id=session_id).order_by("last_seq")
    while page := list(found.filter(last_seq__gt=after)[:PAGE]):
        yield page
        after = page[-1].last_seq
