"""Tokens and stated cost of a response, under the names of both APIs and of those who speak them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import Usage
from ..common.usage import first_count, uncached_if_inside
from ..common.values import dict_of, list_of, number_of

MOST_DOLLARS = 10**6
"""More than any response costs: a larger number in a file counts as not stated."""


def usage_of(stated: Any) -> Usage | None:
    """The usage object of a response, ``None`` without one.

    Cached and cache-written tokens are part of the input, reasoning is part of the output (OpenAI API reference).
    Anthropic's names, which proxies pass through, stand beside the input instead.
    """
    usage = dict_of(stated)
    if not usage:
        return None
    total = first_count(usage, "prompt_tokens", "input_tokens", "inputTokenCount")
    details = _details(usage, "prompt_tokens_details", "input_tokens_details")
    read = first_count(details, "cached_tokens")
    read = first_count(usage, "cachedInputTokenCount", "prompt_cache_hit_tokens") if read is None else read
    written = first_count(details, "cache_write_tokens", "cache_creation_tokens")
    fresh = uncached_if_inside(total, read, written)
    if read is None and written is None:
        read, written = first_count(usage, "cache_read_input_tokens"), first_count(usage, "cache_creation_input_tokens")
    thought = first_count(_details(usage, "completion_tokens_details", "output_tokens_details"), "reasoning_tokens")
    return Usage(
        input_tokens=fresh,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=first_count(usage, "completion_tokens", "output_tokens", "outputTokenCount"),
        reasoning_tokens=first_count(usage, "reasoningTokenCount") if thought is None else thought,
    )


def doubt_of(stated: Any) -> str:
    """What cannot be true of a usage object, or ""."""
    usage = dict_of(stated)
    total = first_count(usage, "prompt_tokens", "input_tokens", "inputTokenCount")
    details = _details(usage, "prompt_tokens_details", "input_tokens_details")
    inside = (first_count(details, "cached_tokens") or 0) + (first_count(details, "cache_write_tokens") or 0)
    if total is None or inside <= total:
        return ""
    return f"{inside} cached tokens cannot be part of {total} input tokens; counted beside them"


def cost_of(stated: Any) -> Decimal | None:
    """US dollars that the provider states (OpenRouter's ``usage.cost``)."""
    number = number_of(dict_of(stated).get("cost"), MOST_DOLLARS)
    return None if number is None else Decimal(str(number))


def _details(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    """The parts of a count; the Agents SDK writes them as a list of one."""
    for name in names:
        value = usage.get(name)
        if found := dict_of(value) or dict_of(next(iter(list_of(value)), None)):
            return found
    return {}
