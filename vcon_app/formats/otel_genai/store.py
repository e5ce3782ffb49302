"""Spans that Copilot Chat of VS Code keeps in a SQLite file (``traces.db``), as an SDK would print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item
from ..common.sqlite.opening import Row, Store
from ..common.sqlite.rows import json_of, line_of
from ..common.values import dict_of, text_of

COUNTS = {
    "input_tokens": "gen_ai.usage.input_tokens", "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens", "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}  # fmt: skip
"""Columns with numbers, which the attributes hold as text."""

RESPONSE = "gen_ai.response.id"


def is_store(head: Head) -> bool:
    """By its spans with columns for tokens, and a table of their attributes."""
    return head.has_table("spans", "span_id", "trace_id", "name", "input_tokens") and head.has_table(
        "span_attributes", "span_id", "key", "value"
    )


def spans(store: Store) -> Iterator[Item]:
    """Each span as one record, in the order in which they began."""
    attributes = store.numbers("span_attributes", "span_id")
    events = store.numbers("span_events", "span_id", "timestamp_ms")
    for number, row in store.rows("spans", store.all_numbers("spans", "start_time_ms")):
        own = text_of(row.get("span_id"))[:ID_LIMIT]
        held = (pair for _, pair in store.rows("span_attributes", attributes.get(own, [])))
        told = {text_of(pair.get("key")): pair.get("value") for pair in held}
        told |= {name: row[key] for key, name in COUNTS.items() if row.get(key) is not None}
        if told.get(RESPONSE) == row.get("conversation_id"):  # the same for all responses of a turn: it is no id of one
            told.pop(RESPONSE, None)
        happened = [event for _, event in store.rows("span_events", events.get(own, []))]
        yield from line_of(_span(row, told, happened), f"/spans/{number}")


def _span(row: Row, attributes: dict[str, Any], events: list[Row]) -> dict[str, Any]:
    return {
        "traceId": row.get("trace_id"), "spanId": row.get("span_id"), "parentSpanId": row.get("parent_span_id"),
        "name": row.get("name"), "startTimeUnixNano": _nanoseconds(row.get("start_time_ms")),
        "endTimeUnixNano": _nanoseconds(row.get("end_time_ms")),
        "status": {"code": row.get("status_code"), "message": row.get("status_message")}, "attributes": attributes,
        "events": [
            {"name": event.get("name"), "timeUnixNano": _nanoseconds(event.get("timestamp_ms")),
             "attributes": dict_of(json_of(event.get("attributes")))}
            for event in events
        ],
    }  # fmt: skip


def _nanoseconds(milliseconds: Any) -> int | None:
    plain = isinstance(milliseconds, (int, float)) and 0 < milliseconds < 10**14
    return int(milliseconds * 10**6) if plain else None
