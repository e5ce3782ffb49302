"""The events of a sample: requests, tools, decisions of approvers, scores, and what happened around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import Draft, EventDraft, ToolDraft
from ..common.calls import Call, id_of, server_of
from ..common.documents import dollars
from ..common.jsonio import dumps
from ..common.lines import Actor, Line
from ..common.reading import unknown_event
from ..common.times import parse
from ..common.values import bounded, count_of, dict_of, list_of, scalars_of, text_of
from .content import call_of, changes_of, messages_in, readable, usage_of
from .places import Places
from .state import SampleState

DECISIONS = {
    "approve": "approved", "modify": "approved", "reject": "denied", "terminate": "denied", "escalate": "escalated",
}  # fmt: skip
COMMON = frozenset({"event", "timestamp", "working_start", "span_id", "uuid", "pending", "completed", "input_ansi"})
QUIET = frozenset({
    "sandbox", "logger", "info", "branch", "anchor", "checkpoint", "review", "sentinel", "score_edit", "interrupt",
    "sample_init",
})  # fmt: skip
"""Types that are told by their short fields alone."""
TOUCHED = 20
"""Places of a patch that are named."""
SHOWN = 2_000
"""Characters of a command's output or of a log line; more stands in the file."""
MOST_LEVELS = 20


class Telling:
    """Makes drafts of the events of one sample, in their order."""

    def __init__(self, sample: SampleState) -> None:
        self._sample = sample
        self._text = sample.attachments.text
        self._places = Places()
        self._open: dict[str, EventDraft] = {}
        """Span of a tool -> its result, which comes behind what happened inside."""
        self.counted = self.scored = self.failed = False
        self._input = self._output = 0
        self._handlers: dict[str, Callable[[Line], Iterator[Draft]]] = {
            "model": self._model, "tool": self._tool, "approval": self._approval, "score": self._score,
            "span_begin": self._span, "span_end": self._end, "step": self._step, "subtask": self._subtask,
            "state": self._patch, "store": self._patch, "compaction": self._compaction, "input": self._input_event,
            "sample_limit": self._limit, "error": self._error,
        }  # fmt: skip

    def events(self, values: list[Any], path: str, whole: Line, level: int = 0) -> Iterator[Draft]:
        """The drafts of a list of events; older logs nest them in tools and sub-tasks."""
        for index, value in enumerate(values):
            if not isinstance(value, dict):
                message = f"{str(value)[:60]} stands in the place of an event"
                yield from self._sample.odd("no-event", f"{whole.pointer}{path}/{index}", message)
                continue
            line = self._sample.part(whole, value, f"{path}/{index}", text_of(value.get("uuid")) or f"{level}-{index}")
            yield from self._sample.timed(line, value.get("timestamp"), "/timestamp")
            above = self._places.spans_above(value, itself=value.get("event") == "span_begin")
            line.depth, line.parent = whole.depth + len(above), above[-1] if above else whole.parent
            line.agent = ("subagent" if line.depth else "agent", "")
            kind = text_of(value.get("event"))
            if kind in ("tool", "subtask"):
                yield from self._handlers[kind](line)
                yield from self._nested(line, level)
            elif kind in self._handlers:
                yield from self._handlers[kind](line)
            elif kind in QUIET:
                yield self._quiet(line, kind)
            else:
                yield unknown_event(self._sample.findings, line, f"event {kind[:100]!r}")

    def flush(self) -> Iterator[EventDraft]:
        """Results of tools whose span did not end."""
        yield from self._open.values()
        self._open.clear()

    def doubt(self, stated: dict[str, Any]) -> str:
        """How the usage that the sample states differs from that of its requests, "" when it does not."""
        if not self.counted or not stated:
            return ""
        usages = [dict_of(usage) for usage in stated.values()]
        sums = [sum(count_of(usage.get(name)) or 0 for usage in usages) for name in ("input_tokens", "output_tokens")]
        if sums == [self._input, self._output]:
            return ""
        return (
            f"model_usage states {sums[0]:,} tokens of input and {sums[1]:,} of output, the requests in the log "
            f"{self._input:,} and {self._output:,}; those are counted"
        )

    def score(self, line: Line, name: str, score: Any) -> EventDraft:
        """A score as a note: its value, then why."""
        value = dict_of(score) or {"value": score}
        answer = value.get("value")
        text = f"{name}: {answer if isinstance(answer, (str, int, float)) else dumps(answer).decode()}"
        why = self._text(value.get("explanation")) or self._text(value.get("answer"))
        data = {"type": "score", "name": name} | scalars_of(value, frozenset({"explanation", "answer"}))
        return line.event("note", f"{text}\n{why}" if why else text, data=data)

    def _nested(self, line: Line, level: int) -> Iterator[Draft]:
        inner = list_of(line.value.get("events"))
        if inner and level < MOST_LEVELS:
            below = replace(line, depth=line.depth + 1, parent=line.key)
            yield from self.events(inner, "/events", below, level + 1)
        elif inner:
            yield unknown_event(self._sample.findings, line, f"events more than {MOST_LEVELS} levels deep", part=":n")
        if line.key in self._open:
            yield self._open.pop(line.key)

    def _model(self, line: Line) -> Iterator[EventDraft]:
        """A request. What came out of Inspect's own cache was not sent again, and cost nothing."""
        value, sample = line.value, self._sample
        output = dict_of(value.get("output"))
        stated, cached = dict_of(output.get("usage")), value.get("cache") == "read"
        usage, cost = (None, None) if cached else (usage_of(stated), dollars(stated.get("total_cost")))
        if usage is not None:
            self.counted = True
            self._input += count_of(stated.get("input_tokens")) or 0
            self._output += count_of(stated.get("output_tokens")) or 0
        choices = map(dict_of, list_of(output.get("choices")))
        answered = messages_in([choice.get("message") for choice in choices], sample.attachments)
        names = ("role", "cache", "retries", "working_time", "pending")
        yield from sample.teller.new_events(
            line, line.parent or (), sample.sent(value), answered, parse(value.get("completed"))[0], usage=usage,
            cost=cost, model=id_of(output.get("model")) or id_of(value.get("model")),
            request=line.key if usage or cost is not None else None, data=scalars_of({n: value.get(n) for n in names}),
        )  # fmt: skip
        if error := self._text(value.get("error")) or self._text(output.get("error")):
            yield line.event("error", error, part=":e", data={"type": "request"})

    def _tool(self, line: Line) -> Iterator[EventDraft]:
        value = line.value
        call = call_of(value, self._sample.attachments)
        tool = ToolDraft(call.call_id, call.name, server_of(call.name), bounded(call.value, len(line.raw)))
        data = scalars_of({name: value.get(name) for name in ("agent", "working_time", "pending", "truncated")})
        event = line.event("tool_call", actor=line.agent, tool=tool, data=data)
        self._sample.teller.note_call_span(call.call_id, call.name)
        self._sample.calls.add(call.call_id, Call(event.key, call.name or "", tool.server))
        yield event
        if value.get("pending") is not True:
            self._open[self._places.tool(value, event.key) or line.key] = self._result(line, event, tool)

    def _result(self, line: Line, call: EventDraft, tool: ToolDraft) -> EventDraft:
        value, error = line.value, dict_of(line.value.get("error"))
        text, rest = readable(value.get("result"), self._sample.attachments)
        kind = error.get("type")
        status = "denied" if kind == "approval" else "error" if error or value.get("failed") is True else "ok"
        late = replace(line, at=parse(value.get("completed"))[0] or line.at)
        text = text or self._text(error.get("message"))
        result = replace(tool, arguments=None, result=bounded(rest, len(line.raw)), status=status)
        return late.event(
            "tool_result", text, part=":t", actor=("tool", tool.name or ""), tool=result, parent=call.key,
            data=scalars_of({"error": kind}),
        )  # fmt: skip

    def _approval(self, line: Line) -> Iterator[EventDraft]:
        """What an approver decided about a call; a model or a rule decides where no person does."""
        value = line.value
        call = call_of(dict_of(value.get("call")), self._sample.attachments)
        decision, by = text_of(value.get("decision")), text_of(value.get("approver"))
        data = {"type": "approval", "decision": DECISIONS.get(decision, decision or None), "answer": decision, "by": by}
        changed = call_of(dict_of(value.get("modified")), self._sample.attachments)
        if changed.name or changed.value:
            data["modified"] = {"name": changed.name, "arguments": bounded(changed.value, len(line.raw))}
        tool = ToolDraft(call.call_id, call.name, server_of(call.name), bounded(call.value, len(line.raw)))
        known = self._sample.calls.get(call.call_id)
        actor: Actor = ("person", "") if by == "human" else ("system", by)
        why = self._text(value.get("explanation")) or self._text(value.get("message"))
        parent = known.key if known else None
        yield line.event("approval", why, actor=actor, tool=tool, data=data | {"inferred": False}, parent=parent)

    def _score(self, line: Line) -> Iterator[EventDraft]:
        value = line.value
        if value.get("intermediate") is not True:
            self.scored = True
        name = text_of(value.get("scorer")) or self._places.scorer(value) or "score"
        yield self.score(line, name, value.get("score"))

    def _span(self, line: Line) -> Iterator[EventDraft]:
        """A solver, an agent or a scorer begins; the begin of a tool is told by its call."""
        kind = text_of(line.value.get("type"))
        self._places.begin(line.value, "" if kind == "tool" else line.key)
        if kind != "tool":
            yield line.event("status", text_of(line.value.get("name")), data=scalars_of({"type": kind or "span"}))

    def _end(self, line: Line) -> Iterator[EventDraft]:
        if result := self._open.pop(text_of(line.value.get("id")), None):
            yield result

    def _step(self, line: Line) -> Iterator[EventDraft]:
        if line.value.get("action") == "begin":
            yield line.event(
                "status", text_of(line.value.get("name")), data=scalars_of({"type": line.value.get("type")})
            )
        self._places.step(line.value, line.key)

    def _subtask(self, line: Line) -> Iterator[EventDraft]:
        data = {"type": "subtask"} | {name: self._short(line.value.get(name)) for name in ("input", "result")}
        yield line.event("handoff", text_of(line.value.get("name")), actor=line.agent, data=data)

    def _patch(self, line: Line) -> Iterator[EventDraft]:
        """A change of the task's state or store: JSON patches, of which the places are named."""
        changes = list_of(line.value.get("changes"))
        touched = list(changes_of(changes[:TOUCHED]))
        data = {"type": line.value.get("event"), "changes": len(changes), "touched": touched}
        yield line.event("status", text_of(line.value.get("event")), data=data)

    def _compaction(self, line: Line) -> Iterator[EventDraft]:
        yield line.event("compaction", "", data=scalars_of(line.value, COMMON))

    def _input_event(self, line: Line) -> Iterator[EventDraft]:
        """What stood on the screen when a person was asked; the answer comes as a message of its own."""
        yield line.event("note", self._text(line.value.get("input")), actor=("person", ""), data={"type": "input"})

    def _limit(self, line: Line) -> Iterator[EventDraft]:
        data = scalars_of({"type": "limit", "reached": line.value.get("type"), "limit": line.value.get("limit")})
        yield line.event("error", self._text(line.value.get("message")), data=data)

    def _error(self, line: Line) -> Iterator[EventDraft]:
        self.failed = True
        yield line.event("error", self._text(dict_of(line.value.get("error")).get("message")), data={"type": "sample"})

    def _quiet(self, line: Line, kind: str) -> EventDraft:
        value = {
            name: self._text(item)[:SHOWN].rstrip() if isinstance(item, str) else item
            for name, item in line.value.items()
        }
        message = dict_of(value.get("message"))
        told = (value.get("cmd"), value.get("file"), message.get("message"), value.get("data"), value.get("message"))
        text = next((item for item in told if isinstance(item, str) and item), kind)
        data = {"type": kind} | scalars_of(value, COMMON | {"type"}) | scalars_of(message, frozenset({"message"}))
        if value.get("data") is not None and not isinstance(value["data"], str):
            data["data"] = self._short(value["data"])
        return line.event("status", text, data=data)

    def _short(self, value: Any) -> Any:
        written = len(dumps(value))
        return bounded(value, 0) if written <= SHOWN * 8 else {"cut": True, "bytes": written}
