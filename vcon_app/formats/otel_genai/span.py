"""Spans out of OTLP documents and out of what SDKs print, in one shape."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..common.calls import ID_LIMIT
from ..common.lines import Line
from ..common.records import part_of
from ..common.times import from_epoch, parse, rfc3339_short
from ..common.values import dict_of, list_of, text_of
from . import claude_code, dialects
from .attributes import plain

RESOURCES = ("resourceSpans", "resource_spans")
SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
CONVERSATION = (
    "copilot_chat.chat_session_id", "copilot_chat.parent_chat_session_id", "gen_ai.conversation.id", "session.id",
    "langfuse.session.id", "traceloop.association.properties.session_id",
)  # fmt: skip
"""The first that is stated; Copilot Chat has another ``gen_ai.conversation.id`` for each request of a chat."""
FAILED = (2, "2", "STATUS_CODE_ERROR", "ERROR")
NANOSECONDS = 10**9
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
OPENINFERENCE = {
    "LLM": "chat", "TOOL": "execute_tool", "AGENT": "invoke_agent", "CHAIN": "chain", "EMBEDDING": "embeddings",
    "RETRIEVER": "retrieval", "RERANKER": "retrieval", "GUARDRAIL": "chain", "EVALUATOR": "chain", "PROMPT": "chain",
}  # fmt: skip
"""Kinds of span of OpenInference, and the operations of the conventions that they are."""


@dataclass(frozen=True, slots=True)
class Believed:
    """Times that spans are believed to have run at: what they state beyond is a claim, and no time of theirs."""

    earliest: datetime = datetime.min.replace(tzinfo=UTC)
    latest: datetime = LATEST

    def read(self, at: datetime | None) -> datetime | None:
        """The time, if it is one."""
        return at if at and self.earliest <= at <= self.latest else None


ALL_TIMES = Believed()


@dataclass(slots=True)
class Span:
    """One operation: where it stands in its trace, when it ran, and what was recorded of it."""

    line: Line
    trace: str
    id: str
    parent: str | None
    name: str
    start: datetime | None
    end: datetime | None
    attributes: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    """``{"event.name", **attributes}`` of each."""
    failed: bool = False
    message: str = ""
    """Of the status: why it failed."""
    resource: dict[str, Any] = field(default_factory=dict)
    scope: str = ""
    """The instrumentation that made it."""
    is_over: bool = False
    """Whether an end is stated, believed or not."""
    claims: str = ""
    """What is stated of the times where it cannot be believed."""
    order: int = 0
    """Number of the record it came in: lines of a file are in the order in which they were sent."""
    key: str = field(init=False)
    """Of the span, with the trace's id: a span id is unique in its trace only (OTLP)."""

    def __post_init__(self) -> None:
        self.key = f"{self.trace}:{self.id}"

    def text(self, *names: str) -> str:
        """The first of these attributes that is text."""
        return first_text_of(self.attributes, names)


@dataclass(frozen=True, slots=True)
class Place:
    """What tells whose a span is: its trace, whether all of that runs in it, and the conversation that it names."""

    trace: str
    is_root: bool
    conversation: str


def place_of(value: dict[str, Any]) -> Place:
    """Where a span of an OTLP request belongs, which takes a quarter of the time of reading it."""
    attributes = value.get("attributes")
    if isinstance(attributes, list):
        attributes = [pair for pair in attributes if isinstance(pair, dict) and pair.get("key") in CONVERSATION]
    return Place(trace_of(value), _parent_of(value) is None, first_text_of(plain(attributes), CONVERSATION))


def spans_of(line: Line, order: int, believed: Believed = ALL_TIMES) -> Iterator[Span]:
    """The spans of a record: an OTLP request, a trace of MLflow, or a single span as an SDK prints it."""
    value = unfolded(line.value)
    for name in RESOURCES:
        for index, held in enumerate(list_of(value.get(name))):
            yield from _of_resource(line, dict_of(held), f"/{name}/{index}", order, believed)
    for index, held in enumerate(of_trace(value)):
        if isinstance(held, dict):
            place = f"/data/spans/{index}"
            yield _span(part_of(line, held, place), held, {}, order, believed)
    if is_span(value):
        yield _span(line, value, plain(dict_of(value.get("resource")).get("attributes")), order, believed)


def of_trace(value: dict[str, Any]) -> list[Any]:
    """The spans of a trace as MLflow writes one: ``{"info": …, "data": {"spans": […]}}``."""
    return list_of(dict_of(value.get("data")).get("spans"))


def is_span(value: dict[str, Any]) -> bool:
    """Whether this is a span outside of an OTLP request."""
    context = dict_of(unfolded(value).get("context"))
    return bool(_id(_first(value, "spanId", "span_id") or _first(context, "span_id", "spanId")))


