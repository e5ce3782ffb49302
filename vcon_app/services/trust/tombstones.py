"""Tombstones: written and signed as something goes, checked when somebody asks for one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from sessions_app.models import Tombstone
from sessions_app.models.erasure import VERSION
from sessions_app.services import audit
from sessions_app.services.log.erasure import CannotErase, Log
from sessions_app.services.log.sanitise import text
from vcon_app.drafts import Signature
from vcon_app.models import SourceDocument
from vcon_app.signing import canonical, detached
from vcon_app.signing.keys import Anchor, BadKey

from . import own_keys

__all__ = ["VERSION", "check", "digest_of", "write"]
MAX_REASON = 2_000


def write(
    kind: Tombstone.Kind, workspace_id: UUID, subject_id: UUID, *, counts: dict[str, int], by: audit.Actor, reason: str,
    documents: Sequence[SourceDocument] = (), log: Log | None = None,
) -> Tombstone:  # fmt: skip
    """The signed tombstone of what is about to go, and its audit entry. Raises ``CannotErase`` without a key."""
    tombstone = Tombstone(
        workspace_id=workspace_id,
        kind=kind,
        subject_id=subject_id,
        counts=counts,
        documents=[{"sha256": each.sha256, "bytes": each.size} for each in documents],
        last_seq=log.last_seq if log else None,
        last_link=log.last_link if log else "",
        reason=text(reason.strip())[:MAX_REASON],
        by_kind=by.kind,
        by_id=by.id,
        by=text(by.name),
        at=timezone.now(),
    )
    try:
        tombstone.signature = detached.sign(_signed(tombstone), own_keys.signer())
    except (BadKey, OSError) as error:
        raise CannotErase(f"the key that tombstones are signed with cannot be used: {error}") from error
    tombstone.save(force_insert=True)
    _record(tombstone, by)
    return tombstone


def digest_of(tombstone: Tombstone) -> str:
    """SHA-256 of what is signed, in hex; it stands in the audit entry."""
    return hashlib.sha256(_signed(tombstone)).hexdigest()


def check(tombstone: Tombstone, anchors: Sequence[Anchor]) -> Signature:
    """State of its signature against what the row says now."""
    state, _ = detached.check(tombstone.signature.encode(), _signed(tombstone), anchors, timezone.now())
    return state


def _signed(tombstone: Tombstone) -> bytes:
    """Canonical JSON: sorted keys, no blanks, UTF-8."""
    return canonical.python(tombstone.statement(), sort=True)


def _record(tombstone: Tombstone, by: audit.Actor) -> None:
    counted = {name: number for name, number in tombstone.counts.items() if number}
    files = {"sha256": " ".join(each["sha256"] for each in tombstone.documents)} if tombstone.documents else {}
    audit.record(
        tombstone.workspace_id, by, f"{tombstone.kind}.erased", subject=(str(tombstone.kind), tombstone.subject_id),
        reason=tombstone.reason, tombstone=str(tombstone.pk), digest=digest_of(tombstone), **counted, **files,
    )  # fmt: skip
