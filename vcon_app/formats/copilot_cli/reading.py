"""One pass over ``events.jsonl``: each line is ``{type, data, id, timestamp, parentId}``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from ...drafts import EventDraft, Finding, Kind, SessionDraft, ToolDraft, Usage
from ..common.calls import Call, id_of
from ..common.facts import ID_LIMIT
from ..common.lines import Actor, Line
from ..common.reading import REMEMBERED, FactsReading, unknown_type
from ..common.times import from_epoch
from ..common.values import bounded, count_of, dict_of, forget_oldest, list_of, scalars_of, text_of
from .results import result_of
from .timeline import parsed
from .usage import Leg, dollars_of, usage_of

NOTES = frozenset({
    "session.info", "session.warning", "session.auto_mode_resolved", "session.usage_checkpoint", "session.idle",
    "session.mode_changed", "session.plan_changed", "session.workspace_file_changed", "session.context_changed",
    "session.usage_info", "session.compaction_start", "session.background_tasks_changed",
    "session.tools_updated", "session.task_complete", "session.remote_steerable_changed",
    "session.skills_loaded", "session.custom_agents_updated", "session.mcp_servers_loaded",
    "session.extensions_loaded", "assistant.turn_start", "assistant.turn_end", "assistant.intent", "hook.start",
    "hook.end", "pending_messages.modified", "tool.user_requested", "tool.execution_progress",
    "tool.execution_partial_result", "subagent.selected", "subagent.deselected", "command.queued",
    "command.execute", "command.completed", "user_input.requested", "user_input.completed",
    "elicitation.requested", "elicitation.completed", "external_tool.requested", "external_tool.completed",
    "exit_plan_mode.requested", "exit_plan_mode.completed", "capabilities.changed", "permission.requested",
})  # fmt: skip
"""Events that tell a stage or a setting: their scalars are all there is."""


LineHandler = Callable[["EventsReading", Line], Iterable[EventDraft]]


class EventsReading(FactsReading):
    """The state of one file while it is read."""

    name = "copilot-cli"
    title = "GitHub Copilot CLI"

    def __init__(self, hooks: Mapping[str, LineHandler]) -> None:
        """``hooks`` reads lines of older files, by the name of their hook."""
        super().__init__()
        self._hooks = hooks
        self.leg = Leg()
        self.dollars = Decimal(0)
        self.model: str | None = None
        self.agents: dict[str, str] = {}
        """Call that started a sub-agent -> its name."""
        self.thought = ""
        """The reasoning told last; a message tells it again."""
        self.decided: str | None = None
        """The call that an answer was recorded for last; its result need not be read for one."""
        self._id_is_fixed = False

    def timed(self, line: Line) -> Iterator[Finding]:
        """Hooks are given milliseconds, so lines named after them may have these."""
        if (at := from_epoch(line.value.get("timestamp"), 1000)) is not None:
            line.at = at
        else:
            yield from super().timed(line)

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        data, kind = dict_of(line.value.get("data")), line.value.get("type")
        if kind == "session.start":
            if not self._id_is_fixed:
                self.facts.session = self.facts.session or text_of(data.get("sessionId"))
            self.facts.version = text_of(data.get("copilotVersion"))
        if kind in ("session.start", "session.resume"):
            told = dict_of(data.get("context"))
            self.facts.set_environment(
                cwd=told.get("cwd"), git_branch=told.get("branch"), commit=told.get("headCommit"),
                repository=told.get("repository"),
            )  # fmt: skip
            self.set_model(data.get("selectedModel"))
        elif "sessionId" in line.value and not self._id_is_fixed:  # older lines
            self.facts.session = self.facts.session or text_of(line.value["sessionId"])
            self.facts.set_environment(cwd=line.value.get("cwd"))
        return bool(self.facts.session)

    def fix_session_id(self) -> None:
        self._id_is_fixed = True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        own = text_of(line.value.get("id"))[:ID_LIMIT]
        kind = text_of(line.value.get("type")) or "line"
        line.key = self._keys.named(own, line) if own else self._keys.derived(kind, line)
        self.note_session(line)
        data = dict_of(line.value.get("data"))
        line.agent = "agent", "Copilot"
        if above := id_of(data.get("parentToolCallId")):
            call = self.calls.get(above)
            line.depth, line.parent = 1, call.key if call else None
            line.agent = "subagent", self.agents.get(above, "")
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind, data = line.value.get("type"), line.value.get("data")
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        old = self._hooks.get(text_of(kind).lower())
        if handler and isinstance(data, dict):
            yield from handler(self, line, data)
        elif old and data is None:
            yield from old(self, line)
        else:
            yield self.unknown(line, unknown_type(kind))

    def session(self, *, complete: bool) -> SessionDraft:
        if self.dollars:
            self.facts.more["total_cost_usd"] = str(self.dollars)
        return self.facts.draft(complete=complete)

    def set_model(self, model: Any) -> None:
        """Set the model of the responses that follow."""
        if named := text_of(model)[:ID_LIMIT]:
            self.model = self.facts.model = named

    def billing(self, line: Line, usage: Usage | None, request: str) -> dict[str, Any]:
        """Keywords of the event that carries the tokens of a response. A sub-agent may have a model of its own."""
        named = text_of(line.value["data"].get("model"))[:ID_LIMIT]
        if not line.depth:
            self.set_model(named)
        model = named or self.model
        if usage is None:
            return {"model": model}
        self.leg.add(request, model, usage)
        return {"model": model, "usage": usage, "request": request}


def user_message(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """The typed prompt, then what was sent in its place. Skills and the like have a ``source``."""
    text, sent, source = (
        text_of(data.get("content")),
        text_of(data.get("transformedContent")),
        text_of(data.get("source")),
    )
    facts: dict[str, Any] = scalars_of({"agent_mode": data.get("agentMode")})
    if found := [attachment(dict_of(item)) for item in list_of(data.get("attachments"))[:50]]:
        facts["attachments"] = found
    if source not in ("", "user"):
        yield line.event("injected_context", text or sent, data={"type": source[:100]} | facts)
        return
    asks: Actor = ("agent", "") if line.depth else ("person", "")
    yield line.event("user_message", text or sent, at_path="/data/content", actor=asks, data=facts)
    if text and sent.strip() not in ("", text.strip()):
        yield line.event(
            "injected_context", sent, part=":sent", at_path="/data/transformedContent", data={"type": "sent"}
        )


def attachment(item: dict[str, Any]) -> dict[str, Any]:
    """What was attached, without its payload."""
    payload = text_of(item.get("data"))
    size = {"bytes": len(payload) * 3 // 4 - payload[-2:].count("=")} if payload else {}
    kept = {"title": item.get("displayName"), "path": item.get("path"), "media_type": item.get("mimeType")}
    return {"type": text_of(item.get("type"))[:50]} | scalars_of(kept) | size


def assistant_message(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """A response: what was thought and said, and the calls it asks for; its output stands on the last event."""
    output = count_of(data.get("outputTokens"))
    request = id_of(data.get("apiCallId")) or id_of(data.get("messageId")) or line.key
    billing = reading.billing(line, None if output is None else Usage(output_tokens=output), request)
    steps = list(_steps(reading, data))
    if not steps:
        empty: Kind = "model_request" if "usage" in billing else "system"
        yield line.event(empty, actor=line.agent, data={"type": "assistant.message"}, **billing)
    for number, (kind, part, path, more) in enumerate(steps, 1):
        if kind == "tool_call":
            reading.calls.add(more["tool"].call_id, Call(line.key + part, more["tool"].name or "", more["tool"].server))
        carried = billing if number == len(steps) else {"model": billing["model"]}
        yield line.event(kind, part=part, at_path=path, actor=line.agent, **more, **carried)


def _steps(reading: EventsReading, data: dict[str, Any]) -> Iterator[tuple[Kind, str, str, dict[str, Any]]]:
    thought, said = text_of(data.get("reasoningText")), text_of(data.get("content"))
    sealed = bool(data.get("reasoningOpaque"))
    if (thought and thought != reading.thought) or (sealed and not thought):
        yield (
            "reasoning",
            ":r",
            "/data/reasoningText",
            {"text": thought, "data": {} if thought else {"encrypted": True}},
        )
    if said:
        yield "agent_message", "", "/data/content", {"text": said}
    seen = set()
    for index, value in enumerate(list_of(data.get("toolRequests"))):
        asked = dict_of(value)
        call_id = id_of(asked.get("toolCallId"))
        if call_id is None or (call_id not in seen and reading.calls.get(call_id) is None):
            seen.add(call_id)
            told = scalars_of({"intention": asked.get("intentionSummary"), "title": asked.get("toolTitle")})
            yield "tool_call", f":{index + 1}", f"/data/toolRequests/{index}", {"tool": tool_of(asked), "data": told}


def tool_of(asked: dict[str, Any]) -> ToolDraft:
    """A call as a message asks for it or as its start tells it."""
    name = text_of(asked.get("mcpToolName") or asked.get("name") or asked.get("toolName"))[:ID_LIMIT] or None
    server = text_of(asked.get("mcpServerName"))[:ID_LIMIT] or None
    return ToolDraft(id_of(asked.get("toolCallId")), name, server, bounded(parsed(asked.get("arguments")), 0))


def assistant_reasoning(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    reading.thought = text_of(data.get("content"))
    yield line.event("reasoning", reading.thought, at_path="/data/content", actor=line.agent, model=reading.model)


def assistant_usage(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """All tokens of one response; only recordings of the SDK have this event."""
    request = id_of(data.get("apiCallId")) or line.key
    billing = reading.billing(line, usage_of(data), request)
    yield line.event("model_request", actor=line.agent, data={"type": "assistant.usage"} | scalars_of(data), **billing)


def tool_start(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """A call that no message asked for (older versions) begins here; another one was told with its message."""
    tool = tool_of(data)
    call = reading.calls.get(tool.call_id)
    if call is None:
        reading.calls.add(tool.call_id, Call(line.key, tool.name or "", tool.server))
        yield line.event("tool_call", at_path="/data", actor=line.agent, model=reading.model, tool=tool)
    else:
        yield line.event("system", parent=call.key, data={"type": "tool.execution_start"} | scalars_of(data))


def tool_complete(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """The result of a call. A refusal stands in its error."""
    call_id = id_of(data.get("toolCallId"))
    call = reading.calls.get(call_id)
    name, parent = (call.name if call else ""), call.key if call else None
    result = result_of(data, len(line.raw))
    if result.status == "denied" and (call_id is None or call_id != reading.decided):
        yield line.event(
            "approval", part=":denied", parent=parent, tool=ToolDraft(call_id, name or None, status="denied"),
            data={"type": "rejected", "decision": "denied", "by": "user", "inferred": True},
        )  # fmt: skip
    tool = ToolDraft(call_id, name or None, call.server if call else None, None, result.facts or None, result.status)
    yield line.event("tool_result", result.text, at_path="/data/result", actor=("tool", name), parent=parent, tool=tool)


def permission(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """``permission.completed``: the answer of a person, of a rule, or of nobody."""
    told = dict_of(data.get("result")) or data
    answer = text_of(told.get("kind"))[:100]
    call_id = id_of(data.get("toolCallId")) or id_of(dict_of(data.get("permissionRequest")).get("toolCallId"))
    call = reading.calls.get(call_id)
    about = {"type": "permission.completed", "answer": answer} | scalars_of(data)
    if not answer.startswith(("approved", "denied")):
        yield line.event("system", parent=call.key if call else None, data=about)
        return
    decision, reading.decided = "approved" if answer.startswith("approved") else "denied", call_id
    by = "user" if "user" in answer or "interactive" in answer or answer == "approved" else "policy"
    tool = ToolDraft(call_id, call.name if call else None, call.server if call else None)
    about |= {"decision": decision, "by": by, "inferred": False}
    yield line.event(
        "approval", text_of(told.get("feedback")), parent=call.key if call else None, tool=tool, data=about
    )


def sub_agent(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """A sub-agent starts or ends; what it does stands between, one level down."""
    call_id = id_of(data.get("toolCallId"))
    call = reading.calls.get(call_id)
    if call_id and line.value["type"] == "subagent.started":
        reading.agents[call_id] = text_of(data.get("agentDisplayName") or data.get("agentName"))[:ID_LIMIT]
        forget_oldest(reading.agents, REMEMBERED)
    failed = line.value["type"] == "subagent.failed"
    text = text_of(data.get("error")) if failed else ""
    about = {"type": line.value["type"]} | scalars_of(data)
    yield line.event("error" if failed else "system", text, parent=call.key if call else None, data=about)


def context(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """The system prompt, notices, and skills that were put before the model."""
    about = (
        {"type": line.value["type"]}
        | scalars_of(data, frozenset({"content"}))
        | scalars_of(dict_of(data.get("kind")), frozenset({"type"}))
    )
    yield line.event("injected_context", text_of(data.get("content")), at_path="/data/content", data=about)


def failed(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    about = {"type": line.value["type"]} | scalars_of(data, frozenset({"message", "stack"}))
    yield line.event("error", text_of(data.get("message")), at_path="/data/message", data=about)


def aborted(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    yield line.event("status", actor=("person", ""), data={"type": "interrupted"} | scalars_of(data))


def rewound(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """A rewind: the person went back. Events in between have happened, so they stay."""
    yield line.event("status", actor=("person", ""), data={"type": "rewind"} | scalars_of(data))


def compacted(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """The history was summed up, or cut off at its beginning."""
    before = data.get("preCompactionTokens", data.get("preTruncationTokensInMessages"))
    after = data.get("postCompactionTokens", data.get("postTruncationTokensInMessages"))
    about = {
        "type": line.value["type"],
        "compact_metadata": {"preTokens": count_of(before), "postTokens": count_of(after)},
    }
    yield line.event(
        "compaction", text_of(data.get("summaryContent")), data=about | scalars_of(data, frozenset({"summaryContent"}))
    )


def shut_down(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    """The end of a leg: the tokens of each model that no message stated, then its outcome and what all of it cost."""
    kind = text_of(data.get("shutdownType"))
    reading.facts.phase = "crashed" if kind == "error" else "completed"
    day = line.at.date().isoformat() if line.at else ""
    dollars = dollars_of(data.get("totalNanoAiu"), day)
    reading.dollars += dollars or 0
    for number, (model, usage) in enumerate(reading.leg.close(dict_of(data.get("modelMetrics")))):
        part = f":tokens:{number}"
        yield line.event(
            "model_request", part=part, at_path="/data/modelMetrics", actor=("agent", "Copilot"),
            model=model[:ID_LIMIT], usage=usage, request=line.key + part, data={"type": "session.shutdown"},
        )  # fmt: skip
    about = (
        {"type": "session.shutdown"} | scalars_of(data) | {"code_changes": scalars_of(dict_of(data.get("codeChanges")))}
    )
    if dollars:
        about["cost_covers"] = "everything since the statement before"
    outcome = "error" if kind == "error" else "status"
    yield line.event(outcome, text_of(data.get("errorReason")), data=about, cost=dollars or None)


def model_change(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    reading.set_model(data.get("newModel"))
    yield line.event("system", data={"type": line.value["type"]} | scalars_of(data))


def titled(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    reading.facts.title = text_of(data.get("title")) or reading.facts.title
    yield line.event("system", reading.facts.title, data={"type": line.value["type"]})


def handed_over(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    text = text_of(data.get("summary")) or text_of(data.get("context"))
    yield line.event(
        "handoff", text, data={"type": line.value["type"]} | scalars_of(data, frozenset({"summary", "context"}))
    )


def setting_event(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    call = reading.calls.get(data.get("toolCallId"))
    about = {"type": line.value["type"]} | scalars_of(data, frozenset({"message"}))
    yield line.event("system", text_of(data.get("message")), parent=call.key if call else None, data=about)


def started(reading: EventsReading, line: Line, data: dict[str, Any]) -> Iterator[EventDraft]:
    about = {"type": line.value["type"]} | scalars_of(data)
    yield line.event("system", data=about | {"context": scalars_of(dict_of(data.get("context")))})


HANDLERS: dict[str, Callable[[EventsReading, Line, dict[str, Any]], Iterable[EventDraft]]] = {
    **dict.fromkeys(("session.start", "session.resume"), started),
    "session.shutdown": shut_down,
    "session.error": failed,
    "session.model_change": model_change,
    "session.title_changed": titled,
    "session.handoff": handed_over,
    "session.snapshot_rewind": rewound,
    **dict.fromkeys(("session.compaction_complete", "session.truncation"), compacted),
    "user.message": user_message,
    "assistant.message": assistant_message,
    "assistant.reasoning": assistant_reasoning,
    "assistant.usage": assistant_usage,
    "tool.execution_start": tool_start,
    "tool.execution_complete": tool_complete,
    "permission.completed": permission,
    **dict.fromkeys(("subagent.started", "subagent.completed", "subagent.failed"), sub_agent),
    **dict.fromkeys(("system.message", "system.notification", "skill.invoked"), context),
    "abort": aborted,
    **dict.fromkeys(NOTES, setting_event),
}
