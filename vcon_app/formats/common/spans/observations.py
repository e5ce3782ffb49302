"""Tokens and costs of an observation of Langfuse, in its exports and on its spans."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ....drafts import Usage
from ..documents import dollars
from ..usage import first_count, uncached_if_inside
from ..values import dict_of

SENT = ("input", "prompt_tokens", "input_tokens")
OUTPUT = ("output", "completion_tokens", "output_tokens")
TOTAL = ("total", "total_tokens")
DETAILS = ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details")
READ = ("input_cache_read", "input_cached_tokens", "input_cached", "cache_read_input_tokens", "cached_tokens")
WRITTEN = ("input_cache_creation", "input_cache_write", "cache_creation_input_tokens")
REASONING = ("output_reasoning", "output_reasoning_tokens", "reasoning_tokens")


def usage_of(observation: dict[str, Any]) -> Usage | None:
    """``usageDetails``, in older exports ``usage``; ``None`` when they count nothing. A program may have put there what
    a vendor's API answered, as Langfuse's client for OpenAI does.

    Langfuse's counts do not overlap (its models are priced by each of them), unless input and output alone are
    already the total. Names with a dot are details of another count, as OpenInference writes them.
    """
    details = dict_of(observation.get("usageDetails")) or dict_of(observation.get("usage"))
    details = details | {name: count for held in DETAILS for name, count in dict_of(details.get(held)).items()}
    sent, output = first_count(details, *SENT), first_count(details, *OUTPUT)
    read, written, reasoning = (first_count(details, *names) for names in (READ, WRITTEN, REASONING))
    if all(count is None for count in (sent, output, read, written, reasoning)):
        return None
    inside = (sent or 0) + (output or 0) == first_count(details, *TOTAL)
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
