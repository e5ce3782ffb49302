"""Messages that come whole: in a snapshot, or in the input of a run, which repeats what was said before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from ...drafts import EventDraft, Kind, ToolDraft
from ..common.calls import ID_LIMIT, Call, id_of
from ..common.lines import Actor, Line
from ..common.reading import unknown_event
from ..common.records import part_of
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .reading import Reading, by_content, by_id

KINDS: dict[str, Kind] = {
    "user": "user_message", "assistant": "agent_message", "system": "system", "developer": "system",
    "reasoning": "reasoning", "activity": "system",
}  # fmt: skip
ACTORS: dict[Kind, Actor] = {"user_message": ("person", ""), "system": ("system", "")}
LISTED = 100


def whole_messages(reading: Reading, line: Line, messages: Any, path: str) -> Iterator[EventDraft]:
    """Events of those messages that have none yet, in their order."""
    counts: Counter[str] = Counter()
    for index, value in enumerate(list_of(messages)):
        if not isinstance(value, dict):
            continue
        role, id = text_of(value.get("role")), text_of(value.get("id"))
        content = [value.get("content"), value.get("toolCalls")]
        known = by_id(id) or by_content(role, content)
        counts[known] += 1
        if counts[known] > reading.told.get(known, 0):
            reading.remember_message(role, id, content)
            message = part_of(line, value, f"{path}/{index}")
            message.parent = line.parent
            yield from _message(reading, message, role)


def message_event(line: Line, role: str, text: str, name: Any = None, **more: Any) -> EventDraft:
    """The event of a message of this role."""
    kind = KINDS.get(role, "agent_message")
    actor = ACTORS.get(kind) or (line.agent[0], text_of(name)[:ID_LIMIT] or line.agent[1])
    return line.event(kind, text, actor=actor, **more)


def _message(reading: Reading, line: Line, role: str) -> Iterator[EventDraft]:
    value = line.value
    reading.assign_key(line, text_of(value.get("id")) or role)
    calls = [dict_of(call) for call in list_of(value.get("toolCalls"))]
    if role == "tool":
        yield from result(reading, line, id_of(value.get("toolCallId")), value.get("content"), value.get("error"))
    elif role not in KINDS:
        yield unknown_event(reading.findings, line, f"message of role {role[:100]!r}")
    elif not calls or value.get("content"):
        text, attachments = _readable(value.get("content"))
        data: dict[str, Any] = {"attachments": attachments} if attachments else {}
        if role == "activity":
            data = {
                "type": text_of(value.get("activityType"))[:100],
                "content": bounded(value.get("content"), len(line.raw)),
            }
        if value.get("encryptedValue"):
            data["encrypted"] = True
        yield message_event(line, role, text, name=value.get("name"), data=data)
    for index, call in enumerate(calls):
        function = dict_of(call.get("function"))
        yield from called(
            reading, line, id_of(call.get("id")), id_of(function.get("name")), text_of(function.get("arguments")),
            part=f":call-{index}",
        )  # fmt: skip


def called(
    reading: Reading, line: Line, call_id: str | None, name: str | None, arguments: str, **place: Any
) -> Iterator[EventDraft]:
    """A tool call, unless it was told and waits for its result: a later run tells open calls again."""
    if call_id and call_id in reading.called and call_id not in reading.answered:
        return
    value, whole = _parsed(arguments)
    data = {} if whole else {"arguments": "no JSON; kept as text"}
    tool = ToolDraft(call_id, name, None, bounded(value, len(line.raw)))
    event = line.event("tool_call", actor=line.agent, tool=tool, data=data, **place)
    if call_id:
        reading.called.add(call_id)
        reading.answered.discard(call_id)
    reading.calls.add(call_id, Call(event.key, name or ""))
    yield event


def result(reading: Reading, line: Line, call_id: str | None, content: Any, error: Any = None) -> Iterator[EventDraft]:
    """The result of a call. The protocol has no outcome for it but an error text of a message."""
    call = reading.calls.get(call_id)
    if call_id:
        reading.answered.add(call_id)
    text, _ = _readable(content)
    tool = ToolDraft(call_id, call.name if call else None, status="error" if error else None)
    data = scalars_of({"error": error})
    yield line.event(
        "tool_result", text, actor=("tool", tool.name or ""), parent=call.key if call else None, tool=tool, data=data
    )


def _parsed(arguments: str) -> tuple[Any, bool]:
    if not arguments:
        return None, True
    try:
        return orjson.loads(arguments), True
    except orjson.JSONDecodeError:
        return arguments, False


def _readable(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Text of a message's content, and what in it is no text, without payloads."""
    if isinstance(content, str):
        return content, []
    parts = [dict_of(part) for part in list_of(content)]
    texts = [text_of(part.get("text")) for part in parts if part.get("type") == "text"]
    attachments = [_media(part) for part in parts if part.get("type") != "text"]
    return "\n".join(texts), attachments[:LISTED]


def _media(part: dict[str, Any]) -> dict[str, Any]:
    source = dict_of(part.get("source"))
    told = scalars_of(part, frozenset({"data"})) | scalars_of({"media_type": source.get("mimeType")})
    return told | scalars_of({"url": source.get("value")} if source.get("type") == "url" else {})
