"""``append()``: the only code that writes events, one at a time or by the hundred thousand.

Rows go in through ``COPY``; projections follow in the same transaction, computed by PostgreSQL from the log,
so a live event, a bulk import and a rebuild run the same statements.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app import counts
from sessions_app.drafts import EventDraft
from sessions_app.ids import uuid7_texts
from sessions_app.models import Session

from .. import notify
from . import links, projections
from .sanitise import MAX_SMALLINT, identifier, json_text, plausible, text

BATCH = 2_000
PARENTS_REMEMBERED = 20_000

COLUMNS = (
    "session_id", "seq", "id", "key", "kind", "at", "turn", "depth", "parent_seq", "actor_kind", "actor_name", "text",
    "call_id", "tool_name", "tool_server", "tool_status", "arguments", "result", "model", "request",
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cache_write_1h_tokens", "quality", "cost", "data", "client_key", "document", "pointer", '"offset"', "length",
)  # fmt: skip
AFTER_APPEND: list[Callable[[UUID, int], object]] = []
"""Called in the transaction of an append that holds messages or results, with the session and the ``seq`` before: what
of the services is above the log and appends itself. ``sessions_app.apps`` fills it."""
COPY = f"COPY sessions_app_event ({', '.join(COLUMNS)}) FROM STDIN"


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. ``first_seq`` and ``last_seq`` bound the events that are new (None when none is)."""

    first_seq: int | None
    last_seq: int | None
    accepted: int
    duplicates: int


def key_of(natural_key: str) -> UUID:
    """The 16 bytes by which an event is known in its session."""
    return UUID(hex=_hex_key(natural_key))


