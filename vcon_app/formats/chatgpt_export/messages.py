"""The event of a message: by author, recipient, channel and type of content."""

from __future__ import annotations

from typing import Any

import orjson

from ...drafts import EventDraft, Json, Kind, ToolDraft
from ..common.calls import ID_LIMIT, Call, id_of
from ..common.lines import Actor, Line
from ..common.reading import Findings, unknown_event
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .content import KNOWN, LISTED, attachments, plain, readable

AGENT: Actor = ("agent", "ChatGPT")
CONTEXTS = ("user_editable_context", "model_editable_context")
THOUGHTS = ("thoughts", "reasoning_recap")
EVERYBODY = (None, "", "all", "assistant", "user")
"""Recipients that are no tool."""
HIDDEN = "is_visually_hidden_from_conversation"
SHOWN_METADATA = (
    "thinking_effort",
    "finished_duration_sec",
    "duration_ms",
    "durationMs",
    "command",
    "reasoning_status",
)
RAN_WELL, RAN_BADLY = ("success", "finished"), ("failed", "error", "timeout", "cancelled")
NAMES: dict[str, Kind] = {"user": "user_message", "assistant": "agent_message", "system": "system"}


def message_event(findings: Findings, line: Line, running: Call | None) -> EventDraft:
    """The event of a message; ``running`` is the call that a result here belongs to."""
    message = line.value
    role = dict_of(message.get("author")).get("role")
    content = dict_of(message.get("content"))
    kind = content.get("content_type")
    text = readable(content)
    if role not in (*NAMES, "tool") or (kind not in KNOWN and not text and role != "tool"):
        what = f"role {role[:100]!r}" if isinstance(role, str) and role not in NAMES else _type_of(kind)
        return unknown_event(findings, line, what)
    if kind not in KNOWN:
        findings.unknown(_type_of(kind), line.pointer)
    if role == "tool":
        return _result(line, content, text, running)
    if role == "assistant" and message.get("recipient") not in EVERYBODY and kind not in THOUGHTS:
        return _call(line, content, text)
    return _message_event(line, role, content, text)


def _type_of(kind: Any) -> str:
    return f"content type {kind[:100]!r}" if isinstance(kind, str) else "content without a type"


def _message_event(line: Line, role: str, content: dict[str, Any], text: str) -> EventDraft:
    message, metadata = line.value, dict_of(line.value.get("metadata"))
    kind = _kind(role, content.get("content_type"), message.get("channel"), metadata)
    text, marks = plain(text)
    data = _data(message, content)
    if marks:
        data["references"] = marks
    if kind == "reasoning" and not text:
        data["not_recorded"] = True
    actor: Actor = AGENT if role == "assistant" else ("person", "") if kind == "user_message" else ("system", "")
    return line.event(kind, text, actor=actor, model=_model(message), data=data)


def _kind(role: str, kind: Any, channel: Any, metadata: dict[str, Any]) -> Kind:
    if kind == "system_error":
        return "error"
    if kind in CONTEXTS or (role == "user" and metadata.get(HIDDEN) is True):
        return "injected_context"
    if kind in THOUGHTS or (role == "assistant" and channel == "analysis"):
        return "reasoning"
    return NAMES[role]


def _call(line: Line, content: dict[str, Any], text: str) -> EventDraft:
    """A message to a tool. What it says are the arguments: JSON, or code."""
    message = line.value
    tool = ToolDraft(None, id_of(message.get("recipient")), None, bounded(_arguments(text), len(line.raw)))
    return line.event("tool_call", actor=AGENT, tool=tool, model=_model(message), data=_data(message, content))


def _arguments(text: str) -> Json:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value if isinstance(value, (dict, list)) else text


def _result(line: Line, content: dict[str, Any], text: str, running: Call | None) -> EventDraft:
    message = line.value
    name = id_of(dict_of(message.get("author")).get("name")) or (running.name if running else None)
    tool = ToolDraft(None, name, status=_status(content, dict_of(message.get("metadata"))))
    text, _ = plain(text)
    return line.event(
        "tool_result", text, actor=("tool", name or ""), parent=running.key if running else None, tool=tool,
        data=_data(message, content),
    )  # fmt: skip


def _status(content: dict[str, Any], metadata: dict[str, Any]) -> str | None:
    """How a tool ended, where the file says so: code that ran states it, errors have a type of their own."""
    if content.get("content_type") == "system_error":
        return "error"
    stated = text_of(dict_of(metadata.get("aggregate_result")).get("status"))
    if stated.startswith(RAN_BADLY):
        return "error"
    return "ok" if stated.startswith(RAN_WELL) else None


def _data(message: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """What a badge shows: the type, the channel, why it stopped, pages that were cited, files."""
    metadata = dict_of(message.get("metadata"))
    kind, status = content.get("content_type"), message.get("status")
    stop = dict_of(metadata.get("finish_details")).get("type")
    data = scalars_of({
        "type": kind if kind not in (None, "text", "multimodal_text") else None,
        "language": content.get("language") if content.get("language") != "unknown" else None,
        "error": content.get("name") if kind == "system_error" else None,
        "channel": message.get("channel"),
        "status": status if status != "finished_successfully" else None,
        "stop_reason": stop if stop != "stop" else None,
        "hidden": metadata.get(HIDDEN) or None,
        "outside_of_context": message.get("weight") == 0 or None,
        **{name: metadata.get(name) for name in SHOWN_METADATA},
    })  # fmt: skip
    if cited := _citations(metadata):
        data["citations"] = cited
    if held := attachments(message):
        data["attachments"] = held
    return data


def _citations(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    told = (dict_of(item) for item in list_of(metadata.get("citations")) or list_of(metadata.get("content_references")))
    pages = (scalars_of(dict_of(item.get("metadata")) or item, frozenset({"extra", "matched_text"})) for item in told)
    return [page for page in pages if page][:LISTED]


def _model(message: dict[str, Any]) -> str | None:
    return text_of(dict_of(message.get("metadata")).get("model_slug"))[:ID_LIMIT] or None
