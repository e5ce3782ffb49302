"""Content blocks of the Anthropic API that hold no text."""

from __future__ import annotations

from typing import Any

from ..common.values import dict_of, scalars_of, text_of


def attachment(block: dict[str, Any]) -> dict[str, Any]:
    """What a picture or document block is, without its payload: type, media type, decoded bytes."""
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
