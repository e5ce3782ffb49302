"""The lines of a rollout by the type of their envelope; items and events have types of their own inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...drafts import EventDraft
from ..common.lines import Line
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from . import items
from .events import HANDLERS as EVENTS
from .reading import TEXT_LIMIT, Handler, RolloutReading
from .texts import text_in


def session_meta(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Session facts: who runs where. The instructions given to the model become an event of their own."""
    data = {"type": "session_meta"} | scalars_of(payload, frozenset({"instructions", "base_instructions"}))
    git = scalars_of(dict_of(payload.get("git")))
    yield line.event("system", data=data | ({"git": git} if git else {}))
    instructions = payload.get("base_instructions") or payload.get("instructions")
    if text := text_of(instructions) or text_of(dict_of(instructions).get("text")):
        yield line.event("injected_context", text[:TEXT_LIMIT], part=":instructions", data={"type": "instructions"})


def turn_context(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The settings of what follows; the model stands nowhere else."""
    payload = dict_of(payload.get("turn_context")) or payload
    if model := text_of(payload.get("model"))[:200]:
        reading.facts.model = model
    data = {"type": "turn_context"} | scalars_of(payload, frozenset({"base_instructions", "user_instructions"}))
    for key in ("sandbox_policy", "permission_profile", "collaboration_mode"):
        if mode := scalars_of(dict_of(payload.get(key)), frozenset({"developer_instructions"})):
            data[key] = mode
    yield line.event("system", data=data)


def response_item(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterable[EventDraft]:
    """An item that went to the model or came from it."""
    kind = payload.get("type")
    handler = items.HANDLERS.get(kind) if isinstance(kind, str) else None
    if kind is None and isinstance(payload.get("role"), str):
        handler = items.message
    return handler(reading, line, payload) if handler else [reading.unknown(line, f"response item {str(kind)[:100]!r}")]


def event_msg(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterable[EventDraft]:
    """An event for Codex's own screen: outcomes, tokens, and copies of what the items say."""
    kind = payload.get("type")
    handler = EVENTS.get(kind) if isinstance(kind, str) else None
    return handler(reading, line, payload) if handler else [reading.unknown(line, f"event {str(kind)[:100]!r}")]


def compacted(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The history was replaced by a summary; the replaced lines still stand above."""
    history = list_of(payload.get("replacement_history"))
    data = {"type": "compacted"} | scalars_of(payload, frozenset({"message"})) | {"replacement_history": len(history)}
    yield line.event("compaction", text_of(payload.get("message")), data=data)


def inter_agent(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A message from one agent to another."""
    kind = line.value["type"]
    text = text_in(payload)
    data = {"type": kind} | scalars_of(payload, frozenset({"content"}))
    yield line.event("handoff" if text else "system", text, data=data)


def world_state(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """State of the surroundings that the model was told, as Codex keeps it to tell only changes."""
    yield line.event("system", data={"type": "world_state", "state": bounded(payload.get("state"), len(line.raw))})


def state_record(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """``{"record_type": "state"}`` of old files."""
    yield line.event("system", data={"type": "state"} | scalars_of(line.value))


HANDLERS: dict[str, Handler] = {
    "session_meta": session_meta,
    "turn_context": turn_context,
    "response_item": response_item,
    "event_msg": event_msg,
    "compacted": compacted,
    "inter_agent_communication": inter_agent,
    "inter_agent_communication_metadata": inter_agent,
    "world_state": world_state,
    "state": state_record,
}
