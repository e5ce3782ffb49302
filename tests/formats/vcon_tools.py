"""Short ways to read, write and compare vCons in tests."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import places
from vcon_app.drafts import Draft, EventDraft, Finding, Losses, SessionDraft, Signature
from vcon_app.formats import vcon

SAMPLES = places.SAMPLES / "vcon"
CORPUS = places.CORPUS
NEW_UUID = "0199d2aa-4c00-8fff-9f3c-5a1d0e7b2cff"
CREATED = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
needs_corpus = pytest.mark.skipif(
    not (CORPUS / "vcon-spec-examples").is_dir(), reason="the corpus ../shared/corpus is not here"
)


def sample(name: str) -> dict[str, Any]:
    """One of our samples as JSON, to be changed by a test."""
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


def bytes_of(document: Any) -> bytes:
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def drafts(document: Any) -> list[Draft]:
    """All drafts of a document, given as bytes or as JSON."""
    return list(vcon.read(io.BytesIO(bytes_of(document))))


def events(found: list[Draft]) -> list[EventDraft]:
    return [draft for draft in found if isinstance(draft, EventDraft)]


def findings(found: list[Draft], rule: str = "") -> list[Finding]:
    return [draft for draft in found if isinstance(draft, Finding) and draft.rule.startswith(rule)]


def signature(found: list[Draft]) -> Signature | None:
    return next((draft for draft in found if isinstance(draft, Signature)), None)


def sessions(found: list[Draft]) -> list[tuple[SessionDraft, list[EventDraft]]]:
    """Each session with its events."""
    made: list[tuple[SessionDraft, list[EventDraft]]] = []
    for draft in found:
        if isinstance(draft, SessionDraft):
            made.append((draft, []))
        elif isinstance(draft, EventDraft):
            made[-1][1].append(draft)
    return made


def session(found: list[Draft]) -> SessionDraft:
    return sessions(found)[0][0]


class Log:
    """Events as a writer gets them: to be walked again and again, counting how often."""

    def __init__(self, held: list[EventDraft]) -> None:
        self._held = held
        self.walks = 0

    def __iter__(self) -> Iterator[EventDraft]:
        self.walks += 1
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def written(draft: SessionDraft, held: list[EventDraft], losses: Losses | None = None, **options: Any) -> bytes:
    """The bytes of a vCon."""
    given = {"uuid": NEW_UUID, "created_at": CREATED, "product_version": "1.0", **options}
    return b"".join(vcon.write(draft, Log(held), losses if losses is not None else Losses(), options=given))


def model(event: EventDraft) -> tuple[Any, ...]:
    """What has to survive a way out and back."""
    return (
        event.kind,
        event.text,
        event.tool,
        event.usage,
        event.cost,
        event.model,
        event.at,
        event.depth,
        event.actor_kind,
        event.actor_name,
    )
