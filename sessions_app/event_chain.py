"""The chain of a session's log: each append adds a link, a hash over its rows as they are stored and the link before.

Pure: services write links, queries compute them again, and who has the rows of a bundle can do so without a database.

A link of version 1 is SHA-256 over the 32 bytes of the link before (zeros for the first), the length of its header in
bytes (4, big-endian), the header, and the SHA-256 of each of its rows in the order of ``seq``. The header is the
compact JSON of ``[version, session, first_seq, last_seq, origin, reporter_kind, reporter_id, reported_by,
received_at]``, the time in microseconds since 1970 or null. A row is what PostgreSQL's ``COPY ... (FORMAT binary)``
sends for ``COLUMNS``: the number of fields (2 bytes), then each field's length (4 bytes, -1 for NULL) and its bytes in
the type's binary form, which no setting of a connection changes.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

VERSION = "countersign/link/1"
GENESIS = bytes(32)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DIGEST_BYTES = 8
"""Of each row's hash, how much is kept beside the link: enough to say which event was changed. The link proves it."""

COLUMNS = (
    "session_id", "seq", "id", "key", "kind", "at", "turn", "depth", "parent_seq", "actor_kind", "actor_name", "text",
    "call_id", "tool_name", "tool_server", "tool_status", "arguments", "result", "model", "request",
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cache_write_1h_tokens", "quality", "cost", "data", "client_key", "document", "pointer", '"offset"', "length",
)  # fmt: skip
"""Every column of an event when version 1 was made; one that is added later needs a version of its own."""


class UnexpectedRow(ValueError):
    """A row is not the next one of its session; ``seq`` is the event that is missing, or not where it was."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"event {seq} is missing, or is not where it was written")
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Header:
    """What a link says of its events: which they are, and how they came in."""

    session_id: UUID
    first_seq: int
    last_seq: int
    origin: str
    reporter_kind: str
    reporter_id: str
    reported_by: str
    received_at: datetime | None

    def encoded(self) -> bytes:
        """The header as it is hashed."""
        received = None if self.received_at is None else (self.received_at - EPOCH) // MICROSECOND
        fields = [
            VERSION, str(self.session_id), self.first_seq, self.last_seq, self.origin, self.reporter_kind,
            self.reporter_id, self.reported_by, received,
        ]  # fmt: skip
        return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Link:
    """A computed link: its 32 bytes, and the first ``DIGEST_BYTES`` of the hash of each of its rows."""

    digest: bytes
    row_digests: bytes


# Of a row in COPY's binary form: the number of fields, then length and value of session_id, then the length of seq.
_FIELDS = len(COLUMNS).to_bytes(2)
_UUID_LENGTH, _SEQ_LENGTH = (16).to_bytes(4), (4).to_bytes(4)
_NULL = (-1).to_bytes(4, signed=True)
_LENGTH = struct.Struct(">i").unpack_from
FIRST_OF_ANY_LENGTH = COLUMNS.index("kind")
_BEFORE = 2 + 3 * (4 + 16) + 4 + 4
"""Bytes of a row before that column: the number of fields, three ids, and ``seq``, each behind its length."""


def link(previous: bytes, header: Header, rows: Iterable[bytes]) -> Link:
    """The link of a header and of exactly its rows. Raises ``UnexpectedRow``."""
    encoded = header.encoded()
    hashed = hashlib.sha256(previous + len(encoded).to_bytes(4) + encoded)
    before_seq = _FIELDS + _UUID_LENGTH + header.session_id.bytes + _SEQ_LENGTH
    end = len(before_seq)
    kept = bytearray()
    seq = header.first_seq
    for row in rows:
        # Two slices and no parser: at 100,000 rows a second there is no time to decode 34 fields of each.
        if row[:end] != before_seq or row[end : end + 4] != seq.to_bytes(4) or seq > header.last_seq:
            raise UnexpectedRow(seq)
        digest = hashlib.sha256(row).digest()
        hashed.update(digest)
        kept += digest[:DIGEST_BYTES]
        seq += 1
    if seq <= header.last_seq:
        raise UnexpectedRow(seq)
    return Link(hashed.digest(), bytes(kept))


def encoded(fields: Sequence[bytes | None]) -> bytes:
    """A row of ``COLUMNS`` from its fields in binary form."""
    parts = [_FIELDS]
    for field in fields:
        parts += (_NULL,) if field is None else (len(field).to_bytes(4), field)
    return b"".join(parts)


def fields(row: bytes, wanted: Sequence[bool]) -> list[bytes | None]:
    """Some fields of a row in binary form: those ``wanted``, from ``FIRST_OF_ANY_LENGTH`` on."""
    found: list[bytes | None] = []
    at = _BEFORE
    for is_wanted in wanted:
        size = _LENGTH(row, at)[0]
        at += 4
        if size < 0:
            if is_wanted:
                found.append(None)
        else:
            if is_wanted:
                found.append(row[at : at + size])
            at += size
    return found


def first_difference(first_seq: int, kept: bytes, computed: bytes) -> int | None:
    """The first event whose row is not what its kept digest says; None where they are the same."""
    for start in range(0, max(len(kept), len(computed)), DIGEST_BYTES):
        if kept[start : start + DIGEST_BYTES] != computed[start : start + DIGEST_BYTES]:
            return first_seq + start // DIGEST_BYTES
    return None
