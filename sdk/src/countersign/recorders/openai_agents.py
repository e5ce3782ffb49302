"""OpenAI Agents SDK (``openai-agents`` 0.24): a tracing processor that tells a session of each run.

``add_trace_processor(processor(session))``. A model's part is told when it has answered: of a first request that fails,
the error alone. Calls are told with their ids by the response that wants them; the span of
a function, which has no id of a call, is found again by its name and arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from . import responses_api
from .telling import Calls, Json, Recording, plain, read_arguments, safely

SETTLE = 5.0
"""Seconds that ``force_flush`` waits."""


def processor(session: Recording | Callable[[Any], Recording | None]) -> Any:
    """A ``TracingProcessor``. ``session``: of every run, or a function from a trace to its session (or none).

    A program that serves several people passes a function: all its runs share one processor.
    """
    from agents.tracing import TracingProcessor

    told: dict[str, _Told] = {}

    class Processor(TracingProcessor):  # type: ignore[misc]  # Any, where it is not installed
        def on_trace_start(self, trace: Any) -> None:
            safely(lambda: begin(trace))

        def on_trace_end(self, trace: Any) -> None:
            told.pop(trace.trace_id, None)

        def on_span_start(self, span: Any) -> None:
            """A span says what it was about when it ends."""

        def on_span_end(self, span: Any) -> None:
            if found := told.get(span.trace_id):
                safely(lambda: found.tell(span))

        def shutdown(self) -> None:
            self.force_flush()

        def force_flush(self) -> None:
            for one in list(told.values()):
                one.session._flushed(SETTLE)

    def begin(trace: Any) -> None:
        of_it = session(trace) if callable(session) else session
        if of_it is not None:
            told[trace.trace_id] = _Told(of_it)

    return Processor()


class _Told:
    """What a run has told."""

    def __init__(self, session: Recording) -> None:
        self.session, self._calls = session, Calls(session)

    def tell(self, span: Any) -> None:
        tell = getattr(self, f"_{span.span_data.type}", None)
        if tell:
            tell(span, span.span_data)

    def _response(self, span: Any, data: Any) -> None:
        self._asked(data.input)
        answer = plain(data.response) if data.response is not None else {}
        self._output(answer)
        responses_api.tell_usage(self.session, answer)
        self._error(span)

    def _output(self, answer: Json) -> None:
        responses_api.tell_output(self.session, answer)
        for call in responses_api.calls_of(answer):
            self._calls.want(*call)

    def _asked(self, given: Any) -> None:
        for item in responses_api.new_items(given):
            if "call_id" in item:
                self._calls.finish(item["call_id"], item.get("output"))
            elif text := responses_api.text_of(item):
                self.session.message(text, "user" if item.get("role") == "user" else "system")

    def _generation(self, span: Any, data: Any) -> None:
        """Of a model with chat completions."""
        asked = [plain(message) for message in data.input or ()]
        answered = [place for place, message in enumerate(asked) if message.get("role") == "assistant"]
        for message in asked[answered[-1] + 1 :] if answered else asked:
            if message.get("role") == "tool":
                self._calls.finish(str(message.get("tool_call_id")), message.get("content"))
            elif text := responses_api.text_of(message):
                self.session.message(text, "user" if message.get("role") == "user" else "system")
        for said in map(plain, data.output or ()):
            self._said(said, data.model)
        self._used(data.usage or {}, data.model)
        self._error(span)

    def _said(self, said: Json, model: str | None) -> None:
        if "output" in said:  # of a streamed one it is the whole response, in the form of the other API
            self._output(said)
        elif text := responses_api.text_of(said):
            self.session.message(text, model=model)
        for call in said.get("tool_calls") or ():
            if function := call.get("function"):
                self._calls.want(call["id"], function["name"], read_arguments(function["arguments"]))

    def _used(self, used: Json, model: str | None) -> None:
        if used.get("input_tokens"):  # else nobody counted
            cached = (used.get("input_tokens_details") or {}).get("cached_tokens") or 0
            self.session.usage(
                model=model or "unknown", input_tokens=used["input_tokens"] - cached, cache_read_tokens=cached,
                output_tokens=used.get("output_tokens"),
                reasoning_tokens=(used.get("output_tokens_details") or {}).get("reasoning_tokens"),
            )  # fmt: skip

    def _function(self, span: Any, data: Any) -> None:
        arguments = read_arguments(data.input) if data.input else {}
        call_id = self._calls.like(data.name, arguments) or span.span_id
        self._calls.want(call_id, data.name, arguments)
        failed = span.error["message"] if span.error else None
        self._calls.finish(call_id, data.output, failed=bool(failed), text=failed, took=_took(span))

    def _handoff(self, span: Any, data: Any) -> None:
        told = {"from": data.from_agent, "to": data.to_agent}
        self.session.record("handoff", text=f"{data.from_agent} → {data.to_agent}", data=told)

    def _guardrail(self, span: Any, data: Any) -> None:
        if data.triggered:
            self.session.record("note", text=f"The guardrail {data.name} stopped the run.", actor={"kind": "agent"})

    def _error(self, span: Any) -> None:
        if span.error:
            about = (span.error.get("data") or {}).get("error")
            text = ": ".join(str(part) for part in (span.error["message"], about) if part)
            self.session.record("error", text=text[:10_000], actor={"kind": "agent"})


def _took(span: Any) -> float | None:
    if not span.started_at or not span.ended_at:
        return None
    return (datetime.fromisoformat(span.ended_at) - datetime.fromisoformat(span.started_at)).total_seconds()
