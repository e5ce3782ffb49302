"""The audit log: append-only, and chained so that a changed, removed or inserted row shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app import row_chain
from sessions_app.models import AuditEntry
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


@transaction.atomic(savepoint=False)
def record(
    workspace_id: UUID, actor: Actor, action: str, *, subject: tuple[str, Any] = ("", ""), **details: Any
) -> AuditEntry:
    """Add one entry to a workspace's chain. ``subject`` is its kind and id; ``details`` must be JSON."""
    with connection.cursor() as cursor:  # one writer per chain at a time, or two rows would follow the same hash
        cursor.execute(
            "SELECT %s::jsonb, pg_advisory_xact_lock(hashtextextended(%s, 0))",
            [json_text(details), f"audit:{workspace_id}"],
        )
        kept = json.loads(cursor.fetchone()[0])  # jsonb writes 1e16 as an integer; the hash is of what it gives back
    last = AuditEntry.objects.filter(workspace_id=workspace_id).order_by("-seq").first()
    entry = AuditEntry(
        workspace_id=workspace_id,
        seq=last.seq + 1 if last else 1,
        at=timezone.now(),
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=text(actor.name),
        action=action,
        subject_kind=subject[0],
        subject_id=str(subject[1]),
        details=kept,
        previous_hash=last.hash if last else GENESIS,
    )
    entry.hash = hash_of(entry)
    entry.save(force_insert=True)
    return entry


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
