"""Mapping of events of Managed Agents to events of the log. No requests, no database: JSON in, events out.

The types are those of the API in November 2026; every other one is kept whole as ``unknown``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from sessions_app.drafts import EventDraft, ToolDraft, Usage

Json = dict[str, Any]
CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
ANSWERS = {"user.tool_confirmation": "tool_use_id", "user.custom_tool_result": "custom_tool_use_id"}
RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}
COVERS = "everything since the statement before"
CENTS = Decimal(100)
ENDS = {
    "refusal": "The model refused to go on",
    "budget_reached": "The budget of this session at the runtime is used up. Raise it there, or start a new session.",
    "retries_exhausted": "The runtime gave up after several failed requests to the model. Try again later.",
}
"""Reasons for which a turn ends badly, in words for the person who reads the session."""


@dataclass(slots=True)
class Thread:
    """A sub-agent: the key of the event that started it, its name and its model."""

    key: str
    name: str
    model: str | None = None


@dataclass(slots=True)
class Mapping:
    """Mapping of wire events, with what earlier ones said. ``cents`` is the session's cost at its last statement."""

    agent: str
    model: str | None = None
    cents: Decimal = Decimal(0)
    calls: dict[str, ToolDraft] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    """Calls that were refused and whose results are still to come."""
    threads: dict[str, Thread] = field(default_factory=dict)
    mine: dict[str, str] = field(default_factory=dict)
    """Messages that were sent from here: id there -> key of the message here."""
    results: set[str] = field(default_factory=set)
    """Calls whose results came from here, so that the log has them already."""

    def drafts_of(self, wire: Json, thread: str = "") -> Iterator[EventDraft]:
        """Drafts for one wire event. ``thread``: on whose list it stood. A message that is only queued yields none."""
        if is_queued(wire):
            return
        source = _WireEvent(self, wire, thread or _text(wire.get("session_thread_id")))
        yield from HANDLERS.get(source.type, _unknown)(source)


@dataclass(slots=True)
class _WireEvent:
    """One event of the API, with the mapping and the thread that it belongs to."""

    mapping: Mapping
    wire: Json
    thread: str

    @property
    def type(self) -> str:
        return _text(self.wire.get("type"))

    @property
    def of_thread(self) -> Thread | None:
        return self.mapping.threads.get(self.thread)

    @property
    def model(self) -> str | None:
        return self.of_thread.model if self.of_thread else self.mapping.model

    def event(
        self, kind: str, text: str = "", *, part: str = "", data: Json | None = None, **fields: Any
    ) -> EventDraft:
        """Draft at the place of this wire event; its actor is the agent or sub-agent unless ``fields`` name another."""
        below = self.of_thread
        actor = ("subagent", below.name) if below else ("agent", self.mapping.agent)
        fields = {"actor_kind": actor[0], "actor_name": actor[1]} | fields
        fields |= {"depth": 1, "parent": fields.get("parent") or below.key} if below else {}
        return EventDraft(
            kind, key_of(self.wire) + part, at=time_of(self.wire), text=text, data={"type": self.type} | (data or {}),
            **fields,
        )  # fmt: skip


def is_queued(wire: Json) -> bool:
    """Whether it was sent and not taken up yet; it comes again when it is."""
    return "processed_at" in wire and wire["processed_at"] is None


def id_of(wire: Json) -> str:
    return _text(wire.get("id"))


def key_of(wire: Json) -> str:
    """Natural key of a wire event: its id, or a hash of its content where it has none."""
    if id_ := id_of(wire):
        return f"managed:{id_}"
    raw = orjson.dumps(wire, option=orjson.OPT_SORT_KEYS)
    return f"managed:{hashlib.blake2b(raw, digest_size=16).hexdigest()}"


def time_of(wire: Json) -> datetime | None:
    try:
        return datetime.fromisoformat(_text(wire.get("processed_at")))
    except ValueError:
        return None


