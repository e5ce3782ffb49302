"""Links: what ``append`` writes beside the events, so that it is known who sent them and seen when one is changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from sessions_app import event_chain
from sessions_app.models import EventLink, UnsealedHead
from sessions_app.prepared import Statement, fetch, run

from ..audit import Actor
from .sanitise import text

Kind = EventLink.Origin


@dataclass(frozen=True, slots=True)
class Origin:
    """How events came in, and from whom."""

    kind: EventLink.Origin
    reporter: Actor = Actor("")


RUNTIME = Origin(Kind.RUNTIME)
DESK = Origin(Kind.DESK)


def read_by(name: str) -> Origin:
    """Origin of what was read from a file that somebody of this name brought."""
    return Origin(Kind.FILE, Actor("", name=name))


def sent_by(actor: Actor) -> Origin:
    """Origin of what a member, a key, a trigger or Slack sent."""
    return Origin(Kind.API, actor)


def desk_for(actor: Actor) -> Origin:
    """Origin of what the desk itself writes down because of somebody: a decision, an interruption."""
    return Origin(Kind.DESK, actor)


# A mark that is there is locked, so that no checkpoint takes it away between this statement and the commit and reads
# the head of the chain before what it stands for is there. One that came meanwhile is locked by DO UPDATE; DO NOTHING
# would not.
MARK_UNSEALED = """
WITH kept AS (SELECT FROM sessions_app_unsealedhead WHERE kind = %(kind)s AND chain_id = %(chain)s FOR KEY SHARE)
INSERT INTO sessions_app_unsealedhead (kind, chain_id)
SELECT %(kind)s, %(chain)s WHERE NOT EXISTS (SELECT FROM kept)
ON CONFLICT (kind, chain_id) DO UPDATE SET kind = excluded.kind
"""
PREVIOUS = Statement("SELECT hash FROM sessions_app_eventlink WHERE session_id = %s AND last_seq = %s")
# One statement: an append of one event is a request of its own, and each round trip is part of what it costs.
WRITE = Statement(f"""
WITH marked AS ({MARK_UNSEALED})
INSERT INTO sessions_app_eventlink
    (session_id, first_seq, last_seq, origin, reporter_kind, reporter_id, reported_by, received_at, hash, row_digests)
VALUES (%(chain)s, %(first)s, %(last)s, %(origin)s, %(reporter_kind)s, %(reporter_id)s, %(reported_by)s,
        %(received_at)s, %(hash)s, %(row_digests)s)
""")


def mark_unsealed(kind: UnsealedHead.Kind, chain_id: UUID) -> None:
    """Have the next checkpoint take in the head of a chain that has grown."""
    with connection.cursor() as cursor:
        cursor.execute(MARK_UNSEALED, {"kind": kind.value, "chain": chain_id})


def previous_hash(session_id: UUID, last_seq: int) -> bytes:
    """The last link of a log that ends at ``last_seq``. Raises ``LookupError`` where the log has events without one."""
    if last_seq == 0:
        return event_chain.GENESIS
    found = fetch(PREVIOUS, [session_id, last_seq])
    if not found:
        raise LookupError(f"event {last_seq} of session {session_id} has no link: run `audit verify` and see docs")
    return bytes(found[0][0])


class Part(NamedTuple):
    """A part of a session's log."""

    session_id: UUID
    first_seq: int
    last_seq: int


def write(
    part: Part, rows: Iterable[bytes], previous: bytes, origin: Origin, received_at: datetime | None
) -> bytes:  # fmt: skip
    """Chain the events just written to the link before; the new link's hash. The caller has locked the session.

    ``rows`` are the events as PostgreSQL gives them back, not as they were sent: jsonb, numeric and timestamptz have a
    spelling of their own once they are stored.
    """
    header = event_chain.Header(
        *part, origin.kind.value, origin.reporter.kind, origin.reporter.id, text(origin.reporter.name), received_at
    )
    computed = event_chain.link(previous, header, rows)
    run(WRITE, {
        "kind": UnsealedHead.Kind.SESSION.value, "chain": part.session_id, "first": part.first_seq,
        "last": part.last_seq, "origin": header.origin, "reporter_kind": header.reporter_kind,
        "reporter_id": header.reporter_id, "reported_by": header.reported_by, "received_at": received_at,
        "hash": computed.digest, "row_digests": computed.row_digests,
    })  # fmt: skip
    return computed.digest
