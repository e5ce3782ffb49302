"""A session as a bundle: members in the order of ``layout``, the manifest and its signature at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from ...drafts import Events, Losses, SessionDraft
from ...signing import detached
from ...signing.signers import Signer
from .. import vcon
from ..common.jsonio import dumps
from ..common.times import rfc3339
from . import layout
from .packing import Packing
from .record import Record, copy_file, link_line

CHUNK = 1024 * 1024
IN_MEMORY = 16 * 1024 * 1024
MOST_SIGNED = 64 * 1024 * 1024
"""Bytes of a vCon that is signed by itself, which takes three times that in memory. The manifest covers all of them."""


@dataclass(frozen=True, slots=True)
class Original:
    """The file that a session was read from."""

    name: str
    size: int | None
    """Bytes; None where they have not been counted."""
    chunks: Callable[[], Iterator[bytes]]
    document: str
    """SHA-256 of what came in: of this very file, or of the archive that ``member`` names it in."""
    member: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry of the audit log; ``hash`` is the SHA-256 of ``previous_hash`` and ``entry``, one behind the other."""

    seq: int
    previous_hash: str
    hash: str
    entry: str
    """Canonical JSON of what the entry says."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Content of a bundle besides the event log; ``options["parts"]`` of :func:`write`."""

    session_id: str = ""
    original: Original | None = None
    audit: Iterable[AuditRow] = ()
    signer: Signer | None = None
    exported_by: str = ""
    exported_at: datetime | None = None
    record: Record | None = None
    """The chained log and its checkpoint; none of a session without events."""
    receipts: Iterable[tuple[str, str]] = ()
    """Approvals with their receipts, in the order of their ids."""
    unsigned_vcon: str = ""
    """Why the vCon is not to be signed by itself; empty when it is."""


