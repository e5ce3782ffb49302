"""A session as one OTLP document in JSON: spans after OpenTelemetry's conventions for generative AI.

One trace: ``invoke_agent`` around it, a ``chat`` for each response of the model with what was new in its input, an
``execute_tool`` for each call. What a sub-agent did stands under the call that started it. Written while walking; held
are the messages of one request and the calls that wait for their result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from ...drafts import EventDraft, Events, Json, Losses, SessionDraft
from ..common import origins
from ..common.jsonio import dumps
from ..common.values import dict_of, text_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STEP = timedelta(microseconds=1)
INTERNAL, CLIENT = 1, 3
"""``SpanKind`` of what runs here, and of a request to a model."""
FAILED = 2
"""``STATUS_CODE_ERROR``."""
INPUTS = {"user_message": "user", "system": "system", "injected_context": "system"}
OUTPUTS = ("agent_message", "reasoning", "model_request")
OUTCOMES = ("error", "cancelled", "denied")
TITLE = "countersign.session.title"
UNNAMED = "unknown"
NO_SPAN = "the conventions have no span for it"


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The document in pieces, the same for the same session. ``options``: ``created_at``, ``product_version``."""
    version = text_of(options.get("product_version"))
    recorder = dict_of(session.metadata.get("recorder"))
    resource = {"service.name": text_of(recorder.get("name")) or session.agent_name or "agent",
                "service.version": text_of(recorder.get("version")) or None}  # fmt: skip
    scope = {"name": "countersign", **({"version": version} if version else {})}
    yield b'{"resourceSpans":[{"resource":' + dumps({"attributes": attributes(resource)})
    yield b',"scopeSpans":[{"scope":' + dumps(scope) + b',"spans":['
    separator = b"\n"
    for span in _Spans(session, losses, options).of(events):
        yield separator + dumps(span)
        separator = b",\n"
    yield b"\n]}]}]}\n"
    for name in sorted(session.record):
        losses.lose(f"what {name} keeps beside its events", "spans have no place for it")
    if session.tags or session.summary:
        losses.lose("tags and summary", "spans have no place for it")


def attributes(values: dict[str, Json]) -> list[dict[str, Json]]:
    """``[{key, value: {stringValue}}]`` of those that are known; 64-bit integers are text (protobuf's mapping)."""
    return [{"key": name, "value": _any_value(value)} for name, value in values.items() if value is not None]


def _any_value(value: Json) -> dict[str, Json]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(item) for item in value]}}
    return {"stringValue": value if isinstance(value, str) else dumps(value).decode()}


def _hex(words: str, digits: int) -> str:
    """An id: never only zeros, which is none (OTLP)."""
    return sha256(words.encode("utf-8", "replace")).hexdigest()[: digits - 1] + "1"


LAST_NANOSECOND = 2**64 - 1
"""OTLP counts from 1970 in an unsigned number of 64 bits, which ends in 2554."""


def _nanoseconds(at: datetime, losses: Losses) -> str:
    since = at - EPOCH
    exact = ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1_000
    held = min(max(exact, 0), LAST_NANOSECOND)
    if held != exact:
        losses.lose("times before 1970 or after 2554", "OTLP has no numbers for them; the nearest was written")
    return str(held)


@dataclass(slots=True)
class _Request:
    """One request to the model, as far as the walk has come."""

    inputs: list[EventDraft] = field(default_factory=list)
    outputs: list[EventDraft] = field(default_factory=list)

    @property
    def events(self) -> list[EventDraft]:
        return self.inputs + self.outputs

    def goes_on_with(self, event: EventDraft) -> bool:
        """Is the event part of this request? One answer has one text, and what is said to the model comes before."""
        if not self.events:
            return True
        if self.events[-1].depth != event.depth:
            return False
        if event.kind in INPUTS:
            return not self.outputs
        same = {one.request for one in self.outputs} <= {event.request}
        billed = any(one.usage or one.cost is not None for one in self.outputs) and event.usage is not None
        return same and not billed and (event.kind == "tool_call" or not self._has_answered())

    def _has_answered(self) -> bool:
        return any(one.kind != "reasoning" for one in self.outputs)


