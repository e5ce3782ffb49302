"""Short ways to read and write product graphs in tests."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, Finding, Losses, SessionDraft
from vcon_app.formats import upg

from ..vcon_tools import Log

SAMPLE = SAMPLES / "upg" / "kiln.upg"
OPTIONS = {"created_at": datetime(2026, 6, 1, 12, tzinfo=UTC), "product_version": "1.0"}


def graph() -> dict[str, Any]:
    """Our sample, to be changed by a test."""
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


def of_one(**changes: Any) -> dict[str, Any]:
    """A small graph with one session."""
    node = {"id": "s", "type": "agent_session", "title": "S", **changes}
    return {"upg_version": "0.41.0", "exported_at": "2026-01-01T00:00:00Z", "source": {"tool": "t"},
            "product": {"id": "p", "title": "P"}, "nodes": [node], "edges": []}  # fmt: skip


def drafts(document: Any) -> list[Draft]:
    return list(upg.read(io.BytesIO(document if isinstance(document, bytes) else json.dumps(document).encode())))


def sessions(document: Any) -> list[tuple[SessionDraft, list[EventDraft]]]:
    """Each session with its events, as a database would give it back: it orders the keys of JSON by length."""
    found: list[tuple[SessionDraft, list[EventDraft]]] = []
    for draft in drafts(document):
        if isinstance(draft, SessionDraft):
            found.append((replace(draft, record=reordered(draft.record)), []))
        elif isinstance(draft, EventDraft):
            found[-1][1].append(replace(draft, data=reordered(draft.data)))
    return found


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in sorted(value, key=lambda key: (len(key), key))}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def rules(document: Any) -> dict[str, Finding]:
    """The first finding of each rule."""
    found: dict[str, Finding] = {}
    for draft in drafts(document):
        if isinstance(draft, Finding):
            found.setdefault(draft.rule, draft)
    return found


def written(session: SessionDraft, events: list[EventDraft], losses: Losses | None = None, **options: Any) -> bytes:
    given = {**OPTIONS, **options}
    return b"".join(upg.write(session, Log(events), Losses() if losses is None else losses, options=given))
