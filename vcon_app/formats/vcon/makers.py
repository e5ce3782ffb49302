"""One maker per entry type: what the entry says becomes text, tool and data of its step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...drafts import Json, ToolDraft
from . import own
from .elide import Elided
from .entries import MEMBERS, arguments, outcome, output_text, unknown_members, visible_text
from .parties import Cast
from .steps import Step
from .turns import user_kind
from .values import text, word

TASKS = ("subagent_type", "agent_type", "agent", "name")
"""Arguments of a call that name the sub-agent it starts."""


def make(step: Step, entry: dict[str, Any], above: Step | None, cast: Cast, ids: dict[str, Step]) -> None:
    """Fill the step from its entry. ``above`` is the event whose child it is."""
    kind = word(entry["type"])
    _MAKERS.get(kind, _unknown)(step, entry)
    if above is None and _ALONE.get(kind, _NONE).issuperset(entry):
        step.actor = _actor(step, kind, None, cast)
        return
    if parent_id := text(entry.get("parent-id")):
        step.left["parent_id"] = parent_id
    native = unknown_members(entry) if kind in MEMBERS else {}
    agent_id = text(entry.get("agent-id"))
    _nest(
        step,
        native,
        above,
        ids.get(parent_id) if parent_id else None,
        cast.subagent(agent_id, None) if agent_id else None,
    )
    own.restore(step, native)
    if own.ACTOR not in step.own:
        step.actor = _actor(step, kind, agent_id, cast)
    if agent_id:
        native["agent-id"] = agent_id
    if native:
        step.left["native"] = native


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


def _actor(step: Step, kind: str, agent_id: str | None, cast: Cast) -> Any:
    if kind == "tool-result":
        return "tool", (step.tool.name if step.tool else None) or ""
    if kind == "system-event" or step.kind in ("injected_context", "compaction"):
        return "system", ""
    if kind == "user":
        return _speaker(step, cast)
    if kind not in MEMBERS:
        return "unknown", ""
    sub = cast.subagent(agent_id, step.model, _label(step)) if step.depth or agent_id else None
    if sub is not None:
        return sub.actor
    if step.depth:
        return "subagent", ""
    agent = cast.agent
    return "agent", agent.name if agent else ""


def _speaker(step: Step, cast: Cast) -> Any:
    """VAC's user is a human *or an upstream agent*: inside a sub-agent it is the agent that called it."""
    if step.depth:
        return "agent", cast.agent.name if cast.agent else ""
    human = cast.human
    return "person", human.name if human else ""


def _label(step: Step) -> str:
    """What the call that started this sub-agent names it."""
    above = step.parent
    while above is not None and not (above.kind == "tool_call" and above.depth < step.depth):
        above = above.parent
    given = above.tool.arguments if above is not None and above.tool else None
    return next((value for name in TASKS if (value := text(given.get(name)))), "") if isinstance(given, dict) else ""


def _message(step: Step, entry: dict[str, Any]) -> None:
    content = entry.get("content")
    step.text = visible_text(content)
    step.kind = "agent_message" if entry["type"] == "assistant" else user_kind(entry, step.text)
    if step.kind in ("injected_context", "compaction", "unknown"):
        step.left["type"] = "user"
    _keep_content(step, entry, content)


def _keep_content(step: Step, entry: dict[str, Any], content: Json) -> None:
    """Native content is kept unless the text alone tells it."""
    if isinstance(content, str):
        return
    if "content" not in entry:
        step.left["bare"] = True
    elif (
        isinstance(content, list)
        and len(content) == 1
        and isinstance(content[0], dict)
        and (content[0].keys() == {"type", "text"} and content[0]["text"] == step.text and step.text)
    ):
        step.left["blocks"] = content[0]["type"]
    else:
        step.left["content"] = content


def _reasoning(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "reasoning"
    content = entry.get("content")
    step.text = visible_text(content)
    if subject := text(entry.get("subject")):
        step.data["subject"] = subject
    if entry.get("encrypted") is not None:
        step.left["encrypted"] = entry["encrypted"]
        step.data["encrypted"] = True
    _keep_content(step, entry, content)


def _call(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "tool_call"
    given, parsed = arguments(entry.get("input"))
    call_id, name = entry.get("call-id"), entry.get("name")
    step.tool = ToolDraft(text(call_id), text(name), arguments=given)
    if parsed:
        step.left["input"] = entry["input"]
    if type(call_id) is not str or type(name) is not str:
        _keep_odd(step, entry, "name")


def _result(step: Step, entry: dict[str, Any]) -> None:
    step.kind = "tool_result"
    output = entry.get("output")
    step.text = output_text(output)
    structured = None if isinstance(output, str) else output
    call_id = entry.get("call-id")
    step.tool = ToolDraft(text(call_id), text(entry.get("name")), result=structured, status=outcome(entry))
    if step.tool.name:
        step.left["named"] = True
    if "status" in entry:
        step.left["status"] = entry["status"]
    if "is-error" in entry:
        step.left["is_error"] = entry["is-error"]
    if type(call_id) is not str:
        _keep_odd(step, entry)
    if output is None:
        step.left.setdefault("odd", {})["output"] = None


def _keep_odd(step: Step, entry: dict[str, Any], *more: str) -> None:
    """Members that should be strings and are not."""
    for member in ("call-id", *more):
        if member in entry and not isinstance(entry[member], str):
            step.left.setdefault("odd", {})[member] = entry[member]


def _event(step: Step, entry: dict[str, Any]) -> None:
    event_type = word(entry.get("event-type"))
    step.kind = "handoff" if event_type == "agent-handoff" else "system"
    if step.kind == "handoff":
        step.left["type"] = "system-event"
    step.data["event_type"] = event_type
    details = entry.get("data")
    if details is not None:
        step.data["details"] = details
    told = details if isinstance(details, dict) and not isinstance(details, Elided) else {}
    step.text = next(
        (value for name in ("text", "message", "content", "reason") if (value := text(told.get(name)))), event_type
    )


def _unknown(step: Step, entry: dict[str, Any]) -> None:
    """An entry of no known type is kept raw and never dropped (rule R67)."""
    step.data["type"] = entry["type"] if isinstance(entry["type"], str) else None
    step.data["raw"] = {key: value for key, value in entry.items() if key != "children"}
    step.text = visible_text(entry.get("content") or entry.get("text"))


_ALONE = {kind: members - {"parent-id", "agent-id"} for kind, members in MEMBERS.items()}
"""Members of entries that are linked to nothing and say nothing beyond VAC: most of them."""
_NONE: frozenset[str] = frozenset()
_MAKERS: dict[str, Callable[[Step, dict[str, Any]], None]] = {
    "user": _message,
    "assistant": _message,
    "reasoning": _reasoning,
    "tool-call": _call,
    "tool-result": _result,
    "system-event": _event,
}
