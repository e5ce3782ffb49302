"""One trace: the session, its observations by time, and what it was scored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ...drafts import Draft, EventDraft, SessionDraft, ToolDraft
from ..common.calls import ID_LIMIT, id_of, server_of
from ..common.documents import Document
from ..common.jsonio import dumps
from ..common.lines import Line
from ..common.reading import RAW_LIMIT, Findings, unknown_event
from ..common.spans.forest import Forest, Kind, Node
from ..common.spans.messages import messages_of
from ..common.spans.observations import cost_of, usage_of
from ..common.spans.parts import parsed_if_json, readable
from ..common.spans.telling import Teller
from ..common.times import parse
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of

FORMAT = "langfuse"
KINDS: dict[str, Kind] = {"GENERATION": "request", "TOOL": "tool", "AGENT": "agent"}
STRUCTURE = frozenset({"SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL", "EMBEDDING", "AGENT"})
CONTENT = frozenset({"input", "output", "metadata", "observations", "scores"})
ESSENTIAL = ("type", "name", "input", "output", "usageDetails", "usage", "level")
"""What makes an observation the same in a later export."""
REPEATED = ("input.", "output.", "llm.input_messages", "llm.output_messages", "gen_ai.prompt", "gen_ai.completion")
"""Beginnings of attributes that repeat input and output."""
LATEST = datetime.max.replace(tzinfo=UTC)


class Trace(Document):
    """Reads one trace; its state ends with it."""

    def __init__(self, line: Line, value: dict[str, Any], observations: list[Line], findings: Findings) -> None:
        """``value`` is the trace itself and ``held`` its observations, wherever in the file they stand."""
        super().__init__(FORMAT, findings)
        self._line = line
        self._trace = value
        self._observations: dict[str, Line] = {}
        for item in observations:
            id = _id(item)
            self._observations[id if id and id not in self._observations else item.pointer] = item
        kinds = {id: KINDS.get(text_of(item.value.get("type")), "other") for id, item in self._observations.items()}
        self._kinds = kinds
        self._forest = Forest([
            Node(id, id_of(item.value.get("parentObservationId")), kinds[id])
            for id, item in self._observations.items()
        ])  # fmt: skip
        self._started: dict[str, str] = {}
        """Observation -> key of the event that starts what runs inside of it."""
        self._teller = Teller(self.calls, as_events=False)

    def drafts(self) -> Iterator[Draft]:
        """The session and its events."""
        yield self._session()
        for id in (id for id, kind in self._kinds.items() if kind == "tool"):
            self._teller.note_call_span(*_called(self._observations[id].value))
        alone = "request" not in self._kinds.values()
        yield from self._message_events("input", "user") if alone else ()
        for id, ended in self._ordered():
            yield from self._result(id) if ended else self._events(id)
        yield from self._message_events("output", "assistant") if alone else ()
        yield from self._scores()

    def _ordered(self) -> list[tuple[str, bool]]:
        """Observations by their start, the outer ones first, and tools once more by their end."""
        found = []
        for id, item in self._observations.items():
            start, end = (parse(item.value.get(name))[0] or LATEST for name in ("startTime", "endTime"))
            level = self._forest.level(id)
            found.append(((start, level), id, False))
            if self._kinds[id] == "tool" and item.value.get("endTime"):
                found.append(((max(start, end), -1 if end > start else level), id, True))
        return [(id, ended) for _, id, ended in sorted(found, key=lambda item: item[0])]

    def _session(self) -> SessionDraft:
        value = self._trace
        moments = [value.get("timestamp")]
        for item in self._observations.values():
            moments += [item.value.get("startTime"), item.value.get("endTime")]
        times = [at for moment in moments if (at := parse(moment)[0])]
        agents = (item.value.get("name") for id, item in self._observations.items() if self._kinds[id] == "agent")
        models = (id_of(item.value.get("model")) for item in self._observations.values())
        shown = {"environment": value.get("environment"), "session": value.get("sessionId")}
        rest = {key: item for key, item in value.items() if key not in CONTENT}
        return SessionDraft(
            external_id=text_of(value.get("id"))[:ID_LIMIT] or f"{FORMAT}-{self.key('', self._line.raw)}",
            title=text_of(value.get("name"))[:ID_LIMIT],
            agent_name=next(filter(None, map(text_of, agents)), text_of(value.get("name")))[:ID_LIMIT],
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            model=next(filter(None, models), None),
            user_id=text_of(value.get("userId"))[:ID_LIMIT],
            tags=tuple(tag[:ID_LIMIT] for tag in list_of(parsed_if_json(value.get("tags"))) if isinstance(tag, str)),
            metadata={"recorder": {"name": "Langfuse"}, **scalars_of(shown)},
            record={FORMAT: bounded(rest, 0)},
        )

    def _events(self, id: str) -> Iterator[Draft]:
        line = self._place(id)
        yield from self.timed(line, line.value.get("startTime"), "/startTime")
        kind = self._kinds[id]
        if kind == "request":
            yield from self._request(id, line)
        elif kind == "tool":
            yield self._call(id, line)
        elif text_of(line.value.get("type")) in STRUCTURE:
            yield self._structure(id, line)
        else:
            yield unknown_event(self.findings, line, f"observation type {text_of(line.value.get('type'))[:100]!r}")

    def _place(self, id: str) -> Line:
        """The observation with its key, its depth, and who acts in it."""
        line = self._observations[id]
        essence = [line.value.get(name) for name in ESSENTIAL]
        line.key = line.key or self.key(id, dumps(essence))
        starters = self._forest.starters(id)
        line.depth, line.parent = len(starters), self._started.get(starters[-1]) if starters else None
        agent = self._forest.agent_of(id)
        name = text_of(self._observations[agent].value.get("name")) if agent else ""
        line.agent = ("subagent" if starters else "agent", name[:ID_LIMIT])
        return line

    def _request(self, id: str, line: Line) -> Iterator[EventDraft]:
        """A generation. Inside of another one it only counts: that one tells what was said, as frameworks wrap it."""
        value = line.value
        messages = [], []
        if not self._forest.requests_around(id):
            messages = messages_of(value.get("input"), "user"), messages_of(value.get("output"), "assistant")
        usage, cost = usage_of(value), cost_of(value)
        agent_key = tuple(self._forest.starters(id)[-1:])
        details = {
            name: found for name in ("usageDetails", "costDetails") if (found := scalars_of(dict_of(value.get(name))))
        }
        yield from self._teller.new_events(
            line, agent_key, *messages, parse(value.get("endTime"))[0], usage=usage, cost=cost,
            model=id_of(value.get("model")), request=id[:ID_LIMIT] if usage or cost is not None else None,
            data=self._named(value) | details,
        )  # fmt: skip
        if value.get("level") == "ERROR":
            yield line.event("error", text_of(value.get("statusMessage")), part=":e", data={"type": "GENERATION"})

    def _call(self, id: str, line: Line) -> EventDraft:
        call_id, name = _called(line.value)
        given = bounded(parsed_if_json(line.value.get("input")), len(line.raw))
        tool = ToolDraft(call_id or id_of(id), name, server_of(name), given)
        event = line.event("tool_call", actor=line.agent, tool=tool, data=self._named(line.value))
        self._started[id] = event.key
        return event

    def _result(self, id: str) -> Iterator[EventDraft]:
        line = self._place(id)
        (call_id, name), failed = _called(line.value), line.value.get("level") == "ERROR"
        text, value = readable(parsed_if_json(line.value.get("output")))
        if failed and not text:
            text = text_of(line.value.get("statusMessage"))
        line.at = parse(line.value.get("endTime"))[0] or line.at
        value, status = bounded(value, len(line.raw)), "error" if failed else "ok"
        tool = ToolDraft(call_id or id_of(id), name, server_of(name), None, value, status)
        parent = self._started.get(id)
        yield line.event("tool_result", text, part=":t", actor=("tool", name or ""), parent=parent, tool=tool)

    def _structure(self, id: str, line: Line) -> EventDraft:
        """An agent's run, a chain, a step: what happened in it stands around it."""
        value, started = line.value, self._forest.is_sub_agent(id)
        failed = value.get("level") == "ERROR"
        data = self._named(value) | {name: _short(value[name]) for name in ("input", "output") if value.get(name)}
        text = text_of(value.get("statusMessage")) if failed else text_of(value.get("name"))
        kind: Any = "handoff" if started else "error" if failed else "status"
        event = line.event(kind, text, actor=line.agent if started else ("system", ""), data=data)
        self._started[id] = event.key
        return event

    def _named(self, value: dict[str, Any]) -> dict[str, Any]:
        start, end = (parse(value.get(name))[0] for name in ("startTime", "endTime"))
        took = (end - start).total_seconds() if start and end else None  # ``latency`` is in seconds or in milliseconds
        told = {"type": value.get("type"), "observation": value.get("name"), "seconds": took}
        short = {name: item for name, item in _attributes(value).items() if not name.startswith(REPEATED)}
        return scalars_of(told) | ({"attributes": attributes} if (attributes := scalars_of(short)) else {})

    def _message_events(self, name: str, role: str) -> Iterator[EventDraft]:
        """What went into the trace, or came out, where no generation tells of it."""
        line = self.part(self._line, {name: self._trace.get(name)}, "", name)
        line.at = parse(self._trace.get("timestamp"))[0] if name == "input" else None
        for index, message in enumerate(messages_of(self._trace.get(name), role)):
            text = "\n".join(part.text for part in message.parts if part.kind == "text")
            kind: Any = "user_message" if role == "user" else "agent_message"
            actor: Any = ("person", "") if role == "user" else ("agent", "")
            if text and message.role == role:
                yield line.event(kind, text, part=f":{index}", actor=actor)

    def _scores(self) -> Iterator[EventDraft]:
        """Judgements of people and of models, as notes."""
        for index, score in enumerate(map(dict_of, list_of(parsed_if_json(self._trace.get("scores"))))):
            line = self.part(self._line, score, f"/scores/{index}", text_of(score.get("id")) or "score")
            line.at = parse(score.get("timestamp"))[0]
            value = score.get("stringValue") or score.get("value")
            text = f"{text_of(score.get('name'))}: {value}"
            if comment := text_of(score.get("comment")):
                text += f"\n{comment}"
            person = score.get("source") == "ANNOTATION"
            yield line.event("note", text, actor=("person", "") if person else ("system", ""), data=scalars_of(score))


def _short(value: Any) -> Any:
    """Frameworks repeat whole states in each step: what is large stays in the file."""
    size = len(dumps(value))
    return bounded(parsed_if_json(value), 0) if size <= RAW_LIMIT else {"cut": True, "bytes": size}


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Of the span that became this observation, else what else was kept with it."""
    metadata = dict_of(parsed_if_json(value.get("metadata")))
    return dict_of(metadata.get("attributes")) or metadata


def _called(value: dict[str, Any]) -> tuple[str | None, str | None]:
    """Id and name of the call that a tool's observation is of; names of spans have a verb before the tool's."""
    attributes = _attributes(value)
    call_id = id_of(attributes.get("gen_ai.tool.call.id")) or id_of(attributes.get("ai.toolCall.id"))
    named = id_of(attributes.get("gen_ai.tool.name")) or id_of(value.get("name")) or ""
    return call_id, named.removeprefix("execute_tool ").removeprefix("running tool: ") or None


def _id(line: Line) -> str:
    return text_of(line.value.get("id"))[:ID_LIMIT]
