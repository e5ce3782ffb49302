"""Short ways to read and write bare VAC records in tests."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

from cbor2 import dumps as cbor

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, Losses, SessionDraft
from vcon_app.formats import vac

from ..vcon_tools import Log

__all__ = ["OPTIONS", "SAMPLE", "cbor", "drafts", "record", "session_and_events", "sign1", "written"]
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


def sign1(payload: bytes | None, claims: dict[Any, Any], metadata: dict[str, Any]) -> bytes:
    """A COSE_Sign1 (tag 18) with an empty signature: nobody checks it while reading."""
    return b"\xd2" + cbor([cbor({1: -8, 15: claims}), {100: metadata}, payload, b"\0" * 64])
