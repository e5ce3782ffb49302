"""The sessions that all are given, the same each time: OTLP bodies in protobuf, in the words that a product reads.

A turn is a trace of four spans with about 2 KB of text each: the agent with prompt and answer, one request to a model,
two tools. The long session has as many spans in turns, the long trace as many below one root.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bench.transcripts import WORDS

Json = dict[str, Any]
TURNS = 50
TOOLS = ("read_ledger", "find_valve", "count_pallets", "book_drone")
MODEL = "claude-sonnet-4-5-20250929"
BATCH = 200
"""Spans a body, as exporters send them."""
SECOND = 1_000_000_000
LONG_SESSION, LONG_TRACE = "long-session", "long-trace"
SPANS_A_TURN = 4


@dataclass
class Span:
    """One span, before it is said in anybody's words. ``kind`` is AGENT, LLM or TOOL; times are nanoseconds."""

    trace: bytes
    id: bytes
    parent: bytes
    kind: str
    name: str
    session: str
    began: int
    ended: int
    asked: str
    answered: str
    call: str = ""


def session_name(number: int) -> str:
    return f"order-{number:05d}"


def sessions(count: int) -> Iterator[list[Span]]:
    """Sessions of 50 turns, spread over the last hours."""
    now = time.time_ns()
    for number in range(count):
        began = now - (count - number) * 60 * SECOND - 3600 * SECOND
        yield list(_turns(session_name(number), TURNS, began))


def long_session(spans: int) -> list[Span]:
    turns = spans // SPANS_A_TURN
    return list(_turns(LONG_SESSION, turns, time.time_ns() - (turns + 60) * 10 * SECOND))


def long_trace(spans: int) -> list[Span]:
    """One run of an agent in one trace."""
    turns = list(_turns(LONG_TRACE, (spans - 1) // SPANS_A_TURN, time.time_ns() - (spans // 4 + 60) * 10 * SECOND))
    root = Span(
        turns[0].trace, b"\1" * 8, b"", "AGENT", "invoke_agent", LONG_TRACE, turns[0].began - SECOND,
        turns[-1].ended + SECOND, turns[0].asked, turns[-1].answered,
    )  # fmt: skip
    for span in turns:
        span.trace, span.parent = root.trace, span.parent or root.id
    return [root, *turns]


def _turns(session: str, count: int, began: int) -> Iterator[Span]:
    dice = random.Random(session)
    for turn in range(count):
        yield from _turn(dice, session, turn, began + turn * 10 * SECOND)


def _turn(dice: random.Random, session: str, turn: int, began: int) -> Iterator[Span]:
    trace, agent = dice.randbytes(16), dice.randbytes(8)
    prompt = f"Order {session} part {turn}: {_prose(dice, 1_200)}"
    answer = f"## Result\n\n{_prose(dice, 1_500)}"
    yield Span(trace, agent, b"", "AGENT", "invoke_agent", session, began, began + 9 * SECOND, prompt, answer)
    yield Span(
        trace, dice.randbytes(8), agent, "LLM", f"chat {MODEL}", session, began + 1, began + 4 * SECOND, prompt, answer
    )
    for number in (1, 2):
        at = began + (4 + number) * SECOND
        asked = json.dumps({"query": _prose(dice, 300), "limit": dice.randint(1, 90)})
        tool = dice.choice(TOOLS)
        yield Span(
            trace, dice.randbytes(8), agent, "TOOL", f"execute_tool {tool}", session, at, at + SECOND // 2, asked,
            _prose(dice, 2_500), call=dice.randbytes(8).hex(),
        )  # fmt: skip


def _prose(dice: random.Random, size: int) -> str:
    return " ".join(dice.choices(WORDS, k=size // 8))


def bodies(spans: list[Span], words: Callable[[Span], Json], resource: Json) -> Iterator[bytes]:
    """Requests to export them, one after the other."""
    for first in range(0, len(spans), BATCH):
        request = ExportTraceServiceRequest()
        of_resource = request.resource_spans.add()
        _say(of_resource.resource.attributes, {"service.name": "bench"} | resource)
        scope = of_resource.scope_spans.add()
        for span in spans[first : first + BATCH]:
            made = scope.spans.add()
            made.trace_id, made.span_id, made.parent_span_id = span.trace, span.id, span.parent
            made.name, made.kind, made.status.code = span.name, 1, 1
            made.start_time_unix_nano, made.end_time_unix_nano = span.began, span.ended
            _say(made.attributes, words(span))
        yield request.SerializeToString()


def _say(attributes: Any, said: Json) -> None:
    for key, value in said.items():
        made = attributes.add(key=key)
        if isinstance(value, int):
            made.value.int_value = value
        else:
            made.value.string_value = value


def genai(span: Span) -> Json:
    """The GenAI conventions of OpenTelemetry."""
    said: Json = {"session.id": span.session, "gen_ai.conversation.id": span.session, "gen_ai.agent.name": "clerk"}
    if span.kind == "TOOL":
        return said | {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": span.name.split()[-1],
            "gen_ai.tool.call.id": span.call, "gen_ai.tool.call.arguments": span.asked,
            "gen_ai.tool.call.result": span.answered,
        }  # fmt: skip
    said["gen_ai.input.messages"] = _messages("user", span.asked)
    said["gen_ai.output.messages"] = _messages("assistant", span.answered)
    if span.kind == "AGENT":
        return said | {"gen_ai.operation.name": "invoke_agent"}
    return said | {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": MODEL,
        "gen_ai.response.model": MODEL, "gen_ai.usage.input_tokens": 9_000, "gen_ai.usage.output_tokens": 400,
    }  # fmt: skip


def _messages(role: str, text: str) -> str:
    message = {"role": role, "parts": [{"type": "text", "content": text}]}
    return json.dumps([message | ({"finish_reason": "stop"} if role == "assistant" else {})])


def openinference(span: Span) -> Json:
    """The conventions of Arize."""
    said: Json = {"session.id": span.session, "openinference.span.kind": span.kind}
    said |= {"input.value": span.asked, "output.value": span.answered}
    if span.kind == "TOOL":
        return said | {"tool.name": span.name.split()[-1], "tool.parameters": span.asked}
    if span.kind == "AGENT":
        return said
    return said | {
        "llm.model_name": MODEL, "llm.provider": "anthropic", "llm.token_count.prompt": 9_000,
        "llm.token_count.completion": 400, "llm.token_count.total": 9_400,
        "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": span.asked,
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": span.answered,
    }  # fmt: skip
