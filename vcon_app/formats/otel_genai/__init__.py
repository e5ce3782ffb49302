"""Traces of agents as OpenTelemetry exports them: OTLP as JSON (one document or lines), spans as SDKs print them,
and those that Copilot Chat keeps in SQLite.

A session is a conversation, else a trace. Only requests to a model are counted, each once, for the spans around them
repeat their tokens; of the history that each request repeats only what is new is told. Sessions are written as one OTLP
document each (``write``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft, Finding, FormatError
from ..common.head import SIZES, Head
from ..common.lines import Item, Line
from ..common.reading import Findings
from ..common.records import records
from ..common.sqlite.opening import is_sqlite, open_store
from ..common.values import list_of
from ..contract import Spec
from .reading import Conversation, Trace, findings_of
from .span import RESOURCES, is_span, of_trace, spans_of
from .store import is_store
from .store import spans as store_spans
from .write import write

NAME = "otel-genai"
MAX_BYTES = 256 * 1024 * 1024
"""A session is in order only when all of its spans are known, so a file is held in memory."""
SPEC = Spec(
    name=NAME,
    title="OpenTelemetry GenAI spans",
    grows="lines",
    spread=True,
    max_bytes=MAX_BYTES,
    media_type="application/json",
    suffix=".otlp.json",
)

__all__ = ["NAME", "SPEC", "detect", "read", "write"]

WRAPPERS = ("spans", "data")
"""Keys of an object that may hold a list of spans; ``data`` is that of Phoenix's API."""
PLACES = ("", "item.", *(f"{name}.item." for name in WRAPPERS))
TRACE = "data.spans"
"""Where a trace of MLflow has its spans; one may be a line, or one of a list."""
IDS = (("traceId", "spanId"), ("trace_id", "span_id"), ("context.trace_id", "context.span_id"))
MARKS = re.compile(
    rb'"(attributes\.)?((gen_ai|llm|openinference|traceloop)\.|ai\.operationId"|mlflow\.span|gcp\.vertex\.agent\.)'
    rb'|"(gen_ai|llm|openinference|traceloop)"\s*:\s*\{'
)
"""Beginnings of attributes, also as a tree; a span of anything else is not ours."""


def detect(head: Head) -> bool:
    """By OTLP's ``resourceSpans``, or by spans that have attributes of instrumentations for models."""
    if is_store(head):
        return True
    shape = head.shape
    if any(shape.get(f"{place}{name}") == "[" for place in PLACES for name in RESOURCES):
        return True
    spans = any(f"{place}{a}" in shape and f"{place}{b}" in shape for place in PLACES for a, b in IDS)
    spans |= any(shape.get(f"{at}{TRACE}.item") == "{" for at in ("", "item."))
    return spans and MARKS.search(head.data) is not None


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions. Raises ``FormatError`` for what is no JSON, and for more than ``MAX_BYTES`` of it."""
    findings, trace, size = Findings(NAME), Trace(), 0
    is_sent = not is_sqlite(source)  # rows of a store are in no order but that of their times
    for order, item in enumerate(_items(source)):
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line):
            size += len(item.raw)
            if size > MAX_BYTES:
                raise FormatError(f"it holds more than {MAX_BYTES // 1024**2} MB of spans; split it by trace first")
            yield from findings.limit(_take(trace, item, order if is_sent else 0))
    for finding in findings_of(trace):
        yield from findings.limit(finding)
    for id, spans in trace.sessions().items():
        yield from Conversation(id, findings).drafts(spans)
    yield from findings.close()


def _items(source: BinaryIO) -> Iterator[Item]:
    if is_sqlite(source):
        with open_store(source) as store:
            yield from store_spans(store)
    else:
        yield from records(source, NAME, _wrapper(source))


def _wrapper(source: BinaryIO) -> str:
    """The key under which an object holds the list of spans, ``""`` for a file of another shape."""
    head = Head(source.read(SIZES[0]))
    source.seek(0)
    return next((name for name in WRAPPERS if head.shape.get(f"{name}.item") == "{"), "")


def _take(trace: Trace, line: Line, order: int) -> Finding | None:
    for span in spans_of(line, order):
        trace.add(span)
    known = any(list_of(line.value.get(name)) for name in RESOURCES) or is_span(line.value) or of_trace(line.value)
    return None if known else Finding(f"{NAME}.no-span", "warning", line.pointer, "no span in it; left out")
