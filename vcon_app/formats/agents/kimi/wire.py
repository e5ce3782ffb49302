"""Messages of a wire before Kimi Code, as they lie in its file or were sent to a client (``kimi --wire``): there, a
message comes in fragments, which follow one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...common.jsonio import dumps
from ...common.lines import Item, Line
from ...common.values import dict_of, text_of

WIRE = frozenset({
    "TurnBegin", "TurnEnd", "StepBegin", "StepEnd", "StepInterrupted", "StepRetry", "ContentPart", "ToolCall",
    "ToolCallPart", "ToolResult", "ApprovalRequest", "ApprovalResponse", "StatusUpdate", "SubagentEvent",
    "CompactionBegin", "CompactionEnd", "SteerInput", "Notification", "MCPLoadingBegin", "MCPLoadingEnd",
    "HookTriggered", "HookResolved", "HookRequest", "PlanDisplay", "BtwBegin", "BtwEnd", "ToolCallRequest",
    "QuestionRequest", "ApprovalRequestResolved",
})  # fmt: skip
SENT = ("event", "request")
"""Methods of JSON-RPC by which a message is sent."""
JOINED = {"text": "text", "think": "think"}
"""Types of content whose fragments are joined, and the member that has their words."""
MOST = 8 * 1024 * 1024
"""Characters of one joined message."""


def message_of(value: dict[str, Any]) -> dict[str, Any]:
    """The message in a record of the file, or in what was sent of it."""
    sent = dict_of(value.get("params")) if value.get("method") in SENT else {}
    return dict_of(value.get("message")) or (sent if text_of(sent.get("type")) in WIRE else {})


def whole(items: Iterable[Item]) -> Iterator[Item]:
    """Records with fragments of one message as one: the first, with what those that follow it at once add."""
    held: Line | None = None
    said: list[str] = []
    size = 0
    for item in items:
        added = _added(held, item) if held is not None and isinstance(item, Line) and size < MOST else None
        if added is not None:
            said.append(added)
            size += len(added)
            continue
        if held is not None:
            yield _with_more_text(held, "".join(said)) if said else held
        held, said, size = (item, [], 0) if isinstance(item, Line) and _event(item)[0] in STARTS else (None, [], 0)
        if held is None:
            yield item
    if held is not None:
        yield _with_more_text(held, "".join(said)) if said else held


STARTS = frozenset({"ToolCall", "ContentPart"})


def _event(line: Line) -> tuple[str, dict[str, Any], Any]:
    """Type and payload of a message, that of a sub-agent's event in it, and which call started that one."""
    message = message_of(line.value)
    payload = dict_of(message.get("payload"))
    if message.get("type") != "SubagentEvent":
        return text_of(message.get("type")), payload, None
    event = dict_of(payload.get("event"))
    started_by = payload.get("parent_tool_call_id", payload.get("task_tool_call_id"))
    return text_of(event.get("type")), dict_of(event.get("payload")), [started_by]


def _added(held: Line, line: Line) -> str | None:
    """What a record adds to the message before it; None where it is another one."""
    kind, payload, child = _event(held)
    other, more, other_child = _event(line)
    if child != other_child:
        return None
    if kind == "ToolCall":
        return text_of(more.get("arguments_part")) if other == "ToolCallPart" else None
    part = text_of(payload.get("type"))
    alike = other == kind and more.get("type") == part and part in JOINED
    return text_of(more.get(JOINED[part])) if alike else None


def _with_more_text(line: Line, more: str) -> Line:
    message = message_of(line.value)
    payload = dict_of(message.get("payload"))
    if message.get("type") == "SubagentEvent":
        event = dict_of(payload.get("event"))
        inner = {**event, "payload": _longer(dict_of(event.get("payload")), more)}
        payload = {**payload, "event": inner}
    else:
        payload = _longer(payload, more)
    value = {**line.value, "message": {**message, "payload": payload}}
    return Line(value, line.pointer, dumps(value), None)


def _longer(payload: dict[str, Any], more: str) -> dict[str, Any]:
    if name := JOINED.get(text_of(payload.get("type"))):
        return {**payload, name: text_of(payload.get(name)) + more}
    function = dict_of(payload.get("function"))
    return {**payload, "function": {**function, "arguments": text_of(function.get("arguments")) + more}}
