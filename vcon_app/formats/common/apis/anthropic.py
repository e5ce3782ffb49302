"""Content of the Anthropic API: the text of its blocks, and the blocks that hold none; tokens of its responses."""

from __future__ import annotations

from typing import Any

from ....drafts import Usage
from ..values import MOST_TOKENS, count_of, dict_of, scalars_of, text_of


def attachment(block: dict[str, Any]) -> dict[str, Any]:
    """Facts of a picture or document block, without its payload: type, media type, decoded bytes."""
    source = dict_of(block.get("source"))
    data = text_of(source.get("data"))
    found: dict[str, Any] = {
        "type": text_of(block.get("type"))[:50],
        "media_type": text_of(source.get("media_type"))[:100] or None,
    }
    if source.get("type") == "text":
        found["bytes"] = len(data.encode())
    elif data:
        found["bytes"] = len(data) * 3 // 4 - data[-2:].count("=")
    return found | scalars_of({"url": source.get("url"), "title": block.get("title")})


def readable(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Text of a result, and what is in it that is no text (without payloads)."""
    if isinstance(content, str):
        return content, []
    blocks = [dict_of(block) for block in content] if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "\n".join(texts), [attachment(block) for block in blocks if not isinstance(block.get("text"), str)]


def usage_of(message: dict[str, Any]) -> Usage | None:
    """The usage object of a response, ``None`` without one. Claude Code leaves a count out when it is 0.

    Both cache counts stand beside ``input_tokens`` (they are not part of it); thinking is inside
    ``output_tokens``.
    """
    usage = message.get("usage")
    if not isinstance(usage, dict) or not usage:
        return None
    split, details = dict_of(usage.get("cache_creation")), usage.get("output_tokens_details")
    hour = _count(split, "ephemeral_1h_input_tokens") if split else None
    written = _count(usage, "cache_creation_input_tokens") or (hour or 0) + _count(split, "ephemeral_5m_input_tokens")
    return Usage(
        input_tokens=_count(usage, "input_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_tokens=written,
        output_tokens=_count(usage, "output_tokens"),
        reasoning_tokens=count_of(dict_of(details).get("thinking_tokens")) if details else None,
        cache_write_1h_tokens=hour,
    )


def _count(usage: dict[str, Any], name: str) -> int:
    count = usage.get(name)
    return count if type(count) is int and 0 <= count < MOST_TOKENS else count_of(count) or 0
