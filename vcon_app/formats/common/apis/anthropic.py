"""Content of the Anthropic API: the text of its blocks, and the blocks that hold none."""

from __future__ import annotations

from typing import Any

from ..values import dict_of, scalars_of, text_of


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
