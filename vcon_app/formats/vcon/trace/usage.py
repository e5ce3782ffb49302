"""Tokens of a trace entry in the meaning of :class:`Usage`: recorders disagree on what includes what.

Claude Code keeps the cache outside of ``input``, Codex and Gemini CLI inside; reasoning is inside
``output`` for all but Gemini. Where a ``total`` is given it decides, because only one reading adds up.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, NamedTuple

from ....drafts import Json, Usage
from ...common.values import MOST_TOKENS, count_of
from ..file import Notes, shown

NAMES = {
    "input": ("input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input-tokens",
              "prompt-tokens", "promptTokenCount"),
    "output": ("output", "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output-tokens",
               "completion-tokens", "candidatesTokenCount"),
    "cached": ("cached", "cached_input_tokens", "cache_read_input_tokens", "cache-read", "cache_read", "cacheRead",
               "cached_tokens", "cachedTokens", "cached-tokens", "cachedInputTokens", "cachedContentTokenCount",
               "cache_read_tokens", "cacheReadTokens"),
    "written": ("cache_creation_input_tokens", "cache-write", "cache_write", "cacheWrite", "cache_write_tokens",
                "cacheWriteTokens"),
    "reasoning": ("reasoning", "reasoning_output_tokens", "thoughts", "reasoning_tokens", "reasoningTokens",
                  "reasoning-tokens", "thoughtsTokenCount"),
    "tool": ("tool", "toolUsePromptTokenCount"),
    "total": ("total", "total_tokens", "totalTokens", "total-tokens", "totalTokenCount"),
}  # fmt: skip
"""Members of VAC s3.9 first, then the native ones that translators pass through."""
DETAILS = ("prompt_tokens_details", "input_tokens_details", "completion_tokens_details", "output_tokens_details")
"""Maps inside the counts of OpenAI's APIs: ``cached_tokens``, ``reasoning_tokens``."""


class Counts(NamedTuple):
    """The numbers as stated; ``None`` for what is not stated."""

    input: int | None
    output: int | None
    cached: int | None
    written: int | None
    reasoning: int | None
    tool: int | None
    total: int | None


_KNOWN = frozenset().union(*NAMES.values())
_NOTHING = Counts(None, None, None, None, None, None, None)


class Reading(NamedTuple):
    """Does ``input`` include the cache, does ``output`` include the reasoning?"""

    cache_inside: bool
    reasoning_inside: bool


DISJOINT = Reading(False, False)
HABITS = {"anthropic": Reading(False, True), "openai": Reading(True, True), "google": Reading(True, False)}
FAMILIES = {"anthropic": ("claude",), "openai": ("gpt", "codex", "o1", "o3", "o4"), "google": ("gemini",)}


def read_usage(raw: Json, family: str | None, notes: Notes, pointer: str) -> Usage | None:
    """The usage of one response; ``None`` when nothing is stated. ``family`` is that of :func:`provider_family`."""
    if not isinstance(raw, dict) or not raw:
        return None
    for name in DETAILS:
        if isinstance(inner := raw.get(name), dict):
            raw = inner | raw
    names = _spellings_given(tuple([name for name in raw if name in _KNOWN]))
    counts = Counts(*[_count(raw, name, keys, notes, pointer) if keys else None for name, keys in names])
    if counts == _NOTHING:
        return _usage(counts, DISJOINT, raw) if raw.get("x-quality") == "aggregate" else None
    reading = _reading(counts, family, notes, pointer)
    return _usage(counts, reading, raw)


def provider_family(provider: str | None, model: str | None, client: str | None) -> str | None:
    """Whose habits apply, by provider name, else by model or client name."""
    if provider and provider.lower() in HABITS:
        return provider.lower()
    for name in filter(None, (model, client)):
        for known, starts in FAMILIES.items():
            if name.lower().startswith(starts):
                return known
    return None


