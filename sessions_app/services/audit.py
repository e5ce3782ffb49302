"""The audit log: append-only, and chained so that a changed, removed or inserted row shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app import row_chain
from sessions_app.models import AuditEntry
from sessions_app.prepared import Statement, fetch, run
from sessions_app.row_chain import GENESIS

from .log.sanitise import json_text, text


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a member, an API key, the system itself or somebody at the command line."""

    kind: str
    id: str = ""
    name: str = ""


SYSTEM = Actor("system", name="Countersign")
COMMAND = Actor("command", name="command line")


@dataclass(frozen=True, slots=True)
class Said:
    """What an entry is to say. ``subject`` is its kind and id; ``details`` must be JSON."""

    actor: Actor
    action: str
    subject: tuple[str, Any] = ("", "")
    details: dict[str, Any] = field(default_factory=dict)


LOCK = Statement("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))")
# A statement of its own: one that waits for the lock sees the chain as it was before it waited.
LAST = Statement("""
SELECT ARRAY(SELECT each::jsonb::text FROM unnest(%s::text[]) WITH ORDINALITY AS given (each, n) ORDER BY n),
       last.seq, last.hash
FROM (VALUES (1)) AS one LEFT JOIN LATERAL (
    SELECT seq, hash FROM sessions_app_auditentry WHERE workspace_id = %s ORDER BY seq DESC LIMIT 1
) last ON true
""")
COLUMNS = (
    "workspace_id", "seq", "at", "actor_kind", "actor_id", "actor_name", "action", "subject_kind", "subject_id",
    "details", "previous_hash", "hash",
)  # fmt: skip
INSERT = Statement(
    f"INSERT INTO sessions_app_auditentry ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
)


def record(
    workspace_id: UUID, actor: Actor, action: str, *, subject: tuple[str, Any] = ("", ""), **details: Any
) -> AuditEntry:
    """Add one entry to a workspace's chain. ``subject`` is its kind and id; ``details`` must be JSON."""
    return record_each(workspace_id, [Said(actor, action, subject, details)])[0]


@transaction.atomic(savepoint=False)
def record_each(workspace_id: UUID, said: Sequence[Said]) -> list[AuditEntry]:
    """Add entries to a workspace's chain, one after the other."""
    run(LOCK, [f"audit:{workspace_id}"])  # one writer per chain at a time, or two rows would follow the same hash
    # jsonb writes 1e16 as an integer; the hash is of what it gives back
    ((kept, seq, previous),) = fetch(LAST, [[json_text(one.details) for one in said], workspace_id])
    entries = []
    for one, details in zip(said, kept, strict=True):
        seq = (seq or 0) + 1
        entry = AuditEntry(
            workspace_id=workspace_id,
            seq=seq,
            at=timezone.now(),
            actor_kind=one.actor.kind,
            actor_id=one.actor.id,
            actor_name=text(one.actor.name),
            action=one.action,
            subject_kind=one.subject[0],
            subject_id=str(one.subject[1]),
            details=json.loads(details),
            previous_hash=previous or GENESIS,
        )
        previous = entry.hash = hash_of(entry)
        run(INSERT, [details if name == "details" else getattr(entry, name) for name in COLUMNS])
        entries.append(entry)
    return entries


def hash_of(entry: AuditEntry) -> str:
    """SHA-256 over the previous hash and the canonical JSON of the entry."""
    return row_chain.chained(entry.previous_hash, canonical_of(entry))


def canonical_of(entry: AuditEntry) -> str:
    """Canonical form of an entry: JSON with sorted keys and without blanks (UTF-8)."""
    body = {
        "workspace": str(entry.workspace_id),
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "actor": [entry.actor_kind, entry.actor_id, entry.actor_name],
        "action": entry.action,
        "subject": [entry.subject_kind, entry.subject_id],
        "details": entry.details,
    }
    return row_chain.canonical(body)


def broken_rows(workspace_id: UUID) -> Iterator[tuple[int, str]]:
    """Sequence number and reason of each entry that does not fit its chain, in order."""
    previous, expected = GENESIS, 1
    for entry in AuditEntry.objects.filter(workspace_id=workspace_id).order_by("seq").iterator():
        if entry.seq != expected:
            yield entry.seq, f"entry {expected} is missing before it"
        elif entry.previous_hash != previous:
            yield entry.seq, "does not follow the entry before it"
        if entry.hash != hash_of(entry):
            yield entry.seq, "its content was changed"
        # Go on from the stored hash, not the computed one: one changed row is then reported once and not to the end.
        previous, expected = entry.hash, entry.seq + 1
