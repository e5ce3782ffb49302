"""Sessions out of spans: one for each conversation, else for each trace."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ...drafts import Draft, EventDraft, Finding, SessionDraft, ToolDraft
from ..common.calls import ID_LIMIT, Call, Calls, id_of, server_of
from ..common.reading import Findings
from ..common.spans.forest import MOST_LEVELS, Forest, Kind, Node
from ..common.spans.parts import parsed_if_json, readable
from ..common.spans.telling import Teller
from ..common.unknown import unknown_event
from ..common.values import bounded, scalars_of
from .content import (
    AGENTS,
    REQUESTS,
    STRUCTURE,
    answered,
    cost_of,
    exceptions,
    operation,
    request_messages,
    tool_texts,
    usage_of,
)
from .span import Span

FORMAT = "otel-genai"
CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id")
LATEST = datetime.max.replace(tzinfo=UTC)
TOLD = (
    "gen_ai.input.", "gen_ai.output.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.call.", "llm.input_messages",
    "llm.output_messages", "gen_ai.system_instructions", "input.value", "output.value", "traceloop.entity.",
    "ai.prompt", "ai.response.text", "ai.response.toolCalls", "ai.toolCall.args", "ai.toolCall.result",
)  # fmt: skip
"""Beginnings of attributes that hold content."""


class Trace:
    """All spans of a file, each once: of repeats the one that ended last."""

    def __init__(self) -> None:
        self._spans: dict[str, Span] = {}
        self.repeated = 0

    def add(self, span: Span) -> None:
        """Take a span; collectors send some again, the first time before they ended."""
        known = self._spans.get(span.key)
        if known is not None:
            self.repeated += 1
            if (known.end or known.start or LATEST) >= (span.end or span.start or LATEST):
                return
            span.order = known.order
        self._spans[span.key] = span

    def sessions(self) -> dict[str, list[Span]]:
        """Spans by session: the only conversation of their trace, else that of a span above, else the trace."""
        named: dict[str, set[str]] = {}
        for span in self._spans.values():
            if told := span.text(*CONVERSATION):
                named.setdefault(span.trace, set()).add(told[:ID_LIMIT])
        found: dict[str, list[Span]] = {}
        for span in self._spans.values():
            known = named.get(span.trace, set())
            id = next(iter(known)) if len(known) == 1 else self._conversation(span) if known else ""
            found.setdefault(id or span.trace, []).append(span)
        return found

    def _conversation(self, span: Span) -> str:
        above: Span | None = span
        # Parents come from the file and may form a circle.
        for _ in range(MOST_LEVELS):
            if above is None:
                break
            if told := above.text(*CONVERSATION):
                return told[:ID_LIMIT]
            above = self._spans.get(f"{span.trace}:{above.parent}")
        return ""


class Conversation:
    """Events of the spans of one session, in their order."""

    def __init__(self, id: str, spans: list[Span], findings: Findings) -> None:
        self._id = id
        self._findings = findings
        self._calls = Calls()
        self._spans = {span.key: span for span in spans}
        self._kinds: dict[str, Kind] = {span.key: _kind(span) for span in spans}
        nodes = [Node(s.key, f"{s.trace}:{s.parent}" if s.parent else None, self._kinds[s.key]) for s in spans]
        self._forest = Forest(nodes)
        self._starters = {span.key: self._forest.starters(span.key) for span in spans}
        requests = [span for span in spans if self._kinds[span.key] == "request"]
        self._outer = {key for span in requests for key in self._forest.requests_around(span.key)}
        counted = (span for span in requests if usage_of(span))
        self._repeating = {key for span in counted for key in self._forest.requests_around(span.key)}
        """Requests around one that states tokens: theirs are the same once more."""
        self._keys: dict[str, str] = {}
        """Span -> key of the event that starts what runs inside of it."""
        self._called: set[str] = set()
        """Keys of the calls that were told by their own spans; the others were told by requests."""
        self._teller = Teller(self._calls, as_events=True)

    def drafts(self) -> Iterator[Draft]:
        """The session and its events."""
        yield self._session()
        for span, ended in self._ordered():
            self._place(span)
            if not ended:
                yield from self._events(span)
            elif self._keys.get(span.key) in self._called:
                yield self._result(span)

    def _ordered(self) -> list[tuple[Span, bool]]:
        """Spans, and once more those of tools when they end: by line and time.

        What starts a sub-agent comes before all that runs in it, whenever it was sent.
        """
        places = {key: (span.order, span.start or LATEST) for key, span in self._spans.items()}
        first = dict(places)
        for key in self._spans:
            for starter in self._starters[key]:
                first[starter] = min(first[starter], places[key])
        found = [((*first[key], len(self._starters[key])), span, False) for key, span in self._spans.items()]
        for key, span in self._spans.items():
            if self._kinds[key] == "tool" and span.end:
                took = span.start is None or span.end > span.start
                found.append(((span.order, span.end, -1 if took else len(self._starters[key])), span, True))
        return [(span, ended) for _, span, ended in sorted(found, key=lambda item: item[0])]

    def _place(self, span: Span) -> None:
        line, starters = span.line, self._starters[span.key]
        line.key, line.at, line.depth = span.key, span.start or span.end, len(starters)
        line.parent = self._keys.get(starters[-1]) if starters else None
        line.agent = ("subagent" if starters else "agent", self._agent_name(span))

    def _agent_name(self, span: Span) -> str:
        """Name of the agent that the span is part of."""
        above: Span | None = span
        for _ in range(MOST_LEVELS):
            if above is None:
                break
            if told := above.text("gen_ai.agent.name", "agent_name"):
                return told[:ID_LIMIT]
            above = self._spans.get(f"{span.trace}:{above.parent}")
        return ""

    def _session(self) -> SessionDraft:
        spans = sorted(self._spans.values(), key=lambda span: (len(self._starters[span.key]), span.start or LATEST))
        times = [at for span in spans for at in (span.start, span.end) if at]
        agent = _first(spans, "gen_ai.agent.name", "agent_name", "service.name")
        service = next((span.resource for span in spans if span.resource), {})
        recorder = {"name": service.get("service.name") or FORMAT, "version": service.get("service.version")}
        place = {"deployment": service.get("deployment.environment.name"), "host": service.get("host.name")}
        return SessionDraft(
            external_id=self._id,
            agent_name=agent or str(recorder["name"])[:ID_LIMIT],
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            model=_first(spans, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name") or None,
            user_id=_first(spans, "user.id", "enduser.id"),
            metadata={"recorder": scalars_of(recorder), "traces": len({span.trace for span in spans})}
            | ({"environment": found} if (found := scalars_of(place)) else {}),
            record={FORMAT: {"resource": bounded(service, 0)}} if service else {},
        )

    def _events(self, span: Span) -> Iterator[EventDraft]:
        kind = self._kinds[span.key]
        if kind == "request":
            yield from self._request(span)
        elif kind == "tool":
            yield self._late_span_event(span) or self._call(span)
        elif operation(span) in AGENTS + STRUCTURE:
            yield self._structure(span)
        else:
            yield unknown_event(self._findings, span.line, f"operation {operation(span)[:100]!r}")

    def _request(self, span: Span) -> Iterator[EventDraft]:
        repeating = span.key in self._repeating
        # A framework's span around the vendor's states the same tokens again; counting both doubles the bill.
        usage, cost = (None, None) if repeating else (usage_of(span), cost_of(span))
        counted = usage is not None or cost is not None
        request = (id_of(span.attributes.get("gen_ai.response.id")) or span.key) if counted else None
        messages = ([], []) if span.key in self._outer else (request_messages(span), answered(span))
        yield from self._teller.new_events(
            span.line, tuple(self._starters[span.key][-1:]), *messages, span.end,
            usage=usage, cost=cost, model=_model(span), request=request, data=self._data(span),
        )  # fmt: skip
        if span.failed:
            yield span.line.event("error", span.message or exceptions(span), part=":e", data={"type": "request"})

    def _late_span_event(self, span: Span) -> EventDraft | None:
        """The span of a call that a request already told with its result: another service had sent it later."""
        call = self._calls.get(_call_id(span))
        if call is None or call.key in self._called:
            return None
        self._keys[span.key] = call.key
        kind: Any = "error" if span.failed else "status"
        text = (span.message or exceptions(span)) if span.failed else span.name
        data = {"type": "execute_tool"} | self._data(span)
        return span.line.event(kind, text, actor=("tool", call.name), parent=call.key, data=data)

    def _call(self, span: Span) -> EventDraft:
        line, name, call_id = span.line, _tool_name(span), _call_id(span)
        given = bounded(parsed_if_json(tool_texts(span)[0]), len(line.raw))
        tool = ToolDraft(call_id, name, server_of(name), given)
        event = line.event("tool_call", actor=line.agent, tool=tool, data=self._data(span))
        self._keys[span.key] = event.key
        self._called.add(event.key)
        self._calls.add(call_id, Call(event.key, name or "", tool.server))
        self._teller.note_call_span(call_id, name)
        return event

    def _result(self, span: Span) -> EventDraft:
        line, name = span.line, _tool_name(span)
        text, value = readable(parsed_if_json(tool_texts(span)[1]))
        if span.failed and not text:
            text = span.message or exceptions(span)
        status = "error" if span.failed else "ok"
        line.at = span.end
        return line.event(
            "tool_result", text, part=":t", actor=("tool", name or ""), parent=self._keys.get(span.key),
            tool=ToolDraft(_call_id(span), name, server_of(name), None, bounded(value, len(line.raw)), status),
        )  # fmt: skip

    def _structure(self, span: Span) -> EventDraft:
        """An agent's run, a workflow, a step: what happened in it stands around it."""
        line = span.line
        data = {"type": operation(span) or "span"} | self._data(span)
        started = self._forest.is_sub_agent(span.key)
        kind: Any = "handoff" if started else "error" if span.failed else "status"
        text = (span.message or exceptions(span)) if span.failed else span.name
        event = line.event(kind, text, actor=line.agent if started else ("system", ""), data=data)
        self._keys[span.key] = event.key
        return event

    def _data(self, span: Span) -> dict[str, Any]:
        """Other facts of a span: its name, how long it took, short attributes."""
        rest = {name: value for name, value in span.attributes.items() if not name.startswith(TOLD)}
        took = (span.end - span.start).total_seconds() if span.start and span.end else None
        return scalars_of({"span": span.name, "seconds": took}) | {"attributes": scalars_of(rest)}


def findings_of(trace: Trace) -> Iterator[Finding]:
    """Findings about the spans as a whole."""
    if trace.repeated:
        message = f"{trace.repeated} spans were sent more than once; of each the one that ended last is told"
        yield Finding(f"{FORMAT}.repeated-spans", "info", "", message)


def _kind(span: Span) -> Kind:
    told = operation(span)
    if told in REQUESTS:
        return "request"
    return "tool" if told == "execute_tool" else "agent" if told in AGENTS else "other"


def _call_id(span: Span) -> str | None:
    return id_of(span.text("gen_ai.tool.call.id", "ai.toolCall.id"))


def _tool_name(span: Span) -> str | None:
    named = span.text("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name")
    return id_of(named or span.name.removeprefix("execute_tool ").removeprefix("running tool: "))


def _model(span: Span) -> str | None:
    return id_of(span.text("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id"))


def _first(spans: list[Span], *names: str) -> str:
    return next((told[:ID_LIMIT] for span in spans if (told := span.text(*names))), "")
