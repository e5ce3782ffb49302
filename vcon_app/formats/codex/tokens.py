"""Tokens of a rollout: running totals, told again and again whether they changed or not.

A real file of 629 lines states 102,315 output tokens when each ``token_count`` is added; its final total, and the
truth, is 51,509. So the last response is counted only when the total moved.
"""

from __future__ import annotations

from typing import Any

from ...drafts import Usage
from ..common.usage import uncached
from ..common.values import count_of, dict_of

FIELDS = (
    "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens",
    "total_tokens",
)  # fmt: skip
Counts = dict[str, int]


class Totals:
    """Turns running totals into the tokens of single responses."""

    def __init__(self) -> None:
        self.last: Counts = {}
        """The latest total that the file states."""
        self._counted = 0
        self._before = 0
        """Total tokens of what was copied from a parent."""

    def usage_of_step(self, payload: dict[str, Any], quality: str = "final") -> Usage | None:
        """Tokens of the response this ``token_count`` reports; ``None`` when it reports none, or again the same."""
        info = dict_of(payload.get("info"))
        total, last = _counts(info.get("total_token_usage")), _counts(info.get("last_token_usage"))
        # Codex repeats token_count without a new response; equal running totals tell the repeat.
        if total and total == self.last:
            return None
        # Older versions state the running total only.
        last = last or self._difference(total)
        self.last = total or self.last
        self._counted += _sum(last)
        return usage_of(last, quality) if last else None

    def note_copied_total(self, payload: dict[str, Any]) -> None:
        """A total among the copied lines of a parent: known from now on, not counted."""
        if total := _counts(dict_of(payload.get("info")).get("total_token_usage")):
            self.last = total
            self._before = _sum(total)

    def difference(self) -> str:
        """What to tell when the responses do not add up to the final total, else ``""``."""
        stated = _sum(self.last) - self._before
        if not self.last or stated == self._counted:
            return ""
        return f"the file states {stated} tokens in total, its responses add up to {self._counted}; those are counted"

    def _difference(self, total: Counts) -> Counts:
        """From the total before; a total that fell was set back to 0 in between."""
        # The running totals may start again at 0; a negative difference would be no count.
        fell = any(total.get(name, 0) < self.last.get(name, 0) for name in ("input_tokens", "output_tokens"))
        before = {} if fell else self.last
        return {name: max(count - before.get(name, 0), 0) for name, count in total.items()}


def usage_of(counts: Counts, quality: str) -> Usage:
    """Codex counts both caches inside ``input_tokens``, and reasoning inside ``output_tokens``."""
    cached, written = counts.get("cached_input_tokens"), counts.get("cache_write_input_tokens")
    given = counts.get("input_tokens")
    return Usage(
        input_tokens=uncached(given, cached, written),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=counts.get("output_tokens"),
        reasoning_tokens=counts.get("reasoning_output_tokens"),
        quality=quality,
    )


def _counts(value: Any) -> Counts:
    return {name: count for name in FIELDS if (count := count_of(dict_of(value).get(name))) is not None}


def _sum(counts: Counts) -> int:
    return counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