class _Spans:
    """Spans of a session in the order of their starts; that of the whole run comes last."""

    def __init__(self, session: SessionDraft, losses: Losses, options: dict[str, Any]) -> None:
        self._session, self._losses = session, losses
        self._trace = _hex(f"trace\n{session.external_id}", 32)
        self._root = self._id("run")
        self._first: datetime | None = None
        self._last: datetime = session.started_at or options["created_at"]
        self._started: datetime | None = None
        """When the last span began: starts only grow, because readers order spans by them."""
        self._request = _Request()
        self._waiting: dict[str, tuple[EventDraft, datetime]] = {}
        """Calls without a result so far, by key, and when their spans begin."""
        self._by_call_id: dict[str, str] = {}
        self._owners: dict[str, str] = {}
        """Of events inside sub-agents, the key of the call that they run under."""

    def of(self, events: Events) -> Iterator[dict[str, Json]]:
        for event in events:
            if event.at is not None:
                self._first, self._last = self._first or event.at, max(self._last, event.at)
            if event.depth and event.parent:
                self._owners[event.key] = self._owners.get(event.parent, event.parent)
            if origins.to_write(event):
                self._losses.lose("who sent an event, and when it came", "spans have no place for it")
            yield from self._event(event)
        yield from self._flush()
        for call, start in list(self._waiting.values()):
            yield self._tool(call, start, None)
        yield self._run()

    def _event(self, event: EventDraft) -> Iterator[dict[str, Json]]:
        is_billed = event.usage is not None or event.cost is not None
        if event.kind in (*INPUTS, *OUTPUTS, "tool_call") or (is_billed and event.kind != "tool_result"):
            if not self._request.goes_on_with(event):
                yield from self._flush()
            self._tell(event)
            (self._request.inputs if event.kind in INPUTS else self._request.outputs).append(event)
        elif event.kind == "tool_result":
            yield from self._flush()
            yield from self._result(event)
        else:
            self._losses.lose(f"events of kind {event.kind}", NO_SPAN)

    def _tell(self, event: EventDraft) -> None:
        if event.kind == "injected_context":
            self._losses.lose("injected context", "told as a message of the system")
        elif event.kind in ("agent_message", "reasoning") and not event.text:
            self._losses.lose(f"events of kind {event.kind} without text", "a part of a message has a text")
        elif event.kind not in (*INPUTS, *OUTPUTS, "tool_call"):
            self._losses.lose(f"the kind {event.kind} of an event with tokens", "told as a request to the model")

    def _flush(self) -> Iterator[dict[str, Json]]:
        """The request that is complete: its chat, and the calls that it led to begin to wait."""
        request, self._request = self._request, _Request()
        calls = [event for event in request.outputs if event.kind == "tool_call"]
        billed = any(event.usage or event.cost is not None for event in request.events)
        if request.inputs or len(calls) < len(request.outputs) or billed:
            yield self._chat(request)
        for call in calls:
            self._waiting[call.key] = (call, self._start(call.at))
            if call.tool and call.tool.call_id:
                self._by_call_id[call.tool.call_id] = call.key

    def _result(self, event: EventDraft) -> Iterator[dict[str, Json]]:
        call_id = event.tool.call_id if event.tool else None
        key = self._by_call_id.pop(call_id, "") if call_id else ""
        found = self._waiting.pop(key or event.parent or "", None)
        if found is None:  # a result whose call is not in the log is a span of its own
            found = (event, self._start(event.at))
        yield self._tool(*found, event)

    # --- spans ---

    def _id(self, words: str) -> str:
        return _hex(f"{self._session.external_id}\n{words}", 16)

    def _start(self, at: datetime | None) -> datetime:
        start = at or self._started or self._last
        if self._started is not None and start <= self._started:
            if at is not None:
                self._losses.lose("times that are equal or go back", "spans are ordered by their start: 1 µs later")
            start = self._started + STEP
        self._started = start
        return start

    def _parent(self, event: EventDraft) -> str:
        owner = self._owners.get(event.key)
        return self._id(f"call\n{owner}") if owner else self._root

    def _span(
        self, id: str, name: str, kind: int, parent: str | None, start: datetime, end: datetime | None,
        values: dict[str, Json], fault: str | None = None,
    ) -> dict[str, Json]:  # fmt: skip
        return {
            "traceId": self._trace, "spanId": id, **({"parentSpanId": parent} if parent else {}), "name": name,
            "kind": kind, "startTimeUnixNano": _nanoseconds(start, self._losses),
            **({"endTimeUnixNano": _nanoseconds(max(start, end), self._losses)} if end else {}),
            "attributes": attributes({"gen_ai.conversation.id": self._session.external_id, **values}),
            "status": {} if fault is None else {"code": FAILED, "message": fault},
        }  # fmt: skip

    def _run(self) -> dict[str, Json]:
        session = self._session
        start = session.started_at or self._first or self._last
        values: dict[str, Json] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": session.agent_name or None,
            "gen_ai.provider.name": self._provider(),
            "gen_ai.request.model": session.model,
            "user.id": session.user_id or None,
            TITLE: session.title or None,
        }
        end = max(start, session.ended_at or self._last)
        fault = session.phase if session.phase in ("crashed", "timed_out", "cancelled") else None
        name = f"invoke_agent {session.agent_name}".strip()
        return self._span(self._root, name, INTERNAL, None, min(start, end), end, values, fault)

    def _provider(self) -> str | None:
        return text_of(self._session.metadata.get("provider")) or None

    def _chat(self, request: _Request) -> dict[str, Json]:
        first, last = request.events[0], request.events[-1]
        model = next((event.model for event in request.events if event.model), None)
        start = self._start(first.at)
        values: dict[str, Json] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._provider(),
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "gen_ai.response.id": next((event.request for event in request.events if event.request), None),
            "gen_ai.agent.name": next((event.actor_name or None for event in request.outputs), None),
            "gen_ai.input.messages": _messages(request.inputs) or None,
            "gen_ai.output.messages": _answer(request.outputs) or None,
            **_usage(request.events),
        }
        id, name = self._id(f"chat\n{first.key}"), f"chat {model or ''}".strip()
        return self._span(id, name, CLIENT, self._parent(first), start, last.at or start, values)

    def _tool(self, call: EventDraft, start: datetime, result: EventDraft | None) -> dict[str, Json]:
        tool, answer = call.tool, result.tool if result else None
        name = (tool.name if tool else None) or (answer.name if answer else None)
        values: dict[str, Json] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name or UNNAMED,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": tool.call_id if tool else None,
            "gen_ai.tool.call.arguments": _as_json(tool.arguments if tool and call is not result else None),
        }
        if not name:
            self._losses.lose("that nobody named a tool", f"a span of a call has a name: {UNNAMED}")
        fault, end = None, None
        if result is not None:
            end, status = result.at or start, answer.status if answer else None
            values["gen_ai.tool.call.result"] = result.text or _as_json(answer.result if answer else None)
            if status in OUTCOMES:
                fault, values["error.type"] = result.text, status
            if status not in ("ok", "error"):
                self._losses.lose(f"the outcome {status or 'that nobody stated'} of a call", "a span fails or does not")
        id, title = self._id(f"call\n{call.key}"), f"execute_tool {name or ''}".strip()
        return self._span(id, title, INTERNAL, self._parent(call), start, end, values, fault)