def text_of(content: Any) -> tuple[str, list[Json]]:
    """The text of content blocks, and of the others what they are; their payload is not kept."""
    if isinstance(content, str):
        return content, []
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(texts), [_attachment(block) for block in blocks if block.get("type") != "text"]


def cents_of(usage: Any) -> Decimal | None:
    """The cost in a usage snapshot: a string of whole US cents, "187" is $1.87. None where it states none."""
    cost = _dict(_dict(usage).get("list_cost"))
    try:
        amount = Decimal(_text(cost.get("amount")))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 and cost.get("currency", "USD") == "USD" else None


def _attachment(block: Json) -> Json:
    block_source = _dict(block.get("source"))
    size = len(_text(block_source.get("data"))) * 3 // 4
    described = {"type": _text(block.get("type")), "title": _text(block.get("title"))}
    described |= {"media_type": _text(block_source.get("media_type")), "file_id": _text(block_source.get("file_id"))}
    return {key: value for key, value in described.items() if value} | ({"bytes": size} if size else {})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _extra_fields(wire: Json) -> Json:
    """Fields of a wire event besides those that every event has."""
    return {
        key: value for key, value in wire.items() if key not in ("id", "type", "processed_at") and value is not None
    }


# --- messages ---


def _user_message(source: _WireEvent) -> Iterator[EventDraft]:
    """One sent from here is in the log already, so its arrival is noted. One from elsewhere begins no turn here."""
    wire = source.wire
    if ours := source.mapping.mine.get(_text(wire.get("id"))):
        yield sent_note(wire, ours)
        return
    text, more = text_of(wire.get("content"))
    data = {"sent_elsewhere": True} | ({"attachments": more} if more else {})
    yield source.event("injected_context", text, actor_kind="person", actor_name="", data=data)


def sent_note(wire: Json, message: str) -> EventDraft:
    """Note that the message with this key has reached the runtime."""
    data = {"type": "user.message", "status": "sent", "message": message}
    return EventDraft(
        "system", key_of(wire), at=time_of(wire), actor_kind="system", text="sent to the runtime", data=data
    )


def _agent_message(source: _WireEvent) -> Iterator[EventDraft]:
    text, more = text_of(source.wire.get("content"))
    redacted = sum(block.get("type") == "redacted" for block in more)
    files = [block for block in more if block.get("type") != "redacted"]
    data = ({"redacted": redacted} if redacted else {}) | ({"attachments": files} if files else {})
    yield source.event(
        "agent_message", text, request=_text(source.wire.get("id")) or None, model=source.model, data=data
    )


def _thinking(source: _WireEvent) -> Iterator[EventDraft]:
    """Reasoning without its text: the API does not send what was thought."""
    yield source.event("reasoning", data={"not_recorded": True})


def _system_message(source: _WireEvent) -> Iterator[EventDraft]:
    yield source.event("injected_context", text_of(source.wire.get("content"))[0], actor_kind="system", actor_name="")


def _outcome_wanted(source: _WireEvent) -> Iterator[EventDraft]:
    text = _text(source.wire.get("description"))
    yield source.event("injected_context", text, actor_kind="person", actor_name="", data=_extra_fields(source.wire))


# --- tools ---


def _tool_use(source: _WireEvent) -> Iterator[EventDraft]:
    """A call; where the runtime's own policy refused it, that too."""
    wire, id_ = source.wire, _text(source.wire.get("id"))
    tool = ToolDraft(id_, _text(wire.get("name")), _text(wire.get("mcp_server_name")) or None, wire.get("input"))
    source.mapping.calls[id_] = tool
    data = {key: wire[key] for key in ("evaluated_permission", "evaluation", "session_thread_id") if wire.get(key)}
    yield source.event("tool_call", tool=tool, model=source.model, data=data)
    if wire.get("evaluated_permission") == "deny":
        source.mapping.denied.add(id_)
        verdict = _dict(_dict(wire.get("evaluation")).get("evaluated_permission"))
        reason = _text(verdict.get("reason_code")) or "the tool is not enabled"
        refused = {"decision": "denied", "by": "policy", "reason": reason}
        yield source.event(
            "approval", f"refused by the runtime's policy: {reason}", part=":policy", tool=tool, actor_kind="system",
            actor_name="", data=refused,
        )  # fmt: skip


