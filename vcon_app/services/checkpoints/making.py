"""A checkpoint is made at least every minute that something happened: the heads of the chains that grew, signed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.utils import timezone

from sessions_app import row_chain
from sessions_app.models import Checkpoint, CheckpointHead, CheckpointPublication, UnsealedHead
from sessions_app.services import audit
from vcon_app.signing import checkpoint, detached
from vcon_app.signing.checkpoint import Head

from ..trust import own_keys

MOST = 10_000
"""Sessions and wallets in one checkpoint: its file has a megabyte then. What is left is in the next one."""
SEALED = "record.sealed"
# SKIP LOCKED: a session that is being appended to holds its mark until it commits, which may be minutes for an import;
# it is taken by the next checkpoint. MATERIALIZED: a plan that ran the inner SELECT once a row would take a LIMIT each.
TAKE = """
WITH taken AS MATERIALIZED (
    SELECT kind, chain_id FROM sessions_app_unsealedhead LIMIT %s FOR UPDATE SKIP LOCKED
)
DELETE FROM sessions_app_unsealedhead unsealed USING taken
WHERE unsealed.kind = taken.kind AND unsealed.chain_id = taken.chain_id
RETURNING unsealed.kind, unsealed.chain_id
"""
SESSION_HEADS = """
SELECT s.workspace_id, s.id, link.last_seq, encode(link.hash, 'hex')
FROM sessions_app_session s
CROSS JOIN LATERAL (
    SELECT last_seq, hash FROM sessions_app_eventlink l WHERE l.session_id = s.id ORDER BY last_seq DESC LIMIT 1
) link
WHERE s.id = ANY(%s)
"""
WALLET_HEADS = """
SELECT w.workspace_id, w.id, entry.seq, entry.hash
FROM sessions_app_wallet w
CROSS JOIN LATERAL (
    SELECT seq, hash FROM sessions_app_ledgerentry e WHERE e.wallet_id = w.id ORDER BY seq DESC LIMIT 1
) entry
WHERE w.id = ANY(%s)
"""
# Workspaces whose audit log has grown since the last checkpoint that knew it.
AUDIT_HEADS = """
SELECT w.id, entry.seq, entry.hash
FROM sessions_app_workspace w
CROSS JOIN LATERAL (
    SELECT seq, hash FROM sessions_app_auditentry a WHERE a.workspace_id = w.id ORDER BY seq DESC LIMIT 1
) entry
LEFT JOIN LATERAL (
    SELECT seq FROM sessions_app_checkpointhead h WHERE h.kind = 'audit' AND h.chain_id = w.id
    ORDER BY h.checkpoint_id DESC LIMIT 1
) known ON true
WHERE known.seq IS DISTINCT FROM entry.seq
"""


def make_all() -> int:
    """Make checkpoints until nothing is left that they do not know; how many. Raises ``BadKey`` and ``OSError``."""
    made = 0
    while make() is not None:
        made += 1
    return made


@transaction.atomic
def make() -> Checkpoint | None:
    """One checkpoint of what has grown since the last one; None when nothing has."""
    with connection.cursor() as cursor:
        # One at a time, on whichever host: each names the one before it.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('checkpoint', 0))")
        last = Checkpoint.objects.order_by("-number").first()
        number = last.number + 1 if last else 1
        grown = _take_grown()
        _seal_in_audit(number, grown)
        cursor.execute(AUDIT_HEADS)
        heads = [head for _, head in grown]
        heads += [Head("audit", str(workspace), seq, hash_) for workspace, seq, hash_ in cursor.fetchall()]
    if not heads:
        return None
    return _write(last, number, sorted(heads), timezone.now())


def _take_grown() -> list[tuple[UUID, Head]]:
    """The heads of sessions and wallets that grew, each with its workspace."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [MOST])
        ids = defaultdict(list)
        for kind, chain_id in cursor.fetchall():
            ids[kind].append(chain_id)
        found = []
        for kind, statement in ((UnsealedHead.Kind.SESSION, SESSION_HEADS), (UnsealedHead.Kind.WALLET, WALLET_HEADS)):
            if ids[kind]:
                cursor.execute(statement, [ids[kind]])
                found += [(row[0], Head(kind.value, str(row[1]), *row[2:])) for row in cursor.fetchall()]
    return found


def _seal_in_audit(number: int, grown: Iterable[tuple[UUID, Head]]) -> None:
    """Take the heads into the audit logs of their workspaces, whose own heads are then in the checkpoint as well."""
    by_workspace = defaultdict(list)
    for workspace_id, head in grown:
        by_workspace[workspace_id].append(head)
    for workspace_id in sorted(by_workspace):  # in order: two that take their locks crosswise would wait for ever
        heads = sorted(by_workspace[workspace_id])
        audit.record(
            workspace_id, audit.SYSTEM, SEALED, subject=("checkpoint", number),
            sessions=sum(head.kind == "session" for head in heads),
            wallets=sum(head.kind == "wallet" for head in heads),
            heads=row_chain.digest({"heads": [[head.kind, head.chain, head.seq, head.hash] for head in heads]}),
        )  # fmt: skip


def _write(last: Checkpoint | None, number: int, heads: list[Head], now: datetime) -> Checkpoint:
    header = checkpoint.Header(
        number=number,
        at=now,
        installation=checkpoint.parse(last.header).installation if last else str(uuid4()),
        heads=len(heads),
        root=checkpoint.root_of(heads),
        previous=last.hash if last else checkpoint.GENESIS,
    )
    text = header.text()
    made = Checkpoint.objects.create(
        number=number,
        at=now,
        header=text,
        hash=checkpoint.hash_of(text),
        signature=detached.sign(text.encode(), own_keys.signer()),
        heads_count=len(heads),
    )
    CheckpointHead.objects.bulk_create(
        [
            CheckpointHead(
                checkpoint=made,
                position=position,
                kind=head.kind,
                chain_id=UUID(head.chain),
                seq=head.seq,
                hash=head.hash,
            )  # fmt: skip
            for position, head in enumerate(heads)
        ],
        batch_size=2_000,
    )
    CheckpointPublication.objects.create(checkpoint=made, next_try_at=now)
    return made
