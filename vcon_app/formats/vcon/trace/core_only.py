"""Dialect D6: agent runs written with core members alone, each tool as a ``bot`` party (OR13/vcon-trajectories).

Plain chats (D9) and calls between people (D10) go the same way: they have messages and nothing else.
"""

from __future__ import annotations

from typing import Any

from ....drafts import Json, ToolDraft
from ...common.values import text_or_none
from ..file import Container, Notes, point
from .dialogs import Dialog, indices, spaced_by_one_second, step_of
from .entries import output_text
from .pairs import Pairs
from .parties import Parties
from .steps import Step

THOUGHTS = "chain-of-thought"
CALL_NAMES = ("tool", "name", "action")


def steps_of_core_only(dialogs: list[Dialog], vcon: Container, parties: Parties, notes: Notes) -> list[Step]:
    """Every dialog as a step in its order, with reasoning before the dialog it is about."""
    _find_tools(dialogs, parties)
    thoughts = _thoughts(vcon, len(dialogs), parties)
    waiting: dict[int, list[Step]] = {}
    steps: list[Step] = []
    for dialog in dialogs:
        steps += thoughts.pop(dialog.index, [])
        steps.append(_step(dialog, waiting))
    if any(step.tool for step in steps):
        pairs = Pairs(notes)
        for step in steps:
            pairs.add_step(step)
        pairs.finish()
    if any(party.is_ai for party in parties.all) and spaced_by_one_second(dialogs):
        notes.info(
            "R75",
            point(vcon.pointer, "dialog"),
            "The dialogs are exactly 1 second apart: their times look made up, only their order can be relied on.",
        )
    return steps


def is_thought(item: dict[str, Any], dialogs: int) -> bool:
    """An analysis that holds the reasoning before a dialog (then it is shown as an event)."""
    return (
        item.get("type") == "report"
        and item.get("schema") == THOUGHTS
        and isinstance(item.get("body"), str)
        and bool(indices(item.get("dialog"), dialogs))
    )


def _find_tools(dialogs: list[Dialog], parties: Parties) -> None:
    """A bot that issues calls, or speaks to a person, is an agent; one that does neither is a tool."""
    speaks: set[int] = set()
    for dialog in dialogs:
        if (
            dialog.speaker
            and dialog.speaker.is_ai
            and (_call(dialog) or any(party.kind == "person" for party in dialog.heard))
        ):
            speaks.add(dialog.speaker.index)
    called = any(_call(dialog) for dialog in dialogs)
    for party in parties.all:
        if called and party.kind == "agent" and party.why == "type bot" and party.index not in speaks:
            parties.reclassify(party, "tool", "bot that only answers")


def _call(dialog: Dialog) -> tuple[str, Json, dict[str, Any]] | None:
    """Tool name, arguments and the whole body, when a dialog is a tool call."""
    body = dialog.content.value if dialog.content.kind == "json" else None
    if not isinstance(body, dict) or "input" not in body:
        return None
    name = next((value for key in CALL_NAMES if (value := text_or_none(body.get(key)))), None)
    return (name, body["input"], body) if name else None


def _thoughts(vcon: Container, count: int, parties: Parties) -> dict[int, list[Step]]:
    found: dict[int, list[Step]] = {}
    for index, item in enumerate(vcon.analysis):
        if is_thought(item, count):
            step = Step(
                "reasoning",
                vcon.at("analysis", index),
                text=item["body"],
                actor=parties.agent.actor if parties.agent else ("agent", ""),
            )
            step.for_writer = {"source": "thought"}
            found.setdefault(indices(item["dialog"], count)[0], []).append(step)
    return found


def _step(dialog: Dialog, waiting: dict[int, list[Step]]) -> Step:
    step = step_of(dialog)
    if call := _call(dialog):
        _make_call(step, dialog, *call)
        if dialog.heard:
            waiting.setdefault(dialog.heard[0].index, []).append(step)
    elif dialog.speaker and dialog.speaker.kind == "tool" and step.kind in ("tool_result", "user_message", "artifact"):
        _make_result(step, dialog, waiting.get(dialog.speaker.index, []))
    return step


def _make_call(step: Step, dialog: Dialog, name: str, given: Json, body: dict[str, Any]) -> None:
    step.kind, step.text = "tool_call", ""
    step.tool = ToolDraft(text_or_none(body.get("id")), name, arguments=given)
    extra = {key: value for key, value in body.items() if key not in ("tool", "name", "input", "id")}
    step.data = {"details": extra} if extra else {}
    step.for_writer = {"source": "dialog", "was": dialog.index}


def _make_result(step: Step, dialog: Dialog, waiting: list[Step]) -> None:
    """The answer of a tool: to the call it names, else to the oldest call of this tool that waits."""
    body = dialog.content.value
    details = body if isinstance(body, dict) else {}
    call_id = text_or_none(details.get("tool_use_id"))
    call = _call_answered(call_id, waiting)
    called = call.tool if call else None
    if call is not None:
        waiting.remove(call)
        step.parent = call
    if called is not None:
        call_id = call_id or called.call_id
    is_structured = isinstance(body, (dict, list))
    step.kind, step.data = "tool_result", {}
    step.text = _result_text(body) if is_structured else dialog.text
    step.tool = ToolDraft(
        call_id,
        (called.name if called else None)
        or text_or_none(dialog.item.get("application"))
        or (dialog.speaker.name if dialog.speaker else None),
        result=body if is_structured else None,
        status="error" if details.get("error") or details.get("is_error") is True else None,
    )
    step.for_writer = {"source": "dialog", "was": dialog.index}


def _call_answered(call_id: str | None, waiting: list[Step]) -> Step | None:
    """The waiting call of this id, else the oldest: the dialect knows no ids, and tools answer in order."""
    for step in waiting:
        if call_id and step.tool and step.tool.call_id == call_id:
            return step
    return waiting[0] if waiting else None


def _result_text(body: Json) -> str:
    raw = body.get("_raw_result") if isinstance(body, dict) else None
    return raw if isinstance(raw, str) else output_text(body)
