"""What is read of a file that one format, and no other, must claim."""

from __future__ import annotations

import io

from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, SessionDraft


def told(data: bytes, name: str) -> list[Draft]:
    """What is read of a file that must be taken for a format."""
    assert registry.detect(io.BytesIO(data))[0] == name
    return list(registry.reader(name).read(io.BytesIO(data)))


def events(drafts: list[Draft]) -> list[EventDraft]:
    return [draft for draft in drafts if isinstance(draft, EventDraft)]


def tokens(drafts: list[Draft]) -> list[int | None]:
    """Input, cache read, cache written and output of all events."""
    used = [event.usage for event in events(drafts) if event.usage]
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return [sum(getattr(usage, name) or 0 for usage in used) for name in names]


def session(drafts: list[Draft]) -> SessionDraft:
    return [draft for draft in drafts if isinstance(draft, SessionDraft)][-1]
