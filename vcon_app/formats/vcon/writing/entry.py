"""One event as an entry of a written trace: the members of VAC-00, and which of our own it needs."""

from __future__ import annotations

from typing import Any

from ....drafts import EventDraft, Json, ToolDraft
from ...common import origins
from ...common.times import rfc3339_short
from ..trace import NATIVE, extension, output_text, user_kind

TYPES = {
    "user_message": "user",
    "injected_context": "user",
    "agent_message": "assistant",
    "reasoning": "reasoning",
    "tool_call": "tool-call",
    "tool_result": "tool-result",
}
NATURAL = {
    "user": "user_message",
    "assistant": "agent_message",
    "reasoning": "reasoning",
    "tool-call": "tool_call",
    "tool-result": "tool_result",
    "system-event": "system",
}
_NO_TOOL = ToolDraft(None, None)
STATUS = {"ok": "success", "error": "error", "cancelled": "cancelled", "denied": "denied"}


def needed_members(event: EventDraft, entry: dict[str, Json]) -> set[str]:
    """Members of our own without which reading the entry would give another event."""
    entry_type = str(entry["type"])
    natural = user_kind(entry, event.text) if entry_type == "user" else NATURAL[entry_type]
    tool = event.tool
    if entry_type == "system-event":  # reading makes a text of its data, and data of its members
        text_is_lost, data_is_lost = not event.text, True
    else:
        text_is_lost = entry_type == "tool-call" and bool(event.text)
        data_is_lost = bool(origins.data_without(event).keys() - {NATIVE})
    wanted = {
        extension.KIND: natural != event.kind,
        extension.DATA: data_is_lost,
        extension.TEXT: text_is_lost,
        extension.ORIGIN: origins.to_write(event) is not None,
        extension.TOOL: _tool_is_lost(tool, entry_type) if tool else event.kind == "tool_call",
        extension.RESULT: tool is not None and entry_type == "tool-result" and _result_is_lost(tool, entry),
    }
    return {member for member, is_needed in wanted.items() if is_needed}


def _tool_is_lost(tool: ToolDraft, entry_type: str) -> bool:
    """Has the tool of an event something that an entry of this type has no member for?"""
    if entry_type not in ("tool-call", "tool-result") or tool.server or not tool.name:
        return True
    return entry_type == "tool-call" and (tool.result is not None or bool(tool.status))


def _result_is_lost(tool: ToolDraft, entry: dict[str, Json]) -> bool:
    """Is there a structured result, and text in its place in ``output``?"""
    return tool.result is not None and "output" in entry and entry["output"] is not tool.result


def tool_of(event: EventDraft) -> Json:
    if event.tool is None:
        return {"name": None} if event.kind == "tool_call" else None
    if event.kind in ("tool_call", "tool_result"):
        return {
            name: value for name in ("name", "server") if (value := getattr(event.tool, name)) or name == "name"
        } | (
            {
                name: value
                for name in ("result", "status")
                if event.kind == "tool_call" and (value := getattr(event.tool, name)) is not None
            }
        )
    return {name: value for name in extension.TOOL_FIELDS if (value := getattr(event.tool, name)) is not None}


def timestamp_of(event: EventDraft, kept: dict[str, Any]) -> Json:
    if "timestamp" in kept:
        return kept["timestamp"]
    borrowed = event.data.get("time_inherited") or event.data.get("time_source")
    if event.at is None or (borrowed and "id" in kept):
        return None
    return rfc3339_short(event.at)


def _content(event: EventDraft, kept: dict[str, Any]) -> dict[str, Json]:
    if "content" in kept:
        return {"content": kept["content"]}
    if "blocks" in kept:
        return {"content": [{"type": kept["blocks"], "text": event.text}]}
    return {} if kept.get("bare") else {"content": event.text}


def _reasoning(event: EventDraft, kept: dict[str, Any]) -> dict[str, Json]:
    extra = {"subject": event.data["subject"]} if isinstance(event.data.get("subject"), str) else {}
    if "encrypted" in kept:
        extra["encrypted"] = kept["encrypted"]
    return {**({"content": ""} if kept.get("bare") else _content(event, kept)), **extra}


def _call(event: EventDraft, kept: dict[str, Any]) -> dict[str, Json]:
    tool = event.tool
    given = tool.arguments if tool else None
    call_id = {"call-id": tool.call_id} if tool and tool.call_id else {}
    return {"name": (tool.name if tool else None) or "unknown", "input": kept.get("input", given), **call_id}


def _result(event: EventDraft, kept: dict[str, Any]) -> dict[str, Json]:
    tool = event.tool or _NO_TOOL
    made: dict[str, Json] = {"call-id": tool.call_id} if tool.call_id else {}
    # the result stands as it is where reading it gives the same text again, else in a member of our own
    is_native = (
        tool.result is not None
        and extension.RESULT not in kept.get("own", ())
        and output_text(tool.result) == event.text
    )
    made["output"] = tool.result if is_native else event.text
    if "id" in kept:
        for member, name in (("status", "status"), ("is-error", "is_error")):
            if name in kept:
                made[member] = kept[name]
        is_named = bool(event.tool) and bool(kept.get("named"))
    else:
        if tool.status in STATUS:
            made["status"] = STATUS[tool.status]
        if tool.status == "error":
            made["is-error"] = True
        is_named = bool(tool.name) and not event.parent
    return made | ({"name": tool.name} if is_named else {})


def _system(event: EventDraft, kept: dict[str, Any]) -> dict[str, Json]:
    event_type = kept.get("event_type", event.data.get("event_type"))
    details = kept.get("details", event.data.get("details"))
    if "id" in kept:
        return {"event-type": event_type or "", **({"data": details} if details is not None else {})}
    name = (
        "agent-handoff"
        if event.kind == "handoff"
        else event_type
        if isinstance(event_type, str) and event_type
        else event.kind
    )
    return {"event-type": name, **({"data": {"text": event.text}} if event.text else {})}


CONTENTS = {
    "user": _content,
    "assistant": _content,
    "reasoning": _reasoning,
    "tool-call": _call,
    "tool-result": _result,
    "system-event": _system,
}


def token_usage(event: EventDraft) -> dict[str, Json] | None:
    """Counts that do not overlap, with a total that proves it to a reader (VAC s3.9)."""
    usage = event.usage
    if usage is None:
        return {"cost": float(event.cost)} if event.cost is not None else None
    output, reasoning = usage.output_tokens, usage.reasoning_tokens
    apart = output is not None and reasoning is not None and reasoning <= output
    counts = {
        "input": usage.input_tokens,
        "output": output - reasoning if apart else output,
        "cached": usage.cache_read_tokens,
        "reasoning": reasoning,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }
    made: dict[str, Json] = {name: count for name, count in counts.items() if count is not None}
    if made:  # reasoning beyond the output belongs to what other entries state: it is billed there
        made["total"] = sum(made.values()) - (0 if apart or output is None else reasoning or 0)
    if usage.cache_write_1h_tokens is not None:
        made["cache_creation"] = {"ephemeral_1h_input_tokens": usage.cache_write_1h_tokens}
    if usage.quality != "final":
        made[extension.QUALITY] = usage.quality
    if event.cost is not None:
        made["cost"] = float(event.cost)
    return made
