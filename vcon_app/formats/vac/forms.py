"""From the bytes of a file to a VAC record: JSON, CBOR, or the payload of a COSE_Sign1 (VAC s3.1, s3.11)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ...drafts import FormatError, Json, Signature
from ...signing import cbor
from ..common.head import Head
from ..common.values import dict_of, text_or_none
from ..vcon.file import ARRAYS, MARK, Notes, Unzipped, decode_base64, load_json, parse_json, report_in_cbor, shown
from ..vcon.trace import RECORD_NAMES, SESSION_NAMES

MARKS = ("session-id", "agent-meta", "entries")
"""Members of which a session-trace has at least one (VAC s3.3)."""
OTHERS = frozenset({*ARRAYS, "feed_type", "payload", "ciphertext", "uuid"})
"""Top-level keys of vCons and llmfeed files, which may hold a session, too."""
TAGGED = (b"\xd2\x84", b"\xd9\x10\x35", b"\xd9\xd9\xf7")
"""How CBOR may begin: COSE_Sign1 (tag 18, an array of four), agent conversation (4149), CBOR itself (55799)."""
LARGEST = 64 * 1024 * 1024
"""CBOR and signed payloads are held in memory."""
SIGN1 = (b"\xd2", b"\x84")
"""How a COSE_Sign1 begins, with its tag and without."""
NOT_CHECKED = "There is a signature (COSE_Sign1); it is not checked while reading."
BESIDE = "the metadata in the unprotected header"


@dataclass(slots=True)
class OpenedRecord:
    """A record, and through which forms it was reached."""

    record: dict[str, Any]
    forms: list[str] = field(default_factory=lambda: ["vac"])
    signature: Signature | None = None
    claims: dict[str, Json] = field(default_factory=dict)
    """What the unprotected header of a COSE_Sign1 says; no signature covers it (VAC s3.11)."""
    elided: int = 0


def detect(head: Head) -> bool:
    """Is this a VAC record without a vCon around it?"""
    data = head.data.lstrip(b"\xef\xbb\xbf \t\r\n") if head.data[:1] not in b"\xd9\xd2" else head.data
    return _is_json_record(head) if data.startswith(b"{") else _is_binary_record(head.data)


def _is_json_record(head: Head) -> bool:
    if head.keys & OTHERS:
        return False
    wrappers = [f"{spelling}." for name in RECORD_NAMES for spelling in _spellings(name) if spelling in head.keys]
    outer = wrappers[0] if wrappers else ""
    if not outer and not head.keys & {"version", "id"}:
        return False
    return any(
        f"{outer}{key}.{spelling}" in head.shape
        for name in SESSION_NAMES
        for key in _spellings(name)
        for mark in MARKS
        for spelling in _spellings(mark)
    )


def _spellings(name: str) -> tuple[str, str]:
    return name, name.replace("-", "_")


def _is_binary_record(data: bytes) -> bool:
    """CBOR whose first item is a map or a tag we know, with the names of a record or of its metadata inside."""
    if not data.startswith(TAGGED) and not (data[:1] and 0xA0 <= data[0] <= 0xBF):
        return False
    return b"session" in data and (b"agent-meta" in data or b"session-id" in data or b"session_id" in data)


def open_record(source: BinaryIO, notes: Notes) -> OpenedRecord:
    """The record in a stream. Raises ``FormatError`` for what holds none."""
    opened = OpenedRecord({})
    stream, magic, zipped = unzipped(source)
    opened.forms += ["gzip"] if zipped else []
    if not magic:
        raise FormatError("This file is empty.")
    if magic[0] >= 0xA0 and magic != b"\xef\xbb" and magic not in (b"\xff\xfe", b"\xfe\xff"):
        value = _binary(stream.read(LARGEST + 1), opened, notes)
    else:
        value, opened.elided = load_json(stream, notes, "VAC record")
    if not isinstance(value, dict):
        raise FormatError(f"This is no VAC record: it holds {shown(value)}, not a map.")
    opened.record = value
    return opened


def unzipped(source: BinaryIO) -> tuple[Any, bytes, bool]:
    """The stream without gzip, its first two bytes, and whether there was any."""
    magic = source.read(2)
    source.seek(0)
    if magic != b"\x1f\x8b":
        return source, magic, False
    magic = Unzipped(source).read(2)
    source.seek(0)
    return Unzipped(source), magic, True


def _binary(data: bytes, opened: OpenedRecord, notes: Notes) -> Json:
    if len(data) > LARGEST:
        raise FormatError(f"This CBOR file is larger than {LARGEST:,} bytes; it cannot be held in memory.")
    value = _from_cbor(data, notes)
    if data.startswith(SIGN1) and isinstance(value, list) and len(value) == 4:
        opened.forms.append("cose")
        return _signed(value, opened, notes)
    opened.forms.append("cbor")
    return value


def _from_cbor(data: bytes, notes: Notes) -> Json:
    doubled: list[str] = []
    try:
        value = cbor.loads(data, doubled=doubled)
    except ValueError as error:
        raise FormatError(f"This is not readable as CBOR: {error}.") from None
    report_in_cbor(doubled, notes, "")
    notes.marked = notes.marked or MARK in data
    return value


def _signed(parts: list[Json], opened: OpenedRecord, notes: Notes) -> Json:
    """The payload of ``[protected, unprotected, payload, signature]`` (VAC s3.11); who signed is a claim."""
    protected, unprotected, payload, _ = parts
    opened.signature = Signature("uncheckable", detail=f"{NOT_CHECKED}{_claimed(protected)}", uncovered=(BESIDE,))
    opened.claims = dict_of(dict_of(unprotected).get("100"))
    if payload is None:
        raise FormatError(
            "This is a signature without the record that was signed (a detached COSE_Sign1): import the record itself.",
            opened.signature,
        )
    try:
        data = decode_base64(payload)[0]
    except ValueError as error:
        raise FormatError(f"The payload of this COSE_Sign1 is no byte string: {error}.", opened.signature) from None
    _check_hash(data, opened.claims, notes)
    if data[:1] and data[0] >= 0xA0:
        opened.forms.append("cbor")
        return _from_cbor(data, notes)
    return parse_json(data, notes, "", "VAC record")


def _claimed(protected: Json) -> str:
    """Issuer and subject of the CWT claims (label 15) in the protected header."""
    try:
        header = dict_of(cbor.loads(decode_base64(protected)[0]))
    except ValueError:
        return " Its protected header cannot be read."
    claims = dict_of(header.get("15"))
    parts = [f"{name} {shown(value)}" for name, value in (("by", claims.get("1")), ("for", claims.get("2"))) if value]
    return f" It claims to be {' '.join(parts)}." if parts else ""


def _check_hash(data: bytes, claims: dict[str, Json], notes: Notes) -> None:
    """The hash beside the signature proves nothing, but a wrong one tells of another payload."""
    stated = text_or_none(claims.get("content-hash"))
    if stated and claims.get("content-hash-alg") in (None, "sha-256") and stated != hashlib.sha256(data).hexdigest():
        message = (
            f"The metadata names the hash {shown(stated)} of another payload; the record was changed or exchanged."
        )
        notes.warn("R97", "", message)