def _hex_key(natural_key: str) -> str:
    # A hash of 16 bytes, as a uuid column holds it, because natural keys come from files and can have any length.
    # "surrogatepass": they may hold lone surrogates, too, which strict UTF-8 refuses.
    return hashlib.blake2b(natural_key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@transaction.atomic
def append(
    session_id: UUID,
    events: Iterable[EventDraft],
    *,
    origin: links.Origin,
    document: str | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Appended:
    """Add events to the end of a session's log; those whose key it holds already are left out.

    ``origin`` says how they came in and who sent them, ``document`` is the SHA-256 of the source they were read from.
    ``on_progress`` is told the number of events seen so far after each batch. Raises ``Session.DoesNotExist``.
    """
    # One writer a session: the lock is what makes ``seq`` gapless and in the order of the log.
    session = Session.objects.select_for_update().only("id", "last_seq", "last_turn").get(pk=session_id)
    log = _Log(session, origin, document)
    seen = 0
    stream = iter(events)
    while batch := list(islice(stream, BATCH)):
        log.write(batch)
        seen += len(batch)
        if on_progress:
            on_progress(seen)
    accepted = log.seq - session.last_seq
    if accepted:
        counts.add("appends")
        counts.add("events", accepted)
        if log.only_counts and log.first_turn is not None:
            projections.count(session_id, session.last_seq, log.first_turn)
        else:
            projections.project(session_id, since=session.last_seq)
        notify.session_changed(session_id, log.seq)
        for call in AFTER_APPEND if log.moves_on else ():
            call(session_id, session.last_seq)
    return Appended(
        first_seq=session.last_seq + 1 if accepted else None,
        last_seq=log.seq if accepted else None,
        accepted=accepted,
        duplicates=seen - accepted,
    )


class _Fresh(NamedTuple):
    """A new event, with its key and that of its parent. Both as text: a UUID object costs as much as the hash."""

    key: str
    parent: str | None
    event: EventDraft


class _Log:
    """The end of one session's log while an append holds it."""

    def __init__(self, session: Session, origin: links.Origin, document: str | None) -> None:
        self.session_pk = session.id
        self.session_id = str(session.id)
        self.origin = origin
        self.document = document
        self.seq = session.last_seq
        self.turn = session.last_turn
        self.moves_on = False
        """Whether a message to the agent, or a result, is among what was written."""
        self.only_counts = document is None
        """Whether nothing was written that anything but counts and search is made of, see ``projections.count``."""
        self.first_turn: int | None = None
        """Of what was written."""
        self._seqs: OrderedDict[str, int] = OrderedDict()
        self._last_link: bytes | None = None

    def write(self, batch: list[EventDraft]) -> None:
        fresh = self._only_new(batch)
        if not fresh:
            return
        first_seq = self.seq + 1
        self._remember_parents(fresh)
        ids = uuid7_texts(len(fresh))
        with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(COPY) as copy:
            for new, id_ in zip(fresh, ids, strict=True):
                copy.write_row(self._row(new, plausible(new.event), id_))
        self._write_link(first_seq)
        # The oldest first: nearly all parents are near. A forgotten one is looked up in the log.
        while len(self._seqs) > PARENTS_REMEMBERED:
            self._seqs.popitem(last=False)

    def _write_link(self, first_seq: int) -> None:
        if self._last_link is None:
            self._last_link = links.previous_hash(self.session_pk, first_seq - 1)
        # The clock, not the transaction's beginning: an import of many minutes is received all the while.
        self._last_link = links.write(
            self.session_pk, first_seq, self.seq, self._last_link, self.origin, received_at=timezone.now()
        )

    def _only_new(self, batch: list[EventDraft]) -> list[_Fresh]:
        keys = [_hex_key(event.key) for event in batch]
        # An empty log holds no key yet, so the first batch of an import needs no query.
        known = self._lookup(keys).keys() if self.seq else ()
        fresh = []
        for key, event in zip(keys, batch, strict=True):
            if key not in known and key not in self._seqs:
                fresh.append(_Fresh(key, _hex_key(event.parent) if event.parent else None, event))
                self._seqs[key] = 0  # reserved: a repeat in the same batch is a duplicate too
        return fresh

    def _lookup(self, keys: Iterable[str]) -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT key, seq FROM sessions_app_event WHERE session_id = %s AND key = ANY(%s::uuid[])",
                [self.session_id, f"{{{','.join(keys)}}}"],
            )
            return {key.hex: seq for key, seq in cursor.fetchall()}

    def _remember_parents(self, fresh: list[_Fresh]) -> None:
        """Give seqs to the new events, and fetch those of parents that are not in memory any more."""
        for seq, new in enumerate(fresh, start=self.seq + 1):
            self._seqs[new.key] = seq
        if missing := {new.parent for new in fresh if new.parent and new.parent not in self._seqs}:
            self._seqs.update(self._lookup(missing))

    def _parent_seq(self, key: str | None) -> int | None:
        """Of an event before this one: one that comes later has no number yet when the log grows in small pieces."""
        seq = self._seqs.get(key) if key else None
        return seq if seq is not None and seq < self.seq else None

    def _row(self, new: _Fresh, event: EventDraft, id_: str) -> tuple[Any, ...]:
        """What ``COPY`` takes; times and money as text, which PostgreSQL reads and psycopg need not look at."""
        self.seq += 1
        # A turn begins with a message to the main agent; the prompts of its sub-agents (depth > 0) are part of it.
        if event.kind == "user_message" and event.depth == 0:
            self.turn += 1
            self.moves_on = True
        self.first_turn = self.turn if self.first_turn is None else self.first_turn
        self.moves_on |= event.kind == "tool_result"
        at, cost, tool, usage = event.at, event.cost, event.tool, event.usage
        self.only_counts &= usage is None and cost is None and event.kind not in ("tool_call", "tool_result")
        return (
            self.session_id, self.seq, id_, new.key, event.kind, at if at is None else str(at), self.turn,
            min(event.depth, MAX_SMALLINT), self._parent_seq(new.parent), event.actor_kind,
            text(event.actor_name), text(event.text),
            *((identifier(tool.call_id), text(tool.name), text(tool.server), text(tool.status),
               json_text(tool.arguments), json_text(tool.result)) if tool else NO_TOOL),
            text(event.model), identifier(event.request),
            *((usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens,
               usage.reasoning_tokens, usage.cache_write_1h_tokens, usage.quality) if usage else NO_USAGE),
            cost if cost is None else str(cost), json_text(event.data) if event.data else "{}", text(event.key),
            self.document, text(event.pointer), event.offset, event.length,
        )  # fmt: skip


NO_TOOL = (None,) * 6
NO_USAGE = (None,) * 7
