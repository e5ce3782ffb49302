"""Proof that a session's log was known to a checkpoint, for whoever is handed the session over."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sessions_app.models import CheckpointHead, EventLink
from vcon_app.signing import merkle
from vcon_app.signing.checkpoint import Head

from . import making, publishing


class NotSealed(RuntimeError):
    """No checkpoint knows the session."""


def proof_of_session(session_id: UUID) -> dict[str, Any]:
    """The checkpoint that knows the end of the log, its signature, and the path from the session's leaf to its root.

    Where none does yet, one is made. While the session is being appended to, that is the last one that knew it.
    Raises ``NotSealed``, ``BadKey``, ``OSError``.
    """
    last = EventLink.objects.filter(session_id=session_id).order_by("-last_seq").values_list("last_seq", flat=True)[0]
    found = _head_of(session_id)
    if found is None or found.seq < last:
        making.make_all()
        found = _head_of(session_id)
    if found is None:
        raise NotSealed("no checkpoint knows this session yet, because it is being written to: try again in a minute")
    checkpoint = found.checkpoint
    heads = [
        Head(kind, str(chain), seq, hash_)
        for kind, chain, seq, hash_ in checkpoint.heads.order_by("position").values_list(
            "kind", "chain_id", "seq", "hash"
        )
    ]
    leaf = heads[found.position]
    return publishing.statement_of(checkpoint) | {
        "leaf": {"kind": leaf.kind, "chain": leaf.chain, "seq": leaf.seq, "hash": leaf.hash},
        "index": found.position,
        "path": [node.hex() for node in merkle.proof([head.leaf() for head in heads], found.position)],
        "timestamp": publishing.token_text(checkpoint.publication.timestamp_token),
    }


def _head_of(session_id: UUID) -> CheckpointHead | None:
    heads = CheckpointHead.objects.filter(kind="session", chain_id=session_id).order_by("-checkpoint_id")
    return heads.select_related("checkpoint__publication").first()
