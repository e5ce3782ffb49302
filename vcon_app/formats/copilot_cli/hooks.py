"""Older files of the CLI: lines named after hooks, without ``data`` around their fields.

From documentation and other readers; the corpus has no file of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import Call, id_of
from ..common.lines import Line
from ..common.values import bounded, dict_of, scalars_of, text_of
from .reading import EventsReading, LineHandler
from .timeline import AGENT, STATUSES, parsed, text_of_entry

TYPES = frozenset({"userpromptsubmitted", "assistantresponse", "sessionstart"})


def is_line(line: dict[str, Any]) -> bool:
    """A line that is named after a hook."""
    return text_of(line.get("type")).lower() in TYPES and "data" not in line


def _prompt(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    yield line.event("user_message", text_of_entry(line.value), actor=("person", ""))


def _response(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    reading.set_model(line.value.get("model"))
    yield line.event("agent_message", text_of_entry(line.value), actor=AGENT, model=reading.model)


def _before_tool(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    value = line.value
    call_id, name = id_of(value.get("toolCallId")), text_of(value.get("toolName"))[:200]
    reading.calls.add(call_id or f"name:{name}", Call(line.key, name))
    arguments = bounded(parsed(value.get("toolArgs")), len(line.raw))
    yield line.event(
        "tool_call", actor=AGENT, model=reading.model, tool=ToolDraft(call_id, name or None, None, arguments)
    )


def _after_tool(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    value, result = line.value, dict_of(line.value.get("toolResult"))
    call_id, name = id_of(value.get("toolCallId")), text_of(value.get("toolName"))[:200]
    call = reading.calls.get(call_id or f"name:{name}")
    tool = ToolDraft(call_id, name or None, status=STATUSES.get(text_of(result.get("resultType"))))
    text = text_of(result.get("textResultForLlm"))
    yield line.event("tool_result", text, actor=("tool", name), parent=call.key if call else None, tool=tool)


def _error(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    error = line.value.get("error")
    yield line.event("error", text_of(dict_of(error).get("message")) or text_of(error) or text_of_entry(line.value))


def _note(reading: EventsReading, line: Line) -> Iterator[EventDraft]:
    yield line.event("system", data=scalars_of(line.value, frozenset({"timestamp"})))


HANDLERS: dict[str, LineHandler] = {
    "userpromptsubmitted": _prompt, "assistantresponse": _response, "pretooluse": _before_tool,
    "posttooluse": _after_tool, "erroroccurred": _error, "sessionstart": _note, "sessionend": _note,
}  # fmt: skip
