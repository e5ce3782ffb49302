"""Makers, one per entry type: content of the entry becomes text, tool and data of its step."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

from ....drafts import ActorKind, Json, ToolDraft
from ...common.values import text_of, text_or_none
from ..file import Elided
from . import extension
from .entries import arguments, media_in, outcome, output_text, unknown_members, visible_text
from .names import MEMBERS, TEXTS
from .parties import Parties
from .steps import Step
from .turns import user_kind

TASKS = ("subagent_type", "agent_type", "agent", "name")
"""Arguments of a call that name the sub-agent it starts."""
OF_TYPES: dict[str, tuple[type, ...]] = {
    "agent-id": (str, NoneType), "model-id": (str, NoneType), "token-usage": (dict, NoneType),
}  # fmt: skip
"""Members that are read where they are of these types; others are kept as they came."""
INSERTED = ("injected_context", "compaction")
"""Kinds of user entries that a program put in."""


def make(step: Step, entry: dict[str, Any], above: Step | None, parties: Parties, ids: dict[str, Step]) -> None:
    """Fill the step from its entry. ``above`` is the event whose child it is."""
    kind = entry["type"]
    if type(kind) is not str or kind not in MEMBERS:
        kind = ""
    step.actor = parties.voices.get(kind, _NOBODY)
    maker, alone = _MAKERS[kind]
    maker(step, entry)
    if above is None and alone.issuperset(entry):
        return
    if parent_id := text_or_none(entry.get("parent-id")):
        step.for_writer["parent_id"] = parent_id
    native = unknown_members(entry) if kind else {}
    agent_id = text_or_none(entry.get("agent-id"))
    _nest(
        step,
        native,
        above,
        ids.get(parent_id) if parent_id else None,
        parties.subagent(agent_id, None) if agent_id else None,
    )
    extension.restore(step, native)
    if extension.ACTOR not in step.own:
        step.actor = _actor(step, kind, agent_id, parties)
    if agent_id:
        native["agent-id"] = agent_id
    if kind:
        native |= {name: entry[name] for name, types in OF_TYPES.items() if not isinstance(entry.get(name), types)}
    if native:
        step.for_writer["native"] = native
        if (took := native.get("duration-ms", native.get("duration_ms"))) is not None and step.tool is not None:
            step.data.setdefault("duration_ms", took)


def _nest(step: Step, native: dict[str, Json], above: Step | None, named: Step | None, sub: Any) -> None:
    """Depth counts sub-agents, not ``children``: what stands under a call and is not its result is one deeper."""
    if above is not None:
        own_result = step.kind == "tool_result" and step.tool and above.tool and step.tool.call_id == above.tool.call_id
        step.depth = above.depth + (above.kind == "tool_call" and not own_result)
    if native.get("isSidechain") is True or (sub is not None and sub.kind == "subagent"):
        step.depth = max(step.depth, 1)
    if (
        above is None
        and named is not None
        and (step.depth or step.kind not in ("user_message", "agent_message", "injected_context", "compaction"))
    ):
        step.parent = named


def _actor(step: Step, kind: str, agent_id: str | None, parties: Parties) -> Any:
    """Actor of an entry, which may be nested or name its agent."""
    if kind == "tool-result":
        return "tool", (step.tool.name if step.tool else None) or ""
    if kind == "system-event" or step.kind in INSERTED:
        return "system", ""
    if kind == "user":
        return _speaker(step, parties)
    if not kind:
        return _NOBODY
    sub = parties.subagent(agent_id, step.model, _label(step)) if step.depth or agent_id else None
    if sub is not None:
        return sub.actor
    return ("subagent", "") if step.depth else parties.voices[kind]


def _speaker(step: Step, parties: Parties) -> Any:
    """VAC's user is a human *or an upstream agent*: inside a sub-agent it is the agent that called it."""
    return parties.voices["assistant" if step.depth else "user"]


def _label(step: Step) -> str:
    """What the call that started this sub-agent names it."""
    above = step.parent
    while above is not None and not (above.kind == "tool_call" and above.depth < step.depth):
        above = above.parent
    given = above.tool.arguments if above is not None and above.tool else None
    return (
        next((value for name in TASKS if (value := text_or_none(given.get(name)))), "")
        if isinstance(given, dict)
        else ""
    )


def _message(step: Step, entry: dict[str, Any]) -> None:
    content = entry.get("content")
    step.text = content if type(content) is str else visible_text(content)
    step.kind = "agent_message" if entry["type"] == "assistant" else user_kind(entry, step.text)
    if type(content) is list and (held := media_in(content)):
        step.data["attachments"] = held
    if step.kind in INSERTED:
        step.actor = "system", ""
    if step.kind in INSERTED or step.kind == "unknown":
        step.for_writer["type"] = "user"
    if type(content) is not str:
        _keep_content(step, entry, content)


