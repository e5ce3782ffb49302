"""``append()``: the only code that writes events, one at a time or by the hundred thousand.

Rows go in through ``COPY``; projections follow in the same transaction, computed by PostgreSQL from the log,
so a live event, a bulk import and a rebuild run the same statements.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app import counts, event_chain
from sessions_app.drafts import EventDraft
from sessions_app.event_chain import COLUMNS
from sessions_app.ids import uuid7_bytes
from sessions_app.prepared import Statement, copy_in, fetch, fetch_binary
from sessions_app.queries.log import links as link_queries
from sessions_app.queries.log.search_text import text_of_row

from .. import notify
from . import links, projections, run_summaries, search_index
from .heads import Head, lock
from .new_events import NewEvents
from .rows import COPIED_TYPES, copied, inserted
from .sanitise import MAX_SMALLINT, json_bytes, plausible, text

BATCH = 1_000
PARENTS_REMEMBERED = 20_000
KEYS_REMEMBERED = 50_000
"""Of a log that was empty, so that its first events need no look at what there is: 6 MB."""

AFTER_APPEND: list[Callable[[UUID, int], object]] = []
"""Called in the transaction of an append that holds messages or results, with the session and the ``seq`` before: what
of the services is above the log and appends itself. ``sessions_app.apps`` fills it."""
COPY = f"COPY sessions_app_event ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
INSERT = Statement(f"""
INSERT INTO sessions_app_event ({", ".join(COLUMNS)}) VALUES ({", ".join(["%s"] * len(COLUMNS))})
RETURNING {", ".join(COLUMNS)}
""")
SINGLE = 3
"""Up to so many events are written one by one, which takes one statement each and gives back the rows to be hashed."""
KNOWN = Statement("""
SELECT key, seq FROM sessions_app_event WHERE session_id = %(session)s AND key = ANY(%(keys)s::uuid[])
""")
# With the hash of the last link and the run summary, which each append to a log needs that has events: one look and not
# three.
KNOWN_AND_LINK = Statement("""
SELECT key, seq, NULL AS hash FROM sessions_app_event WHERE session_id = %(session)s AND key = ANY(%(keys)s::uuid[])
UNION ALL SELECT NULL, NULL, hash FROM sessions_app_eventlink WHERE session_id = %(session)s AND last_seq = %(last)s
UNION ALL SELECT NULL, seq, convert_to(told::text, 'UTF8') FROM sessions_app_runsummary WHERE session_id = %(session)s
""")


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. ``first_seq`` and ``last_seq`` bound the events that are new (None when none is)."""

    first_seq: int | None
    last_seq: int | None
    accepted: int
    duplicates: int


def key_of(natural_key: str) -> UUID:
    """The 16 bytes by which an event is known in its session."""
    return UUID(bytes=_key(natural_key))


