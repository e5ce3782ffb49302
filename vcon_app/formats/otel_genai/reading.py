"""Sessions out of spans: one for each conversation, else for each trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ...drafts import Draft, EventDraft, Finding, SessionDraft, ToolDraft, Usage
from ..common.calls import ID_LIMIT, Call, Calls, id_of, server_of
from ..common.lines import Line, digest
from ..common.reading import Findings, unknown_event
from ..common.spans.forest import MOST_LEVELS, Forest, Kind, Node
from ..common.spans.messages import messages_of
from ..common.spans.parts import parsed_if_json, readable
from ..common.spans.telling import CONTEXTS, Teller
from ..common.values import bounded, scalars_of
from . import claude_code, dialects
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
from .span import CONVERSATION, LATEST, Span

FORMAT = "otel-genai"
AGENT_NAMES = ("gen_ai.agent.name", "agent.name", "agent_name")
USERS = ("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
MODELS = (
    "gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.response.model", "llm.request.model",
    "ai.model.id", "langfuse.observation.model.name",
)  # fmt: skip
NAMES = (*AGENT_NAMES, *CONVERSATION)
NOWHERE = Line({}, "", b"", None)
"""Line of a span whose contents were told."""
TOLD = (
    "gen_ai.input.", "gen_ai.output.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.call.", "llm.input_messages",
    "llm.output_messages", "llm.prompts.", "llm.completions.", "gen_ai.system_instructions", "input.value",
    "output.value", "traceloop.entity.", "langfuse.observation.input", "langfuse.observation.output", "ai.prompt",
    "ai.response.text", "ai.response.toolCalls", "ai.toolCall.args", "ai.toolCall.result", "user_prompt",
    "full_command", "bash_command", *dialects.CONTENT,
)  # fmt: skip
"""Beginnings of attributes that hold content."""


class Trace:
    """Spans by their keys, each once: of repeats the one that ended last."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self.repeated = 0

    def add(self, span: Span) -> None:
        """Take a span; collectors send some again, the first time before they ended."""
        known = self.spans.get(span.key)
        if known is not None:
            self.repeated += 1
            if (known.end or known.start or LATEST) >= (span.end or span.start or LATEST):
                return
            span.order = known.order
        self.spans[span.key] = span

    def sessions(self) -> dict[str, list[Span]]:
        """Spans by session: the only conversation of their trace, else that of a span above, else the trace."""
        named: dict[str, set[str]] = {}
        for span in self.spans.values():
            if told := span.text(*CONVERSATION):
                named.setdefault(span.trace, set()).add(told[:ID_LIMIT])
        found: dict[str, list[Span]] = {}
        for span in self.spans.values():
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
            above = self.spans.get(f"{span.trace}:{above.parent}")
        return ""


def once_each(spans: Iterable[Span]) -> list[Span]:
    """Spans without their repeats."""
    trace = Trace()
    for span in spans:
        trace.add(span)
    return list(trace.spans.values())


@dataclass(frozen=True, slots=True)
class _Told:
    """A request whose tokens were told."""

    scope: str
    is_named: bool
    start: datetime
    end: datetime

    def is_the_same_as(self, other: _Told) -> bool:
        """Whether two spans with the same parent, model and number of tokens are of one response."""
        if self.scope == other.scope or (self.is_named and other.is_named):
            return False
        return (self.start <= other.start and other.end <= self.end) or (
            other.start <= self.start and self.end <= other.end
        )


