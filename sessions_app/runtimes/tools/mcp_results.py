"""Results of MCP tools, each once and as text: what is none is named."""

from __future__ import annotations

from typing import Any

import orjson
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from pydantic_core import to_json

from sessions_app.runtimes.calls import Result
from sessions_app.services.log.sanitise import storable

from .results import of_text


def of_mcp(said: CallToolResult) -> Result:
    """Result of an MCP tool: text and structured content, each once; everything that is no text is named."""
    parts = [_part(block) for block in said.content]
    structured = said.structured_content
    if structured is not None and not any(_says_the_same(structured, part) for part in parts):
        parts.append(to_json(structured, fallback=str).decode())
    found = of_text("\n".join(parts), "error" if said.is_error else "ok")
    if structured is not None and not found.data:
        return Result(found.text, found.status, data={"structured": storable(structured)})
    return found


def _part(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4:,} bytes: not shown]"
        case ResourceLink():
            return f"[resource {block.uri} {block.mime_type or ''}]"
        case EmbeddedResource():
            inside = getattr(block.resource, "text", None)
            return inside if inside is not None else f"[resource {block.resource.uri}: binary, not shown]"
    return f"[{getattr(block, 'type', 'unknown')} content: not shown]"


def _says_the_same(structured: Any, part: str) -> bool:
    """Whether a part says the same; servers wrap what is no object as ``{"result": ...}``."""
    try:
        parsed = orjson.loads(part)
    except ValueError:
        parsed = part
    return structured in (parsed, {"result": parsed}, {"result": part})
