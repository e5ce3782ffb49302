"""The log of a bundle's session as it was chained, and the checkpoint that knew it: checked with nothing but these.

``events.pgcopy`` is a file of PostgreSQL's ``COPY ... (FORMAT binary)`` with the very bytes that the links are hashes
of, ``links.jsonl`` has a link a line, ``checkpoint.json`` the signed statement and the proof that the last link is a
leaf of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO
from uuid import UUID

from sessions_app import event_chain
from sessions_app.event_chain import GENESIS, Header

from ...signing import checkpoint as statements
from ...signing import detached, merkle
from ...signing.keys import Anchor
from ..common import jsonio

COPY_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"
LONGEST = 16 * 1024 * 1024
"""Bytes of a line."""
LARGEST_FIELD = 512 * 1024 * 1024
SIGNED = ("valid", "valid_untrusted", "valid_expired")


class Broken(ValueError):
    """The record is not what was written; the message says where."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a bundle has of the chain. ``rows`` are events in the form in which they are hashed, in order."""

    checkpoint: dict[str, Any]
    """``header``, ``signature``, ``leaf`` (kind, chain, seq, hash), ``index``, ``path`` and ``timestamp``."""
    links: Iterable[tuple[Header, str]]
    """Each link's header and its hash in hex."""
    rows: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Checked:
    """How much is proved: events that the chain covers, those of them that the checkpoint knew, and the checkpoint."""

    events: int
    sealed: int
    header: statements.Header
    signed_by: str


def link_line(header: Header, hash_: str) -> dict[str, Any]:
    """A line of ``links.jsonl``."""
    received = header.received_at
    return {
        "session": str(header.session_id), "first_seq": header.first_seq, "last_seq": header.last_seq,
        "origin": header.origin, "reporter_kind": header.reporter_kind, "reporter_id": header.reporter_id,
        "reported_by": header.reported_by, "received_at": received.isoformat() if received else None, "hash": hash_,
    }  # fmt: skip


def copy_file(rows: Iterator[bytes]) -> Iterator[bytes]:
    """The rows as a file that PostgreSQL reads."""
    yield COPY_START
    yield from rows
    yield COPY_END


def check(
    checkpoint: bytes, links: BinaryIO, events: BinaryIO, session_id: str, anchors: Sequence[Anchor], at: datetime
) -> Checked:
    """Compute the links again, and follow the last one into the checkpoint. Raises ``Broken``."""
    stated, header, leaf = _statement(checkpoint, session_id)
    sealed_hash, events_read, sealed = None, 0, 0
    previous, stream = GENESIS, _rows(events)
    for link_header, hash_ in _links(links, session_id):
        if link_header.first_seq != events_read + 1:
            raise Broken(f"event {events_read + 1} is in no link")
        try:
            rows = islice(stream, link_header.last_seq - events_read)
            computed = event_chain.link(previous, link_header, rows).digest
        except event_chain.UnexpectedRow as fault:
            raise Broken(str(fault)) from None
        if computed.hex() != hash_:
            which = f"{link_header.first_seq} to {link_header.last_seq}"
            raise Broken(f"events {which}, or who sent them, are not what was written")
        previous, events_read = computed, link_header.last_seq
        if events_read == leaf.seq:
            sealed_hash, sealed = computed.hex(), events_read
    if next(stream, None) is not None:
        raise Broken(f"event {events_read + 1} is in no link")
    if sealed_hash != leaf.hash:
        raise Broken(f"the checkpoint knew another log: its head at event {leaf.seq} is not in the links")
    signed_by = _signature(stated, header, anchors, at)
    return Checked(events_read, sealed, header, signed_by)


def _statement(checkpoint: bytes, session_id: str) -> tuple[dict[str, Any], statements.Header, statements.Head]:
    try:
        stated, _ = jsonio.loads(checkpoint)
        header = statements.parse(stated["header"])
        leaf = statements.Head(*(stated["leaf"][name] for name in ("kind", "chain", "seq", "hash")))
        path, index = [bytes.fromhex(text) for text in stated["path"]], int(stated["index"])
    except (jsonio.Unreadable, statements.NotAHeader, ValueError, KeyError, TypeError) as fault:
        raise Broken(f"the checkpoint cannot be read: {str(fault)[:100]}") from None
    if (leaf.kind, leaf.chain) != ("session", session_id):
        raise Broken("the checkpoint's leaf is of another session")
    root = merkle.root_from(leaf.leaf(), index, header.heads, path)
    if root is None or root.hex() != header.root:
        raise Broken("the proof does not lead to the root that the checkpoint signs")
    return stated, header, leaf


def _signature(stated: dict[str, Any], header: statements.Header, anchors: Sequence[Anchor], at: datetime) -> str:
    signature, _ = detached.check(str(stated.get("signature")).encode(), header.text().encode(), anchors, at)
    if signature.state not in SIGNED:
        raise Broken(f"the checkpoint's signature is {signature.state}: {signature.detail}")
    trust = "" if signature.state == "valid" else ", whom nobody here trusts"
    return f"{signature.signer or 'an unnamed key'}{trust}"


def _links(lines: BinaryIO, session_id: str) -> Iterator[tuple[Header, str]]:
    number = 0
    while line := lines.readline(LONGEST):
        number += 1
        try:
            row = json.loads(line)
            received = row["received_at"]
            header = Header(
                UUID(row["session"]), int(row["first_seq"]), int(row["last_seq"]), str(row["origin"]),
                str(row["reporter_kind"]), str(row["reporter_id"]), str(row["reported_by"]),
                datetime.fromisoformat(received) if received else None,
            )  # fmt: skip
            hash_ = str(row["hash"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Broken(f"line {number} of the links is none") from None
        if str(header.session_id) != session_id or header.last_seq < header.first_seq:
            raise Broken(f"line {number} of the links is not one of this session")
        yield header, hash_


def _rows(file: BinaryIO) -> Iterator[bytes]:
    """The tuples of a binary COPY file (PostgreSQL documentation, COPY, "Binary Format"). Raises ``Broken``."""
    if file.read(len(COPY_START)) != COPY_START:
        raise Broken("the events are no file of PostgreSQL's COPY")
    while (start := _exactly(file, 2)) != COPY_END:
        parts = [start]
        for _ in range(int.from_bytes(start)):
            length = _exactly(file, 4)
            parts.append(length)
            size = int.from_bytes(length, signed=True)
            if size > LARGEST_FIELD:
                raise Broken(f"a field of an event has {size:,} bytes")
            if size > 0:
                parts.append(_exactly(file, size))
        yield b"".join(parts)
    if file.read(1):
        raise Broken("something stands behind the last event")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            raise Broken("the events break off")
        data += more
    return data