def _as_json(value: Json) -> Json:
    """A text as it is, anything else as JSON text: attributes of spans hold no objects in most stores."""
    return value if value is None or isinstance(value, str) else dumps(value).decode()


def _messages(events: list[EventDraft]) -> str:
    told = [{"role": INPUTS[event.kind], "parts": [{"type": "text", "content": event.text}]} for event in events]
    return dumps(told).decode() if told else ""


def _answer(events: list[EventDraft]) -> str:
    parts = [part for event in events if (part := _part(event))]
    reason = "tool_call" if any(event.kind == "tool_call" for event in events) else "stop"
    return dumps([{"role": "assistant", "parts": parts, "finish_reason": reason}]).decode() if parts else ""


def _part(event: EventDraft) -> dict[str, Json] | None:
    if event.kind == "tool_call":
        tool = event.tool
        told: dict[str, Json] = {"type": "tool_call", "name": (tool.name if tool else None) or UNNAMED}
        if tool and tool.call_id:
            told["id"] = tool.call_id
        return {**told, "arguments": tool.arguments if tool else None}
    if not event.text:
        return None
    return {"type": "reasoning" if event.kind == "reasoning" else "text", "content": event.text}


def _usage(events: list[EventDraft]) -> dict[str, Json]:
    """Tokens of the response; the conventions count what was read from and written to the cache among the input."""
    usage = next((event.usage for event in reversed(events) if event.usage), None)
    cost = next((event.cost for event in reversed(events) if event.cost is not None), None)
    billed: dict[str, Json] = {"gen_ai.usage.cost": float(cost) if cost is not None else None}
    if usage is None:
        return billed
    parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [count for count in parts if count is not None]
    return {
        "gen_ai.usage.input_tokens": sum(known) if known else None,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        **billed,
    }
