"""Spans of made-up agents, as an exporter sends them: in protobuf."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

BEGIN = 1_795_000_000


def text_of(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def span(id: int, parent: int = 0, *, trace: int = 1, at: float = 0, name: str = "", **attributes: Any) -> Span:
    """A span of one second; ``__`` in the name of an attribute is a dot."""
    start = int((BEGIN + (at or id)) * 10**9)
    pairs = {key.replace("__", "."): value for key, value in attributes.items()}
    return Span(
        trace_id=trace.to_bytes(16, "big"),
        span_id=id.to_bytes(8, "big"),
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        name=name or f"span {id}",
        start_time_unix_nano=start,
        end_time_unix_nano=start + 10**9,
        attributes=[KeyValue(key=key, value=any_value(value)) for key, value in pairs.items()],
    )


def any_value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    return AnyValue(string_value=value if isinstance(value, str) else json.dumps(value))


def chat(id: int, parent: int, said: list[tuple[str, str]], answer: str, **more: Any) -> Span:
    """A request to a model, with all that was said before."""
    more = {"gen_ai__usage__input_tokens": 100, "gen_ai__usage__output_tokens": 10} | more
    return span(
        id, parent, gen_ai__operation__name="chat", gen_ai__provider__name="anthropic",
        gen_ai__response__model="claude-sonnet-4-5", gen_ai__input__messages=[text_of(*each) for each in said],
        gen_ai__output__messages=[text_of("assistant", answer)], **more,
    )  # fmt: skip


def tool(id: int, parent: int, name: str, result: str = "done", **more: Any) -> Span:
    return span(
        id, parent, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name,
        gen_ai__tool__call__id=f"call {id}", gen_ai__tool__call__result=result, **more,
    )  # fmt: skip


def agent(id: int, parent: int = 0, name: str = "harbour pilot", **more: Any) -> Span:
    return span(id, parent, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name, **more)


def failed(made: Span, why: str) -> Span:
    made.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=why))
    return made


def request(*spans: Span, service: str = "") -> bytes:
    made = ExportTraceServiceRequest()
    held = made.resource_spans.add()
    if service:
        held.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value=service)))
    held.scope_spans.add().spans.extend(spans)
    return made.SerializeToString()
