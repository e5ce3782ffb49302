"""Traces of agents as OpenTelemetry exports them: OTLP as JSON (one document or lines), spans as SDKs print them.

A session is a conversation, else a trace. Only requests to a model are counted, each once, for the spans around them
repeat their tokens; of the history that each request repeats only what is new is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft, Finding, FormatError
from ..common.head import Head
from ..common.lines import Line
from ..common.reading import Findings
from ..common.records import records
from ..common.values import list_of
from ..contract import Spec
from .reading import Conversation, Trace, findings_of
from .span import RESOURCES, is_span, spans_of

NAME = "otel-genai"
MAX_BYTES = 256 * 1024 * 1024
"""A session is in order only when all of its spans are known, so a file is held in memory."""
SPEC = Spec(
    name=NAME,
    title="OpenTelemetry GenAI spans",
    grows="lines",
    max_bytes=MAX_BYTES,
)

PLACES = ("", "item.")
IDS = (("traceId", "spanId"), ("trace_id", "span_id"), ("context.trace_id", "context.span_id"))
MARKS = (b'"gen_ai.', b'"llm.', b'"openinference.', b'"traceloop.', b'"ai.operationId"')
"""Beginnings of attributes; a span of anything else is not ours."""


def detect(head: Head) -> bool:
    """By OTLP's ``resourceSpans``, or by spans that have attributes of instrumentations for models."""
    shape = head.shape
    if any(shape.get(f"{place}{name}") == "[" for place in PLACES for name in RESOURCES):
        return True
    spans = any(f"{place}{a}" in shape and f"{place}{b}" in shape for place in PLACES for a, b in IDS)
    return spans and any(mark in head.data for mark in MARKS)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions. Raises ``FormatError`` for what is no JSON, and for more than ``MAX_BYTES`` of it."""
    findings, trace, size = Findings(NAME), Trace(), 0
    for order, item in enumerate(records(source, NAME)):
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line):
            size += len(item.raw)
            if size > MAX_BYTES:
                raise FormatError(f"it holds more than {MAX_BYTES // 1024**2} MB of spans; split it by trace first")
            yield from findings.limit(_take(trace, item, order))
    for finding in findings_of(trace):
        yield from findings.limit(finding)
    for id, spans in trace.sessions().items():
        yield from Conversation(id, spans, findings).drafts()
    yield from findings.close()


def _take(trace: Trace, line: Line, order: int) -> Finding | None:
    for span in spans_of(line, order):
        trace.add(span)
    known = any(list_of(line.value.get(name)) for name in RESOURCES) or is_span(line.value)
    return None if known else Finding(f"{NAME}.no-span", "warning", line.pointer, "no span in it; left out")
