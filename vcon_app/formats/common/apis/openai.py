"""Content, arguments, tokens and stated cost in the OpenAI APIs, under the names of both APIs and of those who
speak them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson

from ....drafts import Json, Usage
from ..calls import ID_LIMIT
from ..usage import first_count, uncached_if_inside
from ..values import dict_of, list_of, number_of, scalars_of, text_of

MOST_DOLLARS = 10**6
"""More than any response costs: a larger number in a file counts as not stated."""
LISTED = 100
TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
PAYLOADS = frozenset({"type", "data", "file_data", "image_url", "input_audio", "text", "uri", "logprobs"})


def readable(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Text of a message's content, and what in it is no text, without payloads."""
    if isinstance(content, str):
        return content, []
    parts = [part if isinstance(part, dict) else {"text": part, "type": "text"} for part in list_of(content)]
    texts = [text_of(part.get("text")) for part in parts if part.get("type") in TEXTS]
    media = [_media(part) for part in parts if part.get("type") not in (*TEXTS, "refusal")]
    return "\n".join(filter(None, texts)), media[:LISTED]


def arguments_of(value: Any) -> Json:
    """Arguments are JSON in a string. What was cut off (by a limit of tokens) stays text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value) if value.strip() else None
    except orjson.JSONDecodeError:
        return value


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
    """The contradiction in a usage object, in words; "" for none."""
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


def _media(part: dict[str, Any]) -> dict[str, Any]:
    """A picture, sound or file: its kind, and its address where that is no payload."""
    url = part.get("image_url")
    url = text_of(url) or text_of(dict_of(url).get("url")) or text_of(part.get("uri"))
    place = {"url": url} if url and not url.startswith("data:") else {}
    inner = dict_of(part.get("file")) or dict_of(part.get("input_audio"))
    return (
        {"type": text_of(part.get("type"))[:ID_LIMIT] or None}
        | scalars_of(part, PAYLOADS)
        | scalars_of(inner, PAYLOADS)
        | place
    )


def _details(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    """The parts of a count; the Agents SDK writes them as a list of one."""
    for name in names:
        value = usage.get(name)
        if found := dict_of(value) or dict_of(next(iter(list_of(value)), None)):
            return found
    return {}