def _tool_result(source: _WireEvent) -> Iterator[EventDraft]:
    wire, id_ = source.wire, _text(source.wire.get(RESULTS[source.type]))
    if id_ in source.mapping.results:
        yield from _answer_taken(source)
        return
    call = source.mapping.calls.get(id_, ToolDraft())
    text, more = text_of(wire.get("content"))
    status = "ok" if wire.get("is_error") is not True else "denied" if id_ in source.mapping.denied else "error"
    tool = ToolDraft(call_id=id_, name=call.name, server=call.server, status=status)
    yield source.event(
        "tool_result", text, actor_kind="tool", actor_name=call.name or "", parent=f"managed:{id_}", tool=tool,
        data={"attachments": more} if more else {},
    )  # fmt: skip


def _confirmation(source: _WireEvent) -> Iterator[EventDraft]:
    if source.wire.get("result") == "deny":
        source.mapping.denied.add(_text(source.wire.get("tool_use_id")))
    yield from _answer_taken(source)


def _answer_taken(source: _WireEvent) -> Iterator[EventDraft]:
    """An answer as the runtime took it; the approval or the result in the log tells who gave it."""
    answer = {key: value for key, value in _extra_fields(source.wire).items() if key != "content"}
    yield source.event("system", actor_kind="system", actor_name="", data={"status": "answer_taken"} | answer)


# --- what it took ---


def _request_end(source: _WireEvent) -> Iterator[EventDraft]:
    """Tokens of one response; the cache counts stand beside ``input_tokens``. A failed one may have some, too."""
    used = _dict(source.wire.get("model_usage"))
    data = {key: source.wire[key] for key in ("is_error",) if source.wire.get(key)}
    data |= {"speed": used["speed"]} if used.get("speed") not in (None, "standard") else {}
    request = _text(source.wire.get("model_request_start_id")) or _text(source.wire.get("id"))
    yield source.event("model_request", usage=_tokens(used), request=request, model=source.model, data=data)


def _tokens(used: Json) -> Usage | None:
    counts = Usage(
        input_tokens=_count(used.get("input_tokens")),
        cache_read_tokens=_count(used.get("cache_read_input_tokens")),
        cache_write_tokens=_count(used.get("cache_creation_input_tokens")),
        output_tokens=_count(used.get("output_tokens")),
    )
    return None if counts == Usage() else counts


def _session_usage(source: _WireEvent) -> Iterator[EventDraft]:
    """Statement of cost. It is cumulative, so the event carries the difference; it covers sub-agents and run time."""
    data = {key: source.wire[key] for key in ("usage", "budget") if source.wire.get(key)}
    total = cents_of(source.wire.get("usage"))
    if total is None or total < source.mapping.cents:
        yield source.event("system", actor_kind="system", actor_name="", data=data)
        return
    cost, source.mapping.cents = (total - source.mapping.cents) / CENTS, total
    request = _text(source.wire.get("id")) or None
    data["cost_covers"] = COVERS
    yield source.event("system", actor_kind="system", actor_name="", request=request, cost=cost, data=data)


def _evaluated(source: _WireEvent) -> Iterator[EventDraft]:
    usage = _tokens(_dict(source.wire.get("usage")))
    request = _text(source.wire.get("id")) if usage else None
    text = _text(source.wire.get("explanation"))
    yield source.event("status", text, usage=usage, request=request, model=source.model if usage else None,
                     data=_extra_fields(source.wire))  # fmt: skip


# --- how it stands ---


