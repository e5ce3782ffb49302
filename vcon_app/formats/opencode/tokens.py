"""Tokens of a response and what OpenCode says it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import EventDraft, Usage
from ..common.lines import Line, fingerprint
from ..common.values import count_of, dict_of, number_of
from .reading import OpenCodeReading

MOST_DOLLARS = 10**6


def billed(
    reading: OpenCodeReading, line: Line, told: dict[str, Any], path: str, model: str | None, data: dict[str, Any]
) -> EventDraft:
    tokens, dollars = told.get("tokens"), number_of(told.get("cost"), MOST_DOLLARS)
    usage = usage_of(tokens) if isinstance(tokens, dict) else None
    cost = None if dollars is None else Decimal(str(dollars))
    place: dict[str, Any] = {"part": f":tokens:{fingerprint([tokens, dollars])}", "at_path": path}
    return line.event(
        "model_request", actor=reading.agent, model=model, usage=usage, cost=cost, request=line.key, data=data, **place
    )


def usage_of(tokens: dict[str, Any]) -> Usage:
    """Both caches stand beside ``input``. ``reasoning`` stands beside ``output`` and is billed as output."""
    cache, output, reasoning = (
        dict_of(tokens.get("cache")),
        count_of(tokens.get("output")),
        count_of(tokens.get("reasoning")),
    )
    return Usage(
        input_tokens=count_of(tokens.get("input")),
        cache_read_tokens=count_of(cache.get("read")),
        cache_write_tokens=count_of(cache.get("write")),
        output_tokens=None if output is None and reasoning is None else (output or 0) + (reasoning or 0),
        reasoning_tokens=reasoning,
    )