@dataclass(slots=True)
class _Told:
    """Statements of the manifest besides the list of members."""

    original: dict[str, Any] | None = None
    vcon: dict[str, Any] = field(default_factory=dict)
    audit: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] | None = None
    receipts: dict[str, Any] = field(default_factory=dict)


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of the archive. ``options`` are those of the vCon, and ``parts`` (:class:`Parts`).

    Without a signer there is no signature, and the manifest says nothing of one.
    """
    parts: Parts = options.get("parts") or Parts()
    packing, stated = Packing(options["created_at"]), _Told()
    yield from _readme(session, parts, packing, options)
    if parts.original:
        yield from _original(parts.original, packing, stated)
    yield from _vcon(session, events, losses, packing, stated, options)
    yield from _audit(parts, packing, stated)
    if parts.record:
        yield from _record(parts.record, packing, stated)
    yield from _receipts(parts, packing, stated)
    rows = {"format": vcon.NAME, "items": losses.rows()}
    yield from packing.add(layout.LOSSES, "application/json", [_pretty(rows)])
    if parts.signer:
        yield from packing.add(layout.SIGNER, "application/x-pem-file", [parts.signer.public_pem])
    yield from _seal(parts, packing, _manifest(session, events, parts, packing, stated, options))
    yield from packing.finish()


def _readme(session: SessionDraft, parts: Parts, packing: Packing, options: dict[str, Any]) -> Iterator[bytes]:
    original = _place(parts.original) if parts.original else None
    signer = (layout.SIGNER,) if parts.signer else ()
    record = (layout.CHECKPOINT, layout.LINKS, layout.EVENTS) if parts.record else ()
    members = (original or "", layout.VCON, layout.AUDIT, *record, layout.RECEIPTS, layout.LOSSES, *signer)
    text = layout.readme(session.title, str(options.get("product_version", "")), original, members)
    yield from packing.add(layout.README, "text/plain; charset=utf-8", [text])


def _place(original: Original) -> str:
    return f"{layout.ORIGINALS}{layout.safe_name(original.name)}"


def _original(original: Original, packing: Packing, stated: _Told) -> Iterator[bytes]:
    yield from packing.add(_place(original), "application/octet-stream", original.chunks(), original.size)
    packed = packing.members[-1]
    stated.original = {
        "path": packed.path,
        "name": original.name,
        "sha256": packed.sha256,
        "document": original.document,
    }
    if original.member:
        stated.original["member"] = original.member


def _vcon(
    session: SessionDraft, events: Events, losses: Losses, packing: Packing, stated: _Told, options: dict[str, Any]
) -> Iterator[bytes]:
    """The vCon member. It is written to a temporary file first: whether it is signed by itself depends on its size."""
    parts: Parts = options.get("parts") or Parts()
    with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for chunk in vcon.write(session, events, losses, options=options):
            file.write(chunk)
        size = file.tell()
        file.seek(0)
        reason = parts.unsigned_vcon or _too_much(size) or _no_key(parts.signer)
        stated.vcon = {"path": layout.VCON, "uuid": options["uuid"], "signed": not reason}
        if reason or parts.signer is None:
            stated.vcon["why_not"] = reason
            yield from packing.add(layout.VCON, vcon.SPEC.media_type, _chunks(file), size)
            return
        signed = vcon.sign(file.read(), parts.signer, options["created_at"], options)
    yield from packing.add(layout.VCON, vcon.SPEC.media_type, [signed])


def _too_much(size: int) -> str:
    return "it is too large to be signed by itself" if size > MOST_SIGNED else ""


def _no_key(signer: Signer | None) -> str:
    if signer is None:
        return "there is no key"
    return "" if vcon.signs_with(signer) else "the key has no certificate, which a signed vCon carries"


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _audit(parts: Parts, packing: Packing, stated: _Told) -> Iterator[bytes]:
    """A line for each entry, with the text that its hash is of: nobody has to write JSON as we do to check it."""
    rows = list(parts.audit)
    lines = (
        dumps({"seq": row.seq, "previous_hash": row.previous_hash, "hash": row.hash, "entry": row.entry}) + b"\n"
        for row in rows
    )
    yield from packing.add(layout.AUDIT, "application/x-ndjson", lines)
    stated.audit = {"path": layout.AUDIT, "rows": len(rows)}


def _record(record: Record, packing: Packing, stated: _Told) -> Iterator[bytes]:
    yield from packing.add(layout.CHECKPOINT, "application/json", [_pretty(record.checkpoint)])
    lines = (json.dumps(link_line(*link), ensure_ascii=False).encode() + b"\n" for link in record.links)
    yield from packing.add(layout.LINKS, "application/x-ndjson", lines)
    yield from packing.add(layout.EVENTS, "application/octet-stream", copy_file(record.rows()))
    stated.record = {"checkpoint": layout.CHECKPOINT, "links": layout.LINKS, "events": layout.EVENTS}


def _receipts(parts: Parts, packing: Packing, stated: _Told) -> Iterator[bytes]:
    """A line for each decision. The member is there without any, too: that there were none is signed as well."""
    rows = 0

    def lines() -> Iterator[bytes]:
        nonlocal rows
        for approval, receipt in parts.receipts:
            rows += 1
            yield dumps({"approval": approval, "receipt": receipt}) + b"\n"

    yield from packing.add(layout.RECEIPTS, "application/x-ndjson", lines())
    stated.receipts = {"path": layout.RECEIPTS, "rows": rows}


def _manifest(
    session: SessionDraft, events: Events, parts: Parts, packing: Packing, stated: _Told, options: dict[str, Any]
) -> bytes:
    exported_at = parts.exported_at or options["created_at"]
    return _pretty({
        "format": layout.FORMAT,
        "version": layout.VERSION,
        "product": {"name": "Countersign", "version": str(options.get("product_version", ""))},
        "exported": {"at": rfc3339(exported_at), "by": parts.exported_by},
        "session": {
            "id": parts.session_id, "external_id": session.external_id, "title": session.title,
            "agent": session.agent_name, "events": len(events),
        },
        "original": stated.original,
        "vcon": stated.vcon,
        "audit": stated.audit,
        "receipts": stated.receipts,
        **({"record": stated.record} if stated.record else {}),
        "members": [member.row() for member in packing.members],
    })  # fmt: skip


def _seal(parts: Parts, packing: Packing, manifest: bytes) -> Iterator[bytes]:
    yield from packing.add(layout.MANIFEST, "application/json", [manifest])
    if parts.signer:
        signature = detached.sign(manifest, parts.signer).encode()
        yield from packing.add(layout.SIGNATURE, "application/jose", [signature])


def _pretty(value: dict[str, Any]) -> bytes:
    """JSON that people can read; a lone surrogate of a title becomes U+FFFD."""
    return json.dumps(json.loads(dumps(value)), indent=2, ensure_ascii=False).encode() + b"\n"
