"""Handlers of the event types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ...drafts import EventDraft, Kind, ToolDraft
from ..common.apis.anthropic import readable
from ..common.calls import Call, id_of
from ..common.lines import Actor, Line
from ..common.values import bounded, dict_of, list_of, scalars_of, short_text, text_of
from .reading import Handler, Reading

PERSON: Actor = ("person", "")
COMMON = frozenset({"id", "type", "processed_at", "session_thread_id", "tool_use_id", "name", "mcp_server_name"})
ASKED = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")
DECISIONS = {"allow": "approved", "deny": "denied"}
WAITS, FAILED = ("requires_action",), ("retries_exhausted",)
LISTED = 100


def message(reading: Reading, line: Line, kind: Kind, person: bool) -> Iterator[EventDraft]:
    """A message, of a person, of the agent, or put in by the operator."""
    text, attachments = readable(line.value.get("content"))
    data = _facts(line)
    redacted = [block for block in attachments if block["type"] == "redacted"]
    if files := [block for block in attachments if block not in redacted]:
        data["attachments"] = files
    if redacted:
        data["redacted"] = len(redacted)
    if _queued(line):
        data["queued"] = True
    actor = PERSON if person else line.agent if kind == "agent_message" else ("system", "")
    yield line.event(kind, text, actor=actor, data=data)


def outcome_wanted(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """What the session shall achieve, with a rubric: work begins with it as with a message."""
    data = {"type": "define_outcome"} | scalars_of(line.value, COMMON | {"description"})
    if rubric := line.value.get("rubric"):
        data["rubric"] = bounded(rubric, len(line.raw))
    yield line.event("user_message", text_of(line.value.get("description")), actor=PERSON, data=data)


def thinking(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The agent thought; the API does not tell what."""
    yield line.event("reasoning", actor=line.agent, data={"not_recorded": True})


