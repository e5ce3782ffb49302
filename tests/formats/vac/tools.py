"""Short ways to read and write bare VAC records in tests, and the little CBOR that it takes to make some."""

from __future__ import annotations

import io
import json
import struct
from datetime import UTC, datetime
from typing import Any

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, Losses, SessionDraft
from vcon_app.formats import vac

from ..vcon_tools import Log

SAMPLE = SAMPLES / "vac" / "harbour.vac.json"
OPTIONS = {"uuid": "0199d2aa-4c00-8fff-9f3c-5a1d0e7b2cff", "created_at": datetime(2026, 6, 1, tzinfo=UTC)}


def record() -> dict[str, Any]:
    """Our sample, to be changed by a test."""
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def drafts(document: Any) -> list[Draft]:
    """All drafts of a record, given as bytes or as JSON."""
    return list(vac.read(io.BytesIO(document if isinstance(document, bytes) else json.dumps(document).encode())))


def session_and_events(document: Any) -> tuple[SessionDraft, list[EventDraft]]:
    found = drafts(document)
    (session,) = [draft for draft in found if isinstance(draft, SessionDraft)]
    return session, [draft for draft in found if isinstance(draft, EventDraft)]


def written(session: SessionDraft, events: list[EventDraft], losses: Losses | None = None) -> bytes:
    """The bytes of a record."""
    return b"".join(vac.write(session, Log(events), Losses() if losses is None else losses, options=OPTIONS))


def cbor(value: Any) -> bytes:
    """One CBOR item (RFC 8949)."""
    if isinstance(value, bool) or value is None:
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[value]
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return _head(4, len(value)) + b"".join(map(cbor, value))
    return _head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())


def _head(major: int, size: int) -> bytes:
    for info, limit in ((24, 1 << 8), (25, 1 << 16), (26, 1 << 32), (27, 1 << 64)):
        if size < 24:
            return bytes([major << 5 | size])
        if size < limit:
            return bytes([major << 5 | info]) + size.to_bytes(1 << (info - 24), "big")
    raise ValueError(size)


def sign1(payload: bytes | None, claims: dict[Any, Any], metadata: dict[str, Any]) -> bytes:
    """A COSE_Sign1 (tag 18) with an empty signature: nobody checks it while reading."""
    return b"\xd2" + cbor([cbor({1: -8, 15: claims}), {100: metadata}, payload, b"\0" * 64])
