"""Tokens: each message states its output, the shutdown of a leg states everything.

The two overlap (the 15 output tokens of a real session's two messages are the 15 of its shutdown), so what the
messages stated counts at the messages, and only the rest of a model's total counts at the shutdown: input and
caches as a rule, and the output of requests that have no message.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import Usage
from ..common.usage import uncached
from ..common.values import count_of, dict_of, forget_oldest, number_of

FIELDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
RECENT = 256
NANO_AIU_PER_DOLLAR = 10**11
"""AI units are cents: a billion nano-units each, a hundred a dollar (since 2026-06-01)."""
CREDITS_SINCE = "2026-06-01"
Counts = dict[str, int]


class Leg:
    """Token counts stated by the responses since the start or the last resume, by model."""

    def __init__(self) -> None:
        self._counted: dict[str, Counts] = {}
        self._requests: dict[str, Counts] = {}

    def add(self, request: str, model: str | None, usage: Usage) -> None:
        """A line of a response; several of one request count as the greatest."""
        before = self._requests.pop(request, {})
        now = {name: max(before.get(name, 0), getattr(usage, name) or 0) for name in FIELDS}
        self._requests[request] = now
        # Lines of one request stand close together, so an old request cannot grow any more.
        forget_oldest(self._requests, RECENT)
        counted = self._counted.setdefault(model or "", {})
        for name, count in now.items():
            counted[name] = counted.get(name, 0) + count - before.get(name, 0)

    def close(self, metrics: dict[str, Any]) -> list[tuple[str, Usage]]:
        """The rest of each model's total, where there is one; the next leg begins."""
        totals = {model: usage_of(dict_of(dict_of(told).get("usage"))) for model, told in metrics.items()}
        stated = {model: usage for model, usage in totals.items() if usage is not None}
        nameless = self._counted.get("", {})
        found = []
        for model, usage in stated.items():
            counted = self._counted.get(model, {})
            rest = {name: self._not_counted(getattr(usage, name), name, counted, nameless) for name in FIELDS}
            if any(rest.values()):
                found.append((model, Usage(**rest, quality="aggregate")))
        self._counted, self._requests = {}, {}
        return found

    def _not_counted(self, total: int | None, name: str, *counted: Counts) -> int | None:
        """Part of a total that no response stated. What the responses did state is used up for the next model."""
        for held in counted:
            if total is not None:
                taken = min(total, held.get(name, 0))
                held[name] = held.get(name, 0) - taken
                total -= taken
        return total


def usage_of(counts: dict[str, Any]) -> Usage | None:
    """Both caches are inside ``inputTokens``, reasoning is inside ``outputTokens``."""
    given, output, reasoning = (count_of(counts.get(f"{name}Tokens")) for name in ("input", "output", "reasoning"))
    read, written = count_of(counts.get("cacheReadTokens")), count_of(counts.get("cacheWriteTokens"))
    if (given, output, reasoning, read, written) == (None,) * 5:
        return None
    return Usage(
        input_tokens=uncached(given, read, written),
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=output,
        reasoning_tokens=reasoning,
    )


def dollars_of(nano: Any, day: str) -> Decimal | None:
    """US dollars of a count of nano AI units, on a day since they are the price."""
    number = number_of(nano, 10**18)
    return None if number is None or day < CREDITS_SINCE else Decimal(str(number)) / NANO_AIU_PER_DOLLAR
