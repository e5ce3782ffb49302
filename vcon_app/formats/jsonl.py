"""JSON Lines: every event of a session as one JSON object a line, in the shape that the API speaks.

No header line: whoever splits at ``\\n`` gets events and nothing else. Write-only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any

from ..drafts import EventDraft, Events, Losses, SessionDraft, ToolDraft, Usage
from .common.jsonio import dumps
from .common.times import rfc3339
from .contract import Spec

NAME = "jsonl"
SPEC = Spec(
    name=NAME,
    title="JSON Lines, one event a line",
    media_type="application/x-ndjson",
    suffix=".events.jsonl",
)

COUNTED = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
"""The four that never overlap and add up to ``total_tokens``."""


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """One line per event. ``options["document"]`` (a SHA-256) is named as the source of each pointer.

    Memory holds the keys of those events that others answer, nothing else of the log.
    """
    seqs: dict[str, int | None] = {event.parent: None for event in events if event.parent}
    turn = 0
    for seq, event in enumerate(events, start=1):
        turn += event.kind == "user_message" and event.depth == 0
        parent_seq = seqs.get(event.parent) if event.parent else None
        if event.parent and parent_seq is None:
            losses.lose("links from an event to the one it answers", "the other event is missing or comes later")
        if event.key in seqs:
            seqs[event.key] = seq
        yield (
            dumps(event_shape(event, seq=seq, turn=turn, parent_seq=parent_seq, document=options.get("document")))
            + b"\n"
        )
    if session.record:
        losses.lose(
            f"parts of the {_names(session.record)} file around the events", "a line holds an event, nothing else"
        )


def event_shape(
    event: EventDraft, *, seq: int, turn: int, parent_seq: int | None = None, document: str | None = None
) -> dict[str, Any]:
    """An event as the API tells it: ``{seq, id, kind, at, turn, actor, text, tool, model, usage, cost, ...}``.

    Times are RFC 3339 in UTC, money is decimal text in US dollars, what is not known is ``None``. ``id`` is
    the event's natural key: the ids of a database mean nothing outside of it.
    """
    return {
        "seq": seq,
        "id": event.key,
        "kind": event.kind,
        "at": rfc3339(event.at) if event.at else None,
        "turn": turn,
        "actor": {"kind": event.actor_kind, "name": event.actor_name},
        "text": event.text,
        "tool": {field.name: getattr(event.tool, field.name) for field in fields(ToolDraft)} if event.tool else None,
        "model": event.model,
        "request": event.request,
        "usage": usage_shape(event.usage) if event.usage else None,
        "cost": cost_shape(event.cost) if event.cost is not None else None,
        "parent_seq": parent_seq,
        "depth": event.depth,
        "data": event.data,
        "source": {"document": document, "pointer": event.pointer} if event.pointer else None,
        "origin": event.origin.kind if event.origin else None,
        "reported_by": (event.origin.reported_by or None) if event.origin else None,
        "received_at": rfc3339(event.origin.received_at) if event.origin and event.origin.received_at else None,
    }


def usage_shape(usage: Usage) -> dict[str, Any]:
    """Token counts with their total: of those that are known, ``None`` when none is."""
    known = [count for name in COUNTED if (count := getattr(usage, name)) is not None]
    counts = {field.name: getattr(usage, field.name) for field in fields(Usage)}
    return {**counts, "total_tokens": sum(known) if known else None}


def cost_shape(cost: Decimal) -> dict[str, Any]:
    """What the recorder stated for the response that the event belongs to."""
    return {"amount": format(cost, "f"), "currency": "USD", "basis": "recorded", "unpriced_tokens": 0}


def _names(record: dict[str, Any]) -> str:
    return ", ".join(sorted(record))
