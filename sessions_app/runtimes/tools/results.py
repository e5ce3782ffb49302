"""Results of tools as text for the model and the log: bounded, with a note where something is left out."""

from __future__ import annotations

from typing import Any

import orjson
from mcp.types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent
from pydantic_core import PydanticSerializationError, to_json

from sessions_app.runtimes.calls import Result
from sessions_app.services.log.sanitise import storable, text

MAX_TEXT = 100_000
"""Characters of a result: about 25,000 tokens, which every later request of the session pays for again."""


def limited(said: str) -> str:
    """The text, or its beginning and a note of how much is left out."""
    if len(said) <= MAX_TEXT:
        return said
    return f"{said[: MAX_TEXT - 200]}\n[cut here: the result has {len(said):,} characters; ask for less at once]"


def of_text(said: str, status: str = "ok", **data: Any) -> Result:
    """A result that is text, whatever characters it holds."""
    whole = text(limited(said)) or ""
    cut = {"characters": len(said)} if len(said) > MAX_TEXT else {}
    return Result(whole, status, data=cut | data)


def of_value(value: Any) -> Result:
    """Result that a Python function returned: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return of_text(value)
    try:
        return of_text(to_json(value, fallback=str).decode())
    except PydanticSerializationError:  # lone surrogates, cycles
        return of_text(str(value))


def of_mcp(said: CallToolResult) -> Result:
    """Result of an MCP tool: text and structured content, each once; everything that is no text is named."""
    parts = [_part(block) for block in said.content]
    structured = said.structured_content
    if structured is not None and not any(_is(structured, part) for part in parts):
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


def _is(structured: Any, part: str) -> bool:
    """Whether a part says the same; servers wrap what is no object as ``{"result": ...}``."""
    try:
        parsed = orjson.loads(part)
    except ValueError:
        parsed = part
    return structured in (parsed, {"result": parsed}, {"result": part})
