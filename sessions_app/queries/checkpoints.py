"""Checkpoints as pages show them, and whether what they knew of a chain is still there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import connection

from sessions_app.models import Checkpoint

# What a checkpoint knew of a chain, and the chain does not have any more in its place.
GONE = """
SELECT h.checkpoint_id, h.chain_id, h.seq, h.hash, {hash} IS NULL
FROM sessions_app_checkpointhead h {of_workspace} LEFT JOIN {row}
WHERE h.kind = %(kind)s AND {hash} IS DISTINCT FROM h.hash ORDER BY h.checkpoint_id, h.position
"""
HASHES = {"session": "encode(r.hash, 'hex')", "wallet": "r.hash", "audit": "r.hash"}
ROWS = {
    "session": "sessions_app_eventlink r ON r.session_id = h.chain_id AND r.last_seq = h.seq",
    "wallet": "sessions_app_ledgerentry r ON r.wallet_id = h.chain_id AND r.seq = h.seq",
    "audit": "sessions_app_auditentry r ON r.workspace_id = h.chain_id AND r.seq = h.seq",
}
OF_WORKSPACE = {
    "session": "JOIN sessions_app_session o ON o.id = h.chain_id AND o.workspace_id = %(workspace)s",
    "wallet": "JOIN sessions_app_wallet o ON o.id = h.chain_id AND o.workspace_id = %(workspace)s",
    "audit": "JOIN sessions_app_workspace o ON o.id = h.chain_id AND o.id = %(workspace)s",
}


@dataclass(frozen=True, slots=True)
class GoneHead:
    """A row that a checkpoint knew and that is not there any more, or not as it was."""

    checkpoint: int
    kind: str
    chain_id: UUID
    seq: int
    hash: str
    is_missing: bool

    def __str__(self) -> str:
        what = f"session {self.chain_id}" if self.kind == "session" else f"{self.kind} of {self.chain_id}"
        how = "its end is gone" if self.is_missing else "it was rewritten since"
        return f"{what}: checkpoint {self.checkpoint} knew it up to {self.seq}, and {how}"


def gone_heads(kind: str, workspace_id: UUID | None = None) -> Iterator[GoneHead]:
    """Heads that a checkpoint knew and that are gone: of one workspace's chains that are there, or of all chains."""
    of_workspace = OF_WORKSPACE[kind] if workspace_id else ""
    statement = GONE.format(hash=HASHES[kind], row=ROWS[kind], of_workspace=of_workspace)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"kind": kind, "workspace": workspace_id})
        for number, chain_id, seq, hash_, is_missing in cursor.fetchall():
            yield GoneHead(number, kind, chain_id, seq, hash_, is_missing)


# The mark of a session that is being appended to may be older than its rows; those that are committed have a time.
UNSEALED_SINCE = """
SELECT count(*) FROM (
    SELECT FROM sessions_app_unsealedhead u
    WHERE u.kind = 'session' AND (
        SELECT received_at FROM sessions_app_eventlink l
        WHERE l.session_id = u.chain_id ORDER BY l.last_seq DESC LIMIT 1
    ) < now() - make_interval(secs => %s) LIMIT %s
) AS late
"""
LATE = timedelta(minutes=5)
COUNTED = 1_000
"""Sessions that wait for a checkpoint are counted up to here: after a day without a worker all of it waits."""


def unsealed_for_long() -> int:
    """Sessions whose last events no checkpoint has taken in for five minutes, though one is made every minute; one more
    than ``COUNTED`` of more than that.
    """
    with connection.cursor() as cursor:
        cursor.execute(UNSEALED_SINCE, [LATE.total_seconds(), COUNTED + 1])
        return cursor.fetchone()[0]


def latest() -> Checkpoint | None:
    """The last checkpoint, with where it was taken to."""
    return Checkpoint.objects.select_related("publication").order_by("-number").first()
