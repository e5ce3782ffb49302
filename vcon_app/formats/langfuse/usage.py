"""Tokens and costs of an observation."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import Usage
from ..common.documents import dollars
from ..common.usage import first_count, uncached_if_inside
from ..common.values import count_of, dict_of

READ = ("input_cache_read", "input_cached_tokens", "input_cached", "cache_read_input_tokens")
WRITTEN = ("input_cache_creation", "input_cache_write", "cache_creation_input_tokens")
REASONING = ("output_reasoning", "output_reasoning_tokens", "reasoning_tokens")


def usage_of(observation: dict[str, Any]) -> Usage | None:
    """``usageDetails``, in older exports ``usage``; ``None`` when they count nothing.

    Langfuse's counts do not overlap (its models are priced by each of them), unless input and output alone are
    already the total. Names with a dot are details of another count, as OpenInference writes them.
    """
    details = dict_of(observation.get("usageDetails")) or dict_of(observation.get("usage"))
    sent, output = count_of(details.get("input")), count_of(details.get("output"))
    read, written, reasoning = (first_count(details, *names) for names in (READ, WRITTEN, REASONING))
    if all(count is None for count in (sent, output, read, written, reasoning)):
        return None
    inside = (sent or 0) + (output or 0) == count_of(details.get("total"))
    if inside:
        sent = uncached_if_inside(sent, read, written)
    if not inside and reasoning:
        output = (output or 0) + reasoning
    return Usage(sent, read, written, output, reasoning)


def cost_of(observation: dict[str, Any]) -> Decimal | None:
    """US dollars that Langfuse computed or was told; its 0 without details means that it knows no price."""
    details = dict_of(observation.get("costDetails"))
    stated = details.get("total") if details else observation.get("calculatedTotalCost")
    return dollars(stated)