def unfolded(value: dict[str, Any]) -> dict[str, Any]:
    """A row of a table of spans (Phoenix's ``get_spans_dataframe``: ``context.span_id``, ``attributes.…``) as one."""
    if "context.span_id" not in value:
        return value
    span: dict[str, Any] = {"context": {}, "attributes": {}}
    for name, item in value.items():
        place, _, rest = name.partition(".")
        if rest and place in ("context", "attributes"):
            if item is not None:  # a table has a cell for each column
                span[place][rest] = item
        else:
            span[name] = item
    return span


def _of_resource(
    line: Line, record: dict[str, Any], path: str, order: int, believed: Believed
) -> Iterator[Span]:  # fmt: skip
    resource = plain(dict_of(record.get("resource")).get("attributes"))
    for name in SCOPES:
        for number, scope in enumerate(map(dict_of, list_of(record.get(name)))):
            made_by = text_of(dict_of(scope.get("scope")).get("name"))[:ID_LIMIT]
            for index, value in enumerate(list_of(scope.get("spans"))):
                if isinstance(value, dict):
                    place = f"{path}/{name}/{number}/spans/{index}"
                    yield _span(part_of(line, value, place), value, resource, order, believed, made_by)


def _span(
    line: Line, value: dict[str, Any], resource: dict[str, Any], order: int, believed: Believed, scope: str = ""
) -> Span:  # fmt: skip
    context, status = dict_of(value.get("context")), dict_of(value.get("status"))
    code = _first(status, "code", "status_code") or value.get("status_code")
    attributes = plain(value.get("attributes"))
    if (kind := text_of(value.get("span_kind"))) in OPENINFERENCE:  # Phoenix has it beside the attributes
        attributes = {"openinference.span.kind": kind, **attributes}
    events = [
        {"event.name": text_of(event.get("name")), **plain(event.get("attributes"))}
        for event in list_of(value.get("events"))
        if isinstance(event, dict)
    ]
    name = text_of(value.get("name"))[:ID_LIMIT]
    start, end, is_over, claims = _times(value, believed)
    if name.startswith(claude_code.PREFIX):
        attributes = claude_code.translated(attributes, events)
    attributes, events = dialects.translated(attributes, events)
    return Span(
        line=line,
        trace=trace_of(value),
        id=_id(_first(value, "spanId", "span_id") or _first(context, "span_id", "spanId")) or f"at{line.pointer}",
        parent=_parent_of(value),
        name=name,
        start=start,
        end=end,
        attributes=attributes,
        events=events,
        failed=code in FAILED,
        message=text_of(_first(status, "message", "description") or value.get("status_message")),
        resource=resource,
        scope=scope,
        is_over=is_over,
        claims=claims,
        order=order,
    )


def trace_of(value: dict[str, Any]) -> str:
    """Id of the trace that a span is part of."""
    context = dict_of(value.get("context"))
    return _id(_first(value, "traceId", "trace_id") or _first(context, "trace_id", "traceId")) or "no-trace"


def _parent_of(value: dict[str, Any]) -> str | None:
    return _id(_first(value, "parentSpanId", "parent_span_id", "parent_id"))


def _times(value: dict[str, Any], believed: Believed) -> tuple[datetime | None, datetime | None, bool, str]:
    """Beginning and end as far as they are believed, whether it ended, and what is claimed instead.

    A span with an end that cannot be ended when it began, as far as anybody knows.
    """
    begun = _time(_first(value, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"))
    over = _time(_first(value, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"))
    start, end = believed.read(begun), believed.read(over)
    if start and end and end < start:
        end = None
    if begun == start and over == end:
        return start, end, end is not None, ""
    claims = " to ".join(rfc3339_short(at) if at else "?" for at in (begun, over))
    return start, end or (start if over else None), over is not None, claims


def _time(value: Any) -> datetime | None:
    """Nanoseconds since 1970 (text in JSON), milliseconds as pandas writes tables, or ISO 8601."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 25:
        value = int(value)
    if isinstance(value, str):
        return parse(value)[0]
    if not isinstance(value, int) or value <= 10**11:
        return from_epoch(value, NANOSECONDS)
    # From 1973 on in milliseconds or microseconds; as nanoseconds it would be a day of early 1970.
    return from_epoch(value, 1_000 if value < 10**14 else 1_000_000 if value < 10**17 else NANOSECONDS)


def _id(value: Any) -> str | None:
    """Hexadecimal as the JSON mapping of OTLP says, or base64 as protobuf's own; zeros are no id."""
    text = text_of(value)[:ID_LIMIT].removeprefix("0x")
    if text.endswith("=") or (len(text) in (12, 24) and not _is_hex(text)):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return text if text.strip("0") else None


def _is_hex(text: str) -> bool:
    return all(c in "0123456789abcdefABCDEF" for c in text)


def first_text_of(attributes: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of these attributes that is text, else "". Asked some thirty times of a span: a loop takes half as
    long as a generator.
    """
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _first(value: dict[str, Any], *names: str) -> Any:
    for name in names:
        found = value.get(name)
        if found is not None and found != "":
            return found
    return None
