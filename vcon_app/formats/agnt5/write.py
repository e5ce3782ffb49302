"""A session as lines of an agnt5 export, written while walking over the events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import EventDraft, Events, Json, Losses, SessionDraft
from ..common.jsonio import dumps
from ..common.times import rfc3339
from . import own

ROLES = {
    "user_message": "user", "agent_message": "assistant", "reasoning": "assistant", "tool_call": "assistant",
    "model_request": "assistant", "handoff": "assistant", "tool_result": "tool",
}  # fmt: skip
"""Everything else is told by the system."""


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """One line for each message and the calls that were made with it; holds one line of events at a time.

    Those inside of sub-agents are lines, too (A13). No options.
    """
    first: SessionDraft | None = session
    for group in _groups(events):
        yield dumps(_line(group, session) | {own.KEY: own.member(group, first)}) + b"\n"
        first = None
    if first:
        losses.lose("what is known of a session without messages", "an export of messages has no line for it")
    for name in sorted(session.record):
        losses.lose(f"what {name} keeps beside its events", "a line has no place for it")


def _groups(events: Events) -> Iterator[list[EventDraft]]:
    """A message and the calls of the same response that follow it; every other event alone."""
    group: list[EventDraft] = []
    for event in events:
        if group and not _goes_with(event, group[0]):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _goes_with(event: EventDraft, first: EventDraft) -> bool:
    return (
        event.kind == "tool_call"
        and first.kind in ("agent_message", "tool_call")
        and first.request is not None
        and (event.request, event.depth, event.actor_name) == (first.request, first.depth, first.actor_name)
    )


def _line(group: list[EventDraft], session: SessionDraft) -> dict[str, Json]:
    """The five keys of the documentation, and the id of the call that a result answers."""
    event = group[0]
    tool = event.tool
    line: dict[str, Json] = {
        "timestamp": rfc3339(event.at) if event.at else None,
        "role": ROLES.get(event.kind, "system"),
        "message": event.text,
        "metadata": _metadata(group, session),
        "tool_calls": [_call(one) for one in group if one.kind == "tool_call"],
    }
    if event.kind == "tool_result" and tool:
        line |= {name: value for name, value in (("tool_call_id", tool.call_id), ("name", tool.name)) if value}
    return line


def _call(event: EventDraft) -> dict[str, Json]:
    tool = event.tool
    return {"id": tool.call_id, "name": tool.name, "arguments": tool.arguments} if tool else {}


def _metadata(group: list[EventDraft], session: SessionDraft) -> dict[str, Json]:
    event = group[0]
    told: dict[str, Json] = {
        "session_id": session.external_id,
        "user_id": session.user_id,
        "agent": event.actor_name if event.actor_kind in ("agent", "subagent") else "",
        "model": next((one.model for one in group if one.model), None),
        "error": event.kind == "tool_result" and event.tool is not None and event.tool.status == "error",
    }
    return {name: value for name, value in told.items() if value}