def _key(natural_key: str) -> bytes:
    # A hash of 16 bytes, as a uuid column holds it, because natural keys come from files and can have any length.
    # "surrogatepass": they may hold lone surrogates, too, which strict UTF-8 refuses.
    return hashlib.blake2b(natural_key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@transaction.atomic(savepoint=False)
def append(
    session_id: UUID,
    events: Iterable[EventDraft],
    *,
    origin: links.Origin,
    document: str | None = None,
    on_progress: Callable[[int], None] | None = None,
    head: Head | None = None,
) -> Appended:
    """Add events to the end of a session's log; those whose key it holds already are left out.

    ``origin`` says how they came in and who sent them, ``document`` is the SHA-256 of the source they were read from.
    ``on_progress`` is told the number of events seen so far after each batch. ``head`` is the end of the log where the
    caller has locked it in this transaction and added nothing since. Raises ``Session.DoesNotExist``.
    """
    # One writer a session: the lock is what makes ``seq`` gapless and in the order of the log.
    head = head or lock(session_id)
    log = _Log(head, document)
    seen = 0
    stream = iter(events)
    while batch := list(islice(stream, BATCH)):
        log.write(batch, origin)
        seen += len(batch)
        if on_progress:
            on_progress(seen)
    return _appended(head, log, seen)


@transaction.atomic(savepoint=False)
def append_each(head: Head, parts: Sequence[tuple[links.Origin, EventDraft]]) -> Appended:
    """Add events of several origins, each with a link of its own, to the end of a log that the caller has locked."""
    log = _Log(head, None)
    log.look_up([event for _, event in parts])
    for origin, event in parts:
        log.write([event], origin)
    return _appended(head, log, len(parts))


def _appended(head: Head, log: _Log, seen: int) -> Appended:
    """Bring everything that is computed up to date with what was written, and tell of it."""
    accepted = log.seq - head.last_seq
    if accepted:
        counts.add("appends")
        counts.add("events", accepted)
        indexed = log.said.reach(log.seq)
        projections.project(head.session_id, head.last_seq, log.seq, log.new, indexed=indexed)
        log.summary.write(log.seq)
        log.said.write(log.seq)
        notify.session_changed(head.session_id, log.seq)
        for call in AFTER_APPEND if log.new.messages or log.new.results else ():
            call(head.session_id, head.last_seq)
    return Appended(
        first_seq=head.last_seq + 1 if accepted else None,
        last_seq=log.seq if accepted else None,
        accepted=accepted,
        duplicates=seen - accepted,
    )


class _Fresh(NamedTuple):
    """A new event, with its key and that of its parent. Both as bytes: a UUID object costs as much as the hash."""

    key: bytes
    parent: bytes | None
    event: EventDraft


class _Log:
    """The end of one session's log while an append holds it."""

    def __init__(self, head: Head, document: str | None) -> None:
        self.session_pk = head.session_id
        self.session_id = head.session_id.bytes
        self.document = document
        self.seq = head.last_seq
        self.turn = head.last_turn
        self.new = NewEvents()
        """What was written."""
        self.summary = run_summaries.Kept(head)
        self._seqs: OrderedDict[bytes, int] = OrderedDict()
        self._keys: set[bytes] = set()
        """Every key of the log, while they are as many as its events: of one that was empty, and is not too long."""
        self._looked_up: set[bytes] = set()
        self._last_link: bytes | None = None
        self.said = search_index.Said(head)

    def write(self, batch: list[EventDraft], origin: links.Origin) -> None:
        fresh = self._only_new(batch)
        if not fresh:
            return
        first_seq = self.seq + 1
        self._remember_parents(fresh)
        ids = uuid7_bytes(len(fresh))
        rows = (self._row(new, plausible(new.event), id_) for new, id_ in zip(fresh, ids, strict=True))
        if len(fresh) <= SINGLE:
            stored: Iterable[bytes] = [self._insert(row) for row in rows]
        else:
            with copy_in(COPY, COPIED_TYPES) as copy:
                for row in rows:
                    copy.write_row(copied(row))
            stored = self.said.of(link_queries.rows(self.session_pk, first_seq, self.seq))
        # The clock, not the transaction's beginning: an import of many minutes is received all the while.
        self._last_link = links.write(
            links.Part(self.session_pk, first_seq, self.seq), stored, self._previous_link(first_seq - 1), origin,
            received_at=timezone.now(),
        )  # fmt: skip
        self.said.write_blocks(self.seq)
        # The oldest first: nearly all parents are near. A forgotten one is looked up in the log.
        while len(self._seqs) > PARENTS_REMEMBERED:
            self._seqs.popitem(last=False)

    def _insert(self, row: list[Any]) -> bytes:
        """Write one event; its row as stored, in the form in which it is hashed."""
        (stored,) = fetch_binary(INSERT, inserted(row))
        written = event_chain.encoded(stored)
        self.said.add(text_of_row(written))
        return written

    def _previous_link(self, last_seq: int) -> bytes:
        return links.previous_hash(self.session_pk, last_seq) if self._last_link is None else self._last_link

    def look_up(self, events: list[EventDraft]) -> None:
        """Find out at once which of the events of several batches the log holds already."""
        keys = {_key(event.key) for event in events}
        self._seqs.update(self._lookup(keys) if self.seq else {})
        self._looked_up |= keys

    def _only_new(self, batch: list[EventDraft]) -> list[_Fresh]:
        keys = [_key(event.key) for event in batch]
        known: Container[bytes] = self._keys
        if self.seq > len(self._keys) and not self._looked_up.issuperset(keys):
            known = self._lookup(keys)
        fresh = []
        for key, event in zip(keys, batch, strict=True):
            if key not in known and key not in self._seqs:
                fresh.append(_Fresh(key, _key(event.parent) if event.parent else None, event))
                self._seqs[key] = 0  # reserved: a repeat in the same batch is a duplicate too
        if self.seq == len(self._keys) < KEYS_REMEMBERED:
            self._keys.update(new.key for new in fresh)
        return fresh

    def _lookup(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        values = {"session": self.session_pk, "keys": f"{{{','.join(map(bytes.hex, keys))}}}", "last": self.seq}
        if self._last_link is not None:
            return {key.bytes: seq for key, seq in fetch(KNOWN, values)}
        found = fetch(KNOWN_AND_LINK, values)
        self._last_link = next((bytes(link) for _, seq, link in found if seq is None), None)
        self.summary.found([(seq, bytes(told)) for key, seq, told in found if key is None and seq is not None])
        return {key.bytes: seq for key, seq, _ in found if key is not None}

    def _remember_parents(self, fresh: list[_Fresh]) -> None:
        """Give seqs to the new events, and fetch those of parents that are not in memory any more."""
        for seq, new in enumerate(fresh, start=self.seq + 1):
            self._seqs[new.key] = seq
        if missing := {new.parent for new in fresh if new.parent and new.parent not in self._seqs}:
            self._seqs.update(self._lookup(missing))

    def _parent_seq(self, key: bytes | None) -> int | None:
        """Of an event before this one: one that comes later has no number yet when the log grows in small pieces."""
        seq = self._seqs.get(key) if key else None
        return seq if seq is not None and seq < self.seq else None

    def _row(self, new: _Fresh, event: EventDraft, id_: bytes) -> list[Any]:
        """The values of ``COLUMNS`` of a plausible event; ids and JSON as bytes."""
        self.seq += 1
        # A turn begins with a message to the main agent; the prompts of its sub-agents (depth > 0) are part of it.
        if event.kind == "user_message" and event.depth == 0:
            self.turn += 1
        self.new.note(event, from_file=self.document is not None)
        parent_seq = self._parent_seq(new.parent)
        self.summary.take(self.seq, parent_seq, event)
        tool, usage = event.tool, event.usage
        return [
            self.session_id, self.seq, id_, new.key, event.kind, event.at, self.turn,
            min(event.depth, MAX_SMALLINT), parent_seq, event.actor_kind,
            event.actor_name, text(event.text),
            *((tool.call_id, tool.name, tool.server, tool.status,
               json_bytes(tool.arguments), json_bytes(tool.result)) if tool else NO_TOOL),
            event.model, event.request,
            *((usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens,
               usage.reasoning_tokens, usage.cache_write_1h_tokens, usage.quality) if usage else NO_USAGE),
            event.cost, json_bytes(event.data) if event.data else b"{}", event.key,
            self.document, event.pointer, event.offset, event.length,
        ]  # fmt: skip


NO_TOOL = (None,) * 6
NO_USAGE = (None,) * 7