def _keep_content(step: Step, entry: dict[str, Any], content: Json) -> None:
    """Native content is kept unless the text alone tells it."""
    if "content" not in entry:
        step.for_writer["bare"] = True
    elif (
        isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], dict)
        and (content[0].keys() == {"type", "text"} and content[0]["text"] == step.text and step.text)
    ):
        step.for_writer["blocks"] = content[0]["type"]
    else:
        step.for_writer["content"] = content


def _reasoning(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "reasoning"
    content = entry.get("content")
    step.text = content if type(content) is str else visible_text(content)
    if subject := text_or_none(entry.get("subject")):
        step.data["subject"] = subject
    if entry.get("encrypted") is not None:
        step.for_writer["encrypted"] = entry["encrypted"]
        step.data["encrypted"] = True
    if type(content) is not str:
        _keep_content(step, entry, content)


def _call(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "tool_call"
    given = entry.get("input")
    given, parsed = arguments(given) if type(given) is str else (given, False)
    if parsed:
        step.for_writer["input"] = entry["input"]
    call_id, name = entry.get("call-id"), entry.get("name")
    if type(call_id) is not str or type(name) is not str:
        _keep_odd(step, entry, "name")
        call_id, name = text_or_none(call_id), text_or_none(name)
    step.tool = ToolDraft(call_id or None, name or None, None, given)


def _result(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "tool_result"
    output, call_id, name = entry.get("output"), entry.get("call-id"), text_of(entry.get("name"))
    said, structured = (output, None) if type(output) is str else (output_text(output), output)
    step.text = said
    step.tool = ToolDraft(text_or_none(call_id), name or None, None, None, structured, outcome(entry))
    step.actor = "tool", name
    if name:
        step.for_writer["named"] = True
    if "status" in entry:
        step.for_writer["status"] = entry["status"]
    if "is-error" in entry:
        step.for_writer["is_error"] = entry["is-error"]
    if type(call_id) is not str:
        _keep_odd(step, entry)
    if output is None:
        step.for_writer.setdefault("odd", {})["output"] = None


def _keep_odd(step: Step, entry: dict[str, Any], *more: str) -> None:
    """Members that should be strings and are not."""
    for member in ("call-id", *more):
        if member in entry and not isinstance(entry[member], str):
            step.for_writer.setdefault("odd", {})[member] = entry[member]


EVENT_KINDS = {"agent-handoff": "handoff", "error": "error"}
"""Events of the system that are more than that."""


def _event(step: Step, entry: dict[str, Any]) -> None:
    event_type = text_of(entry.get("event-type"))
    step.kind = EVENT_KINDS.get(event_type, "system")
    if step.kind != "system":
        step.for_writer["type"] = "system-event"
    step.data["event_type"] = event_type
    details = entry.get("data")
    if details is not None:
        step.data["details"] = details
    told = details if isinstance(details, dict) and not isinstance(details, Elided) else {}
    step.text = next(
        (value for name in ("text", "message", "content", "reason") if (value := text_or_none(told.get(name)))),
        event_type,
    )


def _unknown(step: Step, entry: dict[str, Any]) -> None:
    """An entry of no known type is kept raw and never dropped (rule R67)."""
    step.data["type"] = entry["type"] if isinstance(entry["type"], str) else None
    step.data["raw"] = {key: value for key, value in entry.items() if key != "children"}
    step.text = next((words for name in ("content", *TEXTS) if (words := visible_text(entry.get(name)))), "")


_NOBODY: tuple[ActorKind, str] = ("unknown", "")
_LINKS = {"parent-id", "agent-id"}
_MAKERS: dict[str, tuple[Callable[[Step, dict[str, Any]], None], frozenset[str]]] = {
    "user": (_message, MEMBERS["user"] - _LINKS),
    "assistant": (_message, MEMBERS["assistant"] - _LINKS),
    "reasoning": (_reasoning, MEMBERS["reasoning"] - _LINKS),
    "tool-call": (_call, MEMBERS["tool-call"] - _LINKS),
    "tool-result": (_result, MEMBERS["tool-result"] - _LINKS),
    "system-event": (_event, MEMBERS["system-event"] - _LINKS),
    "": (_unknown, frozenset()),
}
"""With the members of entries that are linked to nothing and say nothing beyond VAC: most of them."""
