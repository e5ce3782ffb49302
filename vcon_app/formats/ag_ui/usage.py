"""Tokens of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Usage
from ..common.values import count_of, dict_of, list_of

WRITTEN = ("cacheWriteInputTokens", "cacheWriteTokens")


def usages_of(value: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Usage, str]]:
    """Each entry of ``usage`` (one for a provider and model), its tokens, and what is wrong with it ("" nothing).

    ``inputTokens`` contains the cached ones and ``outputTokens`` the reasoning (ag-ui-protocol 1.0). The counts
    are those of all responses of the run.
    """
    for entry in map(dict_of, list_of(value.get("usage"))):
        if entry:
            usage, doubt = _usage(entry)
            yield entry, usage, doubt


def _usage(entry: dict[str, Any]) -> tuple[Usage, str]:
    stated = count_of(entry.get("inputTokens"))
    read = count_of(entry.get("cachedInputTokens"))
    written = next((count for name in WRITTEN if (count := count_of(entry.get(name))) is not None), None)
    cached = (read or 0) + (written or 0)
    doubt = ""
    if stated is not None and cached > stated:
        doubt = f"{cached} cached tokens cannot be part of {stated} input tokens; counted beside them"
        cached = 0
    return Usage(
        input_tokens=None if stated is None else stated - cached,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=count_of(entry.get("outputTokens")),
        reasoning_tokens=count_of(entry.get("reasoningTokens")),
        quality="aggregate",
    ), doubt