def tool_use(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A call, and where its policy was not to allow it, the question or the refusal."""
    value = line.value
    name, server = id_of(value.get("name")), id_of(value.get("mcp_server_name"))
    tool = ToolDraft(line.key, name, server, bounded(value.get("input"), len(line.raw)))
    policy = value.get("evaluation")
    data = scalars_of(value, COMMON) | ({"evaluation": bounded(policy, len(line.raw))} if policy else {})
    yield line.event("tool_call", actor=line.agent, tool=tool, data=data)
    reading.calls.add(line.key, Call(line.key, name or "", server))
    permission = value.get("evaluated_permission")
    if permission == "ask":
        yield _approval(line, line.key, tool, {"type": "ask", "decision": "pending"})
    elif permission == "deny":
        reading.denied.add(line.key)
        refused = {"type": "policy", "decision": "denied", "by": "policy"} | _reason(policy)
        yield _approval(line, line.key, tool, refused, status="denied")


def confirmation(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A person's answer to a question; the API does not tell which person's."""
    value, call_id = line.value, id_of(line.value.get("tool_use_id"))
    call = reading.calls.get(call_id)
    verdict = value.get("result")
    decision = DECISIONS.get(verdict) if isinstance(verdict, str) else None
    if decision is None:
        yield reading.unknown(line, f"confirmation {short_text(verdict)!r}")
        return
    if call and decision == "denied":
        reading.denied.add(call.key)
    tool = ToolDraft(call_id, call.name if call else None, call.server if call else None)
    data = {"type": "confirmation", "decision": decision, "by": "user"} | ({"queued": True} if _queued(line) else {})
    yield _approval(
        line, call.key if call else None, tool, data, part="", actor=PERSON, text=text_of(value.get("deny_message")),
        status="denied" if decision == "denied" else None,
    )  # fmt: skip


def tool_result(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The outcome of a call, of the server's tools or of a client's own."""
    value = line.value
    call_id = next((id for name in ASKED if (id := id_of(value.get(name)))), None)
    call = reading.calls.get(call_id)
    text, attachments = readable(value.get("content"))
    status = "error" if value.get("is_error") is True else "ok"
    if call and call.key in reading.denied:
        reading.denied.discard(call.key)
        # The API reports a denied call as an error of the tool.
        status = "denied" if status == "error" else status
    tool = ToolDraft(call_id, call.name if call else None, call.server if call else None, status=status)
    yield line.event(
        "tool_result", text, actor=("tool", tool.name or ""), parent=call.key if call else None, tool=tool,
        data={"attachments": attachments} if attachments else {},
    )  # fmt: skip


def request_end(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The tokens of one model request. The event names no model: it is that of the session's agent."""
    value = line.value
    stated = dict_of(value.get("model_usage"))
    data = scalars_of(value, COMMON) | scalars_of(
        {"speed": stated.get("speed") if stated.get("speed") != "standard" else None}
    )
    request = id_of(value.get("model_request_start_id")) or line.key
    usage = reading.usage(stated) if stated else None
    # A sub-agent may run on another model, and the event does not say which.
    model = None if line.depth else reading.facts.model
    yield line.event("model_request", actor=line.agent, usage=usage, request=request, model=model, data=data)


def evaluated(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The verdict of the model that grades the outcome, and what the grading took."""
    stated = dict_of(line.value.get("usage"))
    yield line.event(
        "status", text_of(line.value.get("explanation")), usage=reading.usage(stated) if stated else None,
        request=line.key if stated else None, data=_facts(line),
    )  # fmt: skip


def idle(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The session stopped: done, waiting for somebody, or at an end of retries or budget."""
    reason = dict_of(line.value.get("stop_reason"))
    kind = text_of(reason.get("type"))
    reading.facts.phase = "active" if kind in WAITS else "crashed" if kind in FAILED else "completed"
    details = dict_of(line.value.get("stop_details"))
    data = {"type": "idle"} | scalars_of(
        {"stop_reason": kind[:100], **scalars_of(details, frozenset({"type", "explanation"}))}
    )
    if waiting := [id for id in list_of(reason.get("event_ids")) if isinstance(id, str)]:
        data["event_ids"] = waiting[:LISTED]
    yield line.event("status", text_of(details.get("explanation")), data=data)


def state(reading: Reading, line: Line, phase: Any = None) -> Iterator[EventDraft]:
    """A change of phase: running, rescheduled, or ended. A session that failed and was then ended has failed."""
    if phase and not (phase == "completed" and reading.facts.phase == "crashed"):
        reading.facts.phase = phase
    yield line.event("status", data=_facts(line))


def interrupted(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A person stopped what the agent did."""
    yield line.event("status", actor=PERSON, data={"type": "interrupted"} | ({"queued": True} if _queued(line) else {}))


def failure(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """An error of the session or of a workflow; ``retry_status`` says whether it goes on."""
    error = dict_of(line.value.get("error"))
    retry = text_of(dict_of(error.get("retry_status")).get("type"))
    if retry == "terminal":
        reading.facts.phase = "crashed"
    data = scalars_of(error, frozenset({"message"})) | scalars_of({"retry_status": retry})
    yield line.event("error", text_of(error.get("message")), data=data)


def updated(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """Title, metadata, tools or budget were changed."""
    reading.facts.title = text_of(line.value.get("title")) or reading.facts.title
    changed = {key: bounded(value, len(line.raw)) for key, value in line.value.items() if key not in COMMON}
    yield line.event("system", data={"type": "session.updated"} | changed)


def snapshot(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """Cumulative totals; never added up. Those of the last one are compared with the sum of the requests."""
    reading.set_usage(dict_of(line.value.get("usage")))
    attachments = {
        key: bounded(line.value.get(key), len(line.raw)) for key in ("usage", "budget") if line.value.get(key)
    }
    yield line.event("system", data={"type": "session.usage"} | attachments)


def thread_created(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A sub-agent was started; its events stand below this one."""
    thread, name = id_of(line.value.get("session_thread_id")), id_of(line.value.get("agent_name"))
    yield line.event(
        "handoff", name or "", actor=line.agent, data=_facts(line) | scalars_of({"session_thread_id": thread})
    )
    if thread:
        reading.threads[thread] = line.key, name or ""


def between_threads(reading: Reading, line: Line, other: str, kind: Kind) -> Iterator[EventDraft]:
    """A message to a sub-agent is its task, one from it its answer; with a thread not known here it is a handoff."""
    text, _ = readable(line.value.get("content"))
    data = _facts(line)
    parent, agent = reading.threads.get(text_of(line.value.get(f"{other}_session_thread_id")), (None, ""))
    if parent is None:
        yield line.event("handoff", text, actor=line.agent, data=data)
        return
    line.depth, line.parent = 1, parent
    yield line.event(kind, text, actor=line.agent if kind == "user_message" else ("subagent", agent), data=data)


def setting_event(reading: Reading, line: Line, kind: Kind = "system") -> Iterator[EventDraft]:
    """Event of a type whose scalars are all its content."""
    yield line.event(kind, data=_facts(line))


def _approval(
    line: Line, parent: str | None, tool: ToolDraft, data: dict[str, Any], *, part: str = ":approval",
    actor: Actor = ("system", ""), text: str = "", status: str | None = None,
) -> EventDraft:  # fmt: skip
    asked = ToolDraft(tool.call_id, tool.name, tool.server, tool.arguments, status=status)
    return line.event("approval", text, part=part, parent=parent, actor=actor, tool=asked, data=data)


def _reason(policy: Any) -> dict[str, Any]:
    return scalars_of({"reason": dict_of(dict_of(policy).get("evaluated_permission")).get("reason_code")})


def _queued(line: Line) -> bool:
    return "processed_at" in line.value and line.value["processed_at"] is None


def _facts(line: Line) -> dict[str, Any]:
    kind = text_of(line.value.get("type"))
    short_text = {} if kind in ("user.message", "agent.message", "system.message") else {"type": kind}
    return short_text | scalars_of(line.value, COMMON | {"explanation"})


HANDLERS: dict[str, Handler] = {
    "user.message": partial(message, kind="user_message", person=True),
    "agent.message": partial(message, kind="agent_message", person=False),
    "system.message": partial(message, kind="injected_context", person=False),
    "user.define_outcome": outcome_wanted,
    "user.interrupt": interrupted,
    "user.tool_confirmation": confirmation,
    **dict.fromkeys(("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use"), tool_use),
    **dict.fromkeys(("agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result"), tool_result),
    "user.tool_result": tool_result,
    "agent.thinking": thinking,
    "agent.thread_message_sent": partial(between_threads, other="to", kind="user_message"),
    "agent.thread_message_received": partial(between_threads, other="from", kind="agent_message"),
    "agent.thread_context_compacted": partial(setting_event, kind="compaction"),
    "session.status_running": partial(state, phase="active"),
    "session.status_rescheduled": partial(state, phase="active"),
    "session.status_terminated": partial(state, phase="completed"),
    "session.status_idle": idle,
    "session.deleted": state,
    "session.error": failure,
    "session.updated": updated,
    "session.usage": snapshot,
    "session.thread_created": thread_created,
    **{f"session.thread_status_{name}": setting_event for name in ("running", "idle", "rescheduled", "terminated")},
    "span.model_request_start": setting_event,
    "span.model_request_end": request_end,
    "span.outcome_evaluation_start": setting_event,
    "span.outcome_evaluation_ongoing": setting_event,
    "span.outcome_evaluation_end": evaluated,
    **{f"workflow_run.{name}": setting_event for name in ("created", "phase_started", "phase_ended")},
    **{f"workflow_run.status_{name}": setting_event for name in ("running", "idle", "ended")},
    "workflow_run.error": failure,
}