def _session_idle(source: _WireEvent) -> Iterator[EventDraft]:
    """End of the provider's work; with a bad stop reason, an error that a person has to see."""
    stop, details = _dict(source.wire.get("stop_reason")), _dict(source.wire.get("stop_details"))
    reason = _text(stop.get("type"))
    data = {"status": "idle", "stop_reason": reason} | _extra_fields(stop | {"stop_details": details or None})
    if reason not in ENDS:
        yield source.event("system", actor_kind="system", actor_name="", data=data)
        return
    more = [part for part in (_text(details.get("category")), _text(details.get("explanation"))) if part]
    yield source.event("error", ": ".join([ENDS[reason], *more]), actor_kind="system", data=data)


def _error(source: _WireEvent) -> Iterator[EventDraft]:
    error = _dict(source.wire.get("error"))
    retry = _text(_dict(error.get("retry_status")).get("type"))
    more = {"retrying": " (the runtime tries again)", "terminal": " (the session cannot go on)"}.get(retry, "")
    text = (_text(error.get("message")) or _text(error.get("type")) or "an error without words") + more
    yield source.event("error", text, actor_kind="system", data={"error": error})


def _thread_created(source: _WireEvent) -> Iterator[EventDraft]:
    """A sub-agent begins; its events stand below this one."""
    id_, name = _text(source.wire.get("session_thread_id")), _text(source.wire.get("agent_name"))
    created = _WireEvent(source.mapping, source.wire, "")
    yield created.event("handoff", name, data=_extra_fields(source.wire))
    if id_:
        source.mapping.threads.setdefault(id_, Thread(key_of(source.wire), name))


def _between_threads(source: _WireEvent) -> Iterator[EventDraft]:
    """The task of a sub-agent, or its answer."""
    sent = source.type == "agent.thread_message_sent"
    other = _text(source.wire.get("to_session_thread_id" if sent else "from_session_thread_id"))
    text, _ = text_of(source.wire.get("content"))
    if other not in source.mapping.threads:
        yield source.event("handoff", text, data=_extra_fields(source.wire) | {"content": None})
        return
    below = _WireEvent(source.mapping, source.wire, other)
    actor = {"actor_kind": "agent", "actor_name": source.mapping.agent} if sent else {}
    yield below.event("user_message" if sent else "agent_message", text, **actor)


def _note(kind: str) -> Callable[[_WireEvent], Iterator[EventDraft]]:
    def handler(source: _WireEvent) -> Iterator[EventDraft]:
        yield source.event(kind, actor_kind="system", actor_name="", data=_extra_fields(source.wire))

    return handler


def _unknown(source: _WireEvent) -> Iterator[EventDraft]:
    yield source.event("unknown", data={"raw": source.wire})


STATES = ("running", "idle", "rescheduled", "terminated")
HANDLERS: dict[str, Callable[[_WireEvent], Iterator[EventDraft]]] = {
    "user.message": _user_message,
    "user.define_outcome": _outcome_wanted,
    "user.interrupt": _note("system"),
    "user.tool_confirmation": _confirmation,
    "system.message": _system_message,
    "agent.message": _agent_message,
    "agent.thinking": _thinking,
    **dict.fromkeys(CALLS, _tool_use),
    **dict.fromkeys(RESULTS, _tool_result),
    **dict.fromkeys(("agent.thread_message_sent", "agent.thread_message_received"), _between_threads),
    "agent.thread_context_compacted": _note("compaction"),
    **{f"session.status_{state}": _note("system") for state in ("running", "rescheduled")},
    "session.status_terminated": _note("status"),
    **{f"session.thread_status_{state}": _note("system") for state in STATES},
    "session.status_idle": _session_idle,
    "session.error": _error,
    "session.updated": _note("system"),
    "session.usage": _session_usage,
    "session.thread_created": _thread_created,
    "session.deleted": _note("status"),
    "span.model_request_start": _note("system"),
    "span.model_request_end": _request_end,
    **{f"span.outcome_evaluation_{step}": _note("system") for step in ("start", "ongoing")},
    "span.outcome_evaluation_end": _evaluated,
    **{f"workflow_run.{step}": _note("system") for step in ("created", "phase_started", "phase_ended")},
    **{f"workflow_run.status_{state}": _note("system") for state in ("running", "idle", "ended")},
    "workflow_run.error": _error,
}
