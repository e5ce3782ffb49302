"""One piece of a message, in whatever words a vendor or a framework put it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..calls import id_of
from ..jsonio import Unreadable, dumps, loads
from ..values import dict_of, list_of, scalars_of, text_of

Kind = Literal["text", "reasoning", "call", "result", "other"]
TEXTS = ("text", "input_text", "output_text", "refusal")
THOUGHTS = ("reasoning", "thinking", "thought")
CALLS = ("tool_call", "tool-call", "tool_use", "function_call", "toolCall")
RESULTS = ("tool_call_response", "tool-result", "tool_result", "function_call_output", "tool_response")
PAYLOADS = frozenset({"data", "base64", "content", "blob", "image_url", "url"})
"""Bytes of pictures, and addresses that may hold them: told by type and size elsewhere, never kept twice."""


@dataclass(frozen=True, slots=True)
class Part:
    """Text, a thought, a call with its arguments, a result with what it brought, or something else (a picture)."""

    kind: Kind
    text: str = ""
    call_id: str | None = None
    name: str | None = None
    value: Any = None
    failed: bool | None = None


def parts_of(content: Any) -> list[Part]:
    """The parts of ``content``, which may be a text, a list of parts, or one part."""
    if isinstance(content, str):
        return [Part("text", content)] if content else []
    return [part for item in (content if isinstance(content, list) else [content]) if (part := _part(item))]


def _part(item: Any) -> Part | None:
    if isinstance(item, str):
        return Part("text", item) if item else None
    if not isinstance(item, dict):
        return None
    kind = item.get("type")
    if kind in THOUGHTS:
        return Part("reasoning", _thought(item))
    if kind in RESULTS or _first(item, "functionResponse", "function_response") is not None:
        return result_of(item)
    if kind in CALLS or {"toolCallId", "toolName"} <= item.keys() or _function(item):
        return call_of(item)
    text = _first(item, "text", "content", "refusal")
    if isinstance(text, str) and (kind in TEXTS or kind is None):
        return _text_part(item, text)
    return Part("other", value=scalars_of(item, PAYLOADS) or None)


def _text_part(item: dict[str, Any], text: str) -> Part | None:
    thought = item.get("thought") is True  # Gemini's
    return Part("reasoning" if thought else "text", text) if text else None


def call_of(item: dict[str, Any]) -> Part:
    """A call as OpenTelemetry, OpenAI, Anthropic, Gemini, LangChain or the AI SDK write it."""
    inner = _function(item)
    call_id = id_of(_first(item, "id", "call_id", "toolCallId", "tool_call_id") or inner.get("id"))
    if item.get("type") == "function_call":
        call_id = id_of(item.get("call_id")) or call_id
    name = id_of(_first(item, "name", "toolName") or inner.get("name"))
    given = [_first(holder, "arguments", "input", "args") for holder in (item, inner)]
    return Part("call", "", call_id, name, parsed_if_json(next((x for x in given if x is not None), None)))


def result_of(item: dict[str, Any]) -> Part:
    """A tool's result, written in any of the same ways."""
    inner = dict_of(_first(item, "functionResponse", "function_response"))
    call_id = id_of(_first(item, "tool_call_id", "tool_use_id", "call_id", "toolCallId", "id") or inner.get("id"))
    name = id_of(_first(item, "name", "toolName") or inner.get("name"))
    brought = parsed_if_json(
        _first(item, "response", "result", "output", "content") if not inner else inner.get("response")
    )
    failed = item.get("is_error", item.get("isError"))
    text, value = readable(brought)
    return Part("result", text, call_id, name, value, failed if isinstance(failed, bool) else None)


def readable(brought: Any) -> tuple[str, Any]:
    """A result as text where it is one, else as it is."""
    if isinstance(brought, dict) and set(brought) == {"type", "value"}:  # the AI SDK 5
        brought = brought["value"]
    if isinstance(brought, str):
        return brought, None
    items = [dict_of(item) for item in list_of(brought)]
    texts = [item["text"] for item in items if isinstance(item.get("text"), str)]
    if texts and len(texts) == len(items) and all(item.keys() <= {"type", "text"} for item in items):
        return "\n".join(texts), None
    return "", brought


def parsed_if_json(value: Any) -> Any:
    """A value that was written as JSON text, once or twice; other text stays text."""
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = loads(value.encode(errors="replace"))[0]
        except Unreadable:
            return value
    return value


def identity_bytes(part: Part) -> bytes:
    """Bytes that are equal for two parts that are the same when a history is sent again."""
    return dumps([part.kind, part.text.strip(), part.call_id, part.name, part.value])


def _function(item: dict[str, Any]) -> dict[str, Any]:
    return dict_of(_first(item, "function", "functionCall", "function_call"))


def _thought(item: dict[str, Any]) -> str:
    summaries = [text_of(dict_of(entry).get("text")) for entry in list_of(item.get("summary"))]
    return text_of(_first(item, "content", "text", "thinking")) or "\n\n".join(filter(None, summaries))


def _first(item: dict[str, Any], *names: str) -> Any:
    return next((item[name] for name in names if item.get(name) is not None), None)