@lru_cache
def _spellings_given(given: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Each count with those of its names that are given; recorders use a few sets of names, thousands of times."""
    return [(name, [key for key in NAMES[name] if key in given]) for name in Counts._fields]


def _count(raw: dict[str, Any], name: str, keys: list[str], notes: Notes, pointer: str) -> int | None:
    """The first of the members that is not null, when it is a count; a finding (R76) when it is none."""
    value = None
    for key in keys:
        if (value := raw.get(key)) is not None:
            break
    if value is None or (type(value) is int and 0 <= value < MOST_TOKENS):  # most; asked five times for every entry
        return value
    count = count_of(value)
    if count is None:
        notes.warn("R76", pointer, f"The {name} count {shown(value)} is no number of tokens; read as not stated.", name)
    return count


def _reading(counts: Counts, whose: str | None, notes: Notes, pointer: str) -> Reading:
    habit = HABITS.get(whose or "", _guess_reading(counts))
    if counts.total is not None:
        # A stated total is the only proof of how the counts overlap; habits are used without one.
        for reading in (DISJOINT, habit, *HABITS.values()):
            if _sum(counts, reading) == counts.total:
                return reading
        notes.info(
            "R76",
            pointer,
            f"The total {counts.total} is not the sum of the other counts in any known way; "
            f"they are read as {whose or 'most'} recorders write them.",
            "total",
        )
    return Reading(
        habit.cache_inside and (counts.cached or 0) <= (counts.input or 0),
        habit.reasoning_inside and (counts.reasoning or 0) <= (counts.output or 0),
    )


def _guess_reading(counts: Counts) -> Reading:
    """VAC s3.9 calls cached "cached input tokens": inside, unless Claude's own keys stand beside."""
    return HABITS["anthropic"] if counts.written is not None else HABITS["openai"]


def _sum(counts: Counts, reading: Reading) -> int | None:
    """What the total would be; ``None`` when more came from the cache than the input that is said to include it.

    More reasoning than output is no fault of a sum: Copilot CLI states the outputs of a leg with its messages, and the
    reasoning of all of them with a last record that has none.
    """
    cached, reasoning = counts.cached or 0, counts.reasoning or 0
    if reading.cache_inside and cached > (counts.input or 0):
        return None
    total = (counts.input or 0) + (counts.output or 0) + (counts.tool or 0)
    total += (0 if reading.cache_inside else cached + (counts.written or 0)) + (
        0 if reading.reasoning_inside else reasoning
    )
    return total


def _usage(counts: Counts, reading: Reading, raw: dict[str, Any]) -> Usage:
    fresh = counts.input
    if fresh is not None and reading.cache_inside:
        fresh -= counts.cached or 0
    if counts.tool:
        fresh = (fresh or 0) + counts.tool
    output = counts.output
    if output is not None and not reading.reasoning_inside:
        output += counts.reasoning or 0
    split = raw.get("cache_creation")
    hour = split.get("ephemeral_1h_input_tokens") if isinstance(split, dict) else None
    quality = raw.get("x-quality")
    return Usage(
        fresh,
        counts.cached,
        counts.written,
        output,
        counts.reasoning,
        hour if type(hour) is int and hour >= 0 else None,
        quality if quality in ("placeholder", "interrupted", "estimated", "aggregate") else "final",
    )


def read_cost(raw: Json, notes: Notes, pointer: str) -> Decimal | None:
    """``cost`` in US dollars by definition (VAC s3.9), of the same response as the counts."""
    value = raw.get("cost") if isinstance(raw, dict) else None
    if value is None:
        return None
    if type(value) is float and 0 <= value < 10**9:
        return Decimal(str(value))
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        cost = Decimal("NaN")
    if isinstance(value, bool) or not cost.is_finite() or not 0 <= cost < 10**9:
        notes.warn("R76", pointer, f"The cost {shown(value)} is no amount of US dollars; read as not stated.", "cost")
        return None
    return cost


def cumulative(raw: Json) -> dict[str, Any] | None:
    """Codex's running total (``total_token_usage``), which must never be added up."""
    total = raw.get("total_token_usage") if isinstance(raw, dict) else None
    return total if isinstance(total, dict) else None
