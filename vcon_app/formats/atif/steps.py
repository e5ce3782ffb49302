"""What one step says: a message, thoughts, calls, and the results that stand on the step that called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import Call, id_of, server_of
from ..common.documents import dollars, fingerprint, with_data
from ..common.jsonio import dumps
from ..common.lines import Line
from ..common.reading import RAW_LIMIT, unknown_event
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .content import name_of, readable, references
from .state import TrajectoryState
from .totals import usage_of

TOLD = frozenset({"step_id", "timestamp", "source", "model_name", "message", "reasoning_content", "is_copied_context"})
"""Keys of a step that its events tell; other short ones are kept with the first of them."""


class Step:
    """Reads one step."""

    def __init__(self, state: TrajectoryState, line: Line, model: str | None) -> None:
        """``model`` is the agent's, for steps that name none."""
        self._state = state
        self._line = line
        self._step = line.value
        self._model = id_of(self._step.get("model_name")) or model
        self._source = self._step.get("source")

    def events(self) -> Iterator[EventDraft]:
        """Thoughts, message and calls, then results; the tokens stand with the last of what the model said."""
        if self._step.get("is_copied_context") is True:
            yield self._copied()
            return
        answer = self._agent_events()
        results = list(self._results())
        if not answer and not results:
            answer = [self._spoken("agent_message", "")]
        if answer:
            answer[0] = with_data(answer[0], self._facts())
            answer[-1] = self._counted(answer[-1])
        yield from answer
        yield from results

    def _copied(self) -> EventDraft:
        """The event of a step copied from an earlier trajectory as context; it was said, called and billed there."""
        text, _ = readable(self._step.get("message"))
        kept = {name: self._step.get(name) for name in ("source", "tool_calls", "observation") if self._step.get(name)}
        return self._line.event("injected_context", text, data={"copied": True, **bounded(kept, len(self._line.raw))})

    def _agent_events(self) -> list[EventDraft]:
        made: list[EventDraft] = []
        if thought := text_of(self._step.get("reasoning_content")):
            made.append(self._spoken("reasoning", thought, part=":r", at_path="/reasoning_content"))
        made += [*self._message(), *self._calls()]
        if not made and dict_of(self._step.get("metrics")):  # a response that said nothing was billed too
            made.append(self._spoken("model_request", ""))
        return made

    def _message(self) -> Iterator[EventDraft]:
        text, attachments = readable(self._step.get("message"))
        data: dict[str, Any] = {"attachments": attachments} if attachments else {}
        if self._source == "user":
            who = "agent" if self._line.depth else "person"  # a sub-agent is told what to do by the agent above it
            yield self._line.event("user_message", text, actor=(who, ""), data=data)
        elif self._source == "system":
            managed = scalars_of(dict_of(dict_of(self._step.get("extra")).get("context_management")))
            kind = "compaction" if managed.get("type") == "compaction" else "system"
            yield self._line.event(kind, text, data=data | managed)
        elif self._source != "agent":
            what = f"source {text_of(self._source)[:100]!r}"
            yield replace(unknown_event(self._state.findings, self._line, what), text=text)
        elif text or attachments:
            yield self._spoken("agent_message", text, data=data)

    def _calls(self) -> Iterator[EventDraft]:
        made = set()
        for index, call in enumerate(map(dict_of, list_of(self._step.get("tool_calls")))):
            call_id, name = id_of(call.get("tool_call_id")), id_of(call.get("function_name"))
            print_ = call_id, name, dumps(call.get("arguments"))
            if call_id and print_ in self._state.called:
                continue
            made.add(print_)
            arguments = bounded(call.get("arguments"), len(self._line.raw))
            event = self._spoken(
                "tool_call", "", part=f":c{index}", at_path=f"/tool_calls/{index}", data=self._extra(call),
                tool=ToolDraft(call_id, name, server_of(name), arguments),
            )  # fmt: skip
            self._state.calls.add(call_id, Call(event.key, name or "", server_of(name)))
            yield event
        self._state.called |= made

    def _results(self) -> Iterator[EventDraft]:
        for index, result in enumerate(map(dict_of, list_of(dict_of(self._step.get("observation")).get("results")))):
            part, path = f":o{index}:{fingerprint(dumps(result))}", f"/observation/results/{index}"
            call = self._state.calls.get(result.get("source_call_id"))
            started = references(result)
            if result.get("content") is not None or not started:
                yield self._result(result, call, part, path)
            for number, reference in enumerate(started):
                place = {"part": f"{part}.{number}", "at_path": f"{path}/subagent_trajectory_ref/{number}"}
                yield self._handoff(reference, call, place)

    def _result(self, result: dict[str, Any], call: Call | None, part: str, path: str) -> EventDraft:
        text, attachments = readable(result.get("content"))
        failed = dict_of(result.get("extra")).get("is_error")
        status = ("error" if failed else "ok") if isinstance(failed, bool) else None
        name, server = (call.name, call.server) if call else (None, None)
        tool = ToolDraft(id_of(result.get("source_call_id")), name or None, server, status=status)
        data = self._extra(result) | ({"attachments": attachments} if attachments else {})
        return self._line.event(
            "tool_result", text, part=part, at_path=path, actor=("tool", name or ""), tool=tool, data=data,
            parent=call.key if call else None,
        )  # fmt: skip

    def _handoff(self, reference: dict[str, Any], call: Call | None, place: dict[str, Any]) -> EventDraft:
        summary = text_of(dict_of(reference.get("extra")).get("summary"))
        data = {**scalars_of(reference), "child_session": name_of(reference)}
        return self._spoken("handoff", summary, data=data, parent=call.key if call else None, **place)

    def _spoken(self, kind: Any, text: str, **more: Any) -> EventDraft:
        return self._line.event(kind, text, actor=self._line.agent, model=self._model, **more)

    def _counted(self, event: EventDraft) -> EventDraft:
        metrics = dict_of(self._step.get("metrics"))
        usage, cost = usage_of(metrics, self._step.get("llm_call_count")), dollars(metrics.get("cost_usd"))
        if usage is None and cost is None:
            return event
        data = event.data | {f"metrics_{name}": value for name, value in self._extra(metrics).items()}
        return replace(event, usage=usage, cost=cost, model=self._model, data=data)

    def _facts(self) -> dict[str, Any]:
        return scalars_of(self._step, TOLD) | self._extra(self._step)

    def _extra(self, value: dict[str, Any]) -> dict[str, Any]:
        """Small values of ``extra``. Whole requests, which some producers put there, stay in the file."""
        extra = value.get("extra")
        return {"extra": bounded(extra, 0)} if extra and len(dumps(extra)) <= RAW_LIMIT else {}