class Conversation:
    """Events of the spans of one session, in their order. Spans may come in pieces: what was told stays as it was."""

    def __init__(self, id: str, findings: Findings) -> None:
        self._id = id
        self._findings = findings
        self._calls = Calls()
        self._spans: dict[str, Span] = {}
        self._fresh: list[Span] = []
        """Spans with their contents."""
        self._kinds: dict[str, Kind] = {}
        self._forest = Forest()
        self._starters: dict[str, list[str]] = {}
        self._outer: set[str] = set()
        """Requests around one that states messages: what was said in them is told there."""
        self._repeating: set[str] = set()
        """Requests around one that states tokens: theirs are the same once more."""
        self._billed: set[str] = set()
        """Requests whose tokens were told."""
        self._beside: dict[tuple[str, str | None, str | None, int | None], list[_Told]] = {}
        """The same by trace, parent, model and tokens of the output."""
        self._keys: dict[str, str] = {}
        """Span -> key of the event that starts what runs inside of it."""
        self._called: set[str] = set()
        """Keys of the calls that were told by their own spans; the others were told by requests."""
        self._denied: set[str] = set()
        """Calls that were not let run."""
        self._open: set[str] = set()
        """Traces without the span that all others run in."""
        self._rooted: set[str] = set()
        self._awaited: set[str] = set()
        """Spans above those that were told."""
        self._late: set[str] = set()
        """Spans that came when some that run in them were told already."""
        self._said: set[str] = set()
        """Fingerprints of what agents said."""
        self._teller = Teller(self._calls, as_events=True)

    @property
    def is_open(self) -> bool:
        """Whether a trace goes on: the span that all of it runs in has not come, for it comes when it ends."""
        return bool(self._open)

    def is_rooted(self, key: str) -> bool:
        """Whether a span was told, and all that it runs in."""
        return key in self._spans and self._forest.is_rooted(key)

    def __len__(self) -> int:
        """Number of spans."""
        return len(self._spans)

    def drafts(self, spans: list[Span]) -> Iterator[Draft]:
        """The session, and the events of those of the spans that were not told before."""
        spans = [span for span in spans if span.key not in self._spans]
        self._take(spans)
        yield self._session(spans)
        for span, ended in self._ordered(spans):
            self._place(span)
            if not ended:
                made: Iterable[EventDraft] = self._events(span)
            elif self._kinds[span.key] == "agent":
                made = self._last_words(span)
            else:
                made = [self._result(span)] if self._keys.get(span.key) in self._called else []
            for event in made:
                if event.kind == "agent_message":
                    self._said.add(_print(event.text))
                yield event

    def _take(self, spans: list[Span]) -> None:
        self._late |= self._awaited.intersection(span.key for span in spans)
        self._awaited |= {f"{span.trace}:{span.parent}" for span in spans if span.parent}
        self._spans |= {span.key: span for span in spans}
        self._fresh += spans
        self._kinds |= {span.key: _kind(span) for span in spans}
        self._forest.add(node_of(span, self._kinds[span.key]) for span in spans)
        self._starters |= {span.key: self._forest.starters(span.key) for span in spans}
        self._rooted |= {span.trace for span in spans if span.parent is None}
        self._open = (self._open | {span.trace for span in spans}) - self._rooted
        for span in spans:
            if self._kinds[span.key] == "request" and (around := self._forest.requests_around(span.key)):
                if request_messages(span) or answered(span):
                    self._outer.update(around)
                if usage_of(span):
                    self._repeating.update(around)

    def forget_contents(self) -> None:
        """Keep of the spans that were told what those that come later may ask for, and no text."""
        for span in self._fresh:
            kept = {name: value for name in NAMES if (value := span.attributes.get(name))}
            told = replace(span, line=NOWHERE, attributes=kept, events=[], resource={}, message="")
            self._spans[span.key] = told
        self._fresh.clear()

    def _ordered(self, spans: list[Span]) -> list[tuple[Span, bool]]:
        """Spans, and once more those of tools and agents when they end: by line and time.

        What starts a sub-agent comes before all that runs in it, whenever it was sent.
        """
        places = {span.key: (span.order, span.start or span.end or LATEST) for span in spans}
        first = dict(places)
        for key in places:
            for starter in self._starters[key]:
                if starter in first:
                    first[starter] = min(first[starter], places[key])
        levels = {span.key: self._forest.level(span.key) for span in spans}
        found = [((*first[span.key], levels[span.key]), span, False) for span in spans]
        ends = self._ends_of_agents(spans)
        for span in spans:
            if self._kinds[span.key] == "tool" and _is_over(span):
                ended = span.end or LATEST
                took = span.start is not None and ended > span.start
                found.append(((span.order, ended, -1 if took else levels[span.key]), span, True))
            elif span.key in ends:
                found.append(((span.order, ends[span.key], MOST_LEVELS), span, True))
        return [(span, ended) for _, span, ended in sorted(found, key=lambda item: item[0])]

    def _ends_of_agents(self, spans: list[Span]) -> dict[str, datetime]:
        """When the runs of agents ended: not before a request in them, whatever their clocks say."""
        agents = (span for span in spans if self._kinds[span.key] == "agent" and _is_over(span))
        ends = {span.key: span.end or LATEST for span in agents}
        for span in spans:
            if self._kinds[span.key] == "request" and (at := span.end or span.start):
                for above in self._forest.agents_around(span.key):
                    if above in ends:
                        ends[above] = max(ends[above], at)
        return ends

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
            if told := above.text(*AGENT_NAMES):
                return told[:ID_LIMIT]
            above = self._spans.get(f"{span.trace}:{above.parent}")
        return ""

    def _session(self, spans: list[Span]) -> SessionDraft:
        spans = sorted(spans, key=lambda span: (len(self._starters[span.key]), span.start or LATEST))
        times = [at for span in spans for at in (span.start, span.end) if at]
        agent = _first(spans, *AGENT_NAMES, "service.name")
        service = next((span.resource for span in spans if span.resource), {})
        recorder = {"name": service.get("service.name") or FORMAT, "version": service.get("service.version")}
        place = {"deployment": service.get("deployment.environment.name"), "host": service.get("host.name")}
        return SessionDraft(
            external_id=self._id,
            title=_first(spans, "countersign.session.title"),
            agent_name=agent or str(recorder["name"])[:ID_LIMIT],
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            model=_first(spans, *MODELS) or None,
            user_id=_first(spans, *USERS),
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
        elif decision := claude_code.decision_of(span.attributes):
            yield self._decision(span, decision)
        elif operation(span) in AGENTS + STRUCTURE:
            if prompt := span.text("user_prompt"):
                yield from self._teller.context(span.line, span.key, messages_of(prompt, "user"))
            yield self._structure(span)
        else:
            yield unknown_event(self._findings, span.line, f"operation {operation(span)[:100]!r}")

    def _request(self, span: Span) -> Iterator[EventDraft]:
        around = self._billed.intersection(self._forest.requests_around(span.key))
        repeating = span.key in self._repeating or bool(around)
        # A framework's span around the vendor's states the same tokens again; counting both doubles the bill.
        usage, cost = (None, None) if repeating else (usage_of(span), cost_of(span))
        if usage is not None and self._is_told_beside(span, usage):
            usage, cost = None, None
        counted = usage is not None or cost is not None
        if usage is not None:
            self._billed.add(span.key)
        request = (id_of(span.attributes.get("gen_ai.response.id")) or span.key) if counted else None
        messages = ([], []) if span.key in self._outer else (request_messages(span), answered(span))
        yield from self._teller.new_events(
            span.line, tuple(self._starters[span.key][-1:]), *messages, span.end,
            usage=usage, cost=cost, model=_model(span), request=request, data=self._data(span),
        )  # fmt: skip
        if span.failed:
            yield span.line.event("error", span.message or exceptions(span), part=":e", data={"type": "request"})

    def _is_told_beside(self, span: Span, usage: Usage) -> bool:
        """Whether the span of another instrumentation, beside this one and over the same time, has told the tokens.

        Where both name their response, that decides: OpenLLMetry up to 0.33 names none, and Anthropic's client makes
        a span of its own.
        """
        if span.start is None or span.end is None:
            return False
        now = _Told(span.scope, "gen_ai.response.id" in span.attributes, span.start, span.end)
        known = self._beside.setdefault((span.trace, span.parent, _model(span), usage.output_tokens), [])
        if any(now.is_the_same_as(told) for told in known):
            return True
        known.append(now)
        del known[:-CONTEXTS]
        return False

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
        status = "denied" if span.key in self._denied else "error" if span.failed else "ok"
        line.at = span.end
        return line.event(
            "tool_result", text, part=":t", actor=("tool", name or ""), parent=self._keys.get(span.key),
            tool=ToolDraft(_call_id(span), name, server_of(name), None, bounded(value, len(line.raw)), status),
        )  # fmt: skip

    def _decision(self, span: Span, decision: dict[str, Any]) -> EventDraft:
        """Somebody, or a rule, let the call run that the span is part of, or did not."""
        key = f"{span.trace}:{span.parent}"
        call, denied = self._spans.get(key), decision["decision"] == "denied"
        if denied:
            self._denied.add(key)
        span.line.at = span.end
        name = (call.text("gen_ai.tool.name") or None) if call else None
        tool = ToolDraft(_call_id(call) if call else None, id_of(name), status="denied" if denied else None)
        return span.line.event("approval", actor=("system", ""), parent=self._keys.get(key), tool=tool, data=decision)

    def _structure(self, span: Span) -> EventDraft:
        """An agent's run, a workflow, a step: what happened in it stands around it."""
        line = span.line
        data = {"type": operation(span) or "span"} | self._data(span)
        if span.key in self._late:
            data["late"] = True
        started = self._forest.is_sub_agent(span.key)
        kind: Any = "handoff" if started else "error" if span.failed else "status"
        text = (span.message or exceptions(span)) if span.failed else span.name
        event = line.event(kind, text, actor=line.agent if started else ("system", ""), data=data)
        self._keys[span.key] = event.key
        return event

    def _last_words(self, span: Span) -> Iterator[EventDraft]:
        """What an agent's run ended with, where no request in it said so: frameworks put answers together."""
        line = span.line
        line.at = span.end
        for index, message in enumerate(messages_of(span.attributes.get("gen_ai.output.messages"), "assistant")):
            text = "\n".join(part.text for part in message.parts if part.kind == "text")
            if text and _print(text) not in self._said:
                yield line.event("agent_message", text, part=f":w{index}", actor=line.agent, data=self._data(span))

    def _data(self, span: Span) -> dict[str, Any]:
        """Other facts of a span: its name, how long it took, short attributes."""
        rest = {name: value for name, value in span.attributes.items() if not name.startswith(TOLD)}
        took = (span.end - span.start).total_seconds() if span.start and span.end and not span.claims else None
        facts = {"span": span.name, "seconds": took, "exporter_says": span.claims or None}
        return scalars_of(facts) | {"attributes": scalars_of(rest)}


def findings_of(trace: Trace) -> Iterator[Finding]:
    """Findings about the spans as a whole."""
    if trace.repeated:
        message = f"{trace.repeated} spans were sent more than once; of each the one that ended last is told"
        yield Finding(f"{FORMAT}.repeated-spans", "info", "", message)
    if claims := [span.claims for span in trace.spans.values() if span.claims]:
        message = f"{len(claims)} spans state times that cannot be, such as {claims[0]}; they have none here"
        yield Finding(f"{FORMAT}.odd-times", "warning", "", message)


def _is_over(span: Span) -> bool:
    """Whether it ended, as its end says or, where nobody stated one, what came of it."""
    brought = tool_texts(span)[1] is not None or span.attributes.get("gen_ai.output.messages") is not None
    return span.is_over or brought or span.failed


def _print(text: str) -> str:
    return digest(" ".join(text.split()).encode("utf-8", "replace"))


def node_of(span: Span, kind: Kind) -> Node:
    """Its place in the tree."""
    return Node(span.key, f"{span.trace}:{span.parent}" if span.parent else None, kind)


def _kind(span: Span) -> Kind:
    told = operation(span)
    if told in REQUESTS:
        return "request"
    return "tool" if told == "execute_tool" else "agent" if told in AGENTS else "other"


def _call_id(span: Span) -> str | None:
    return id_of(span.text("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"))


def _tool_name(span: Span) -> str | None:
    named = span.text("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name")
    return id_of(named or span.name.removeprefix("execute_tool ").removeprefix("running tool: "))


def _model(span: Span) -> str | None:
    return id_of(span.text(*MODELS))


def _first(spans: list[Span], *names: str) -> str:
    return next((told[:ID_LIMIT] for span in spans if (told := span.text(*names))), "")
