"""OTLP/HTTP bodies: a request as spans by trace, in the JSON that ``span.spans_of`` reads (OTLP 1.5, "OTLP/HTTP").

A request is taken apart by trace and resource, and nothing of it is left out: what a reader does not know today it may
know tomorrow.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from ..common.jsonio import MAX_DEPTH, Unreadable, doubled_name, loads
from ..common.lines import Line
from ..common.values import dict_of, list_of
from .span import ALL_TIMES, RESOURCES, SCOPES, Believed, Place, Span, place_of, spans_of, trace_of

K = TypeVar("K", bound=Hashable)
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""PostgreSQL stores none."""
DEEPEST = 20
"""Values inside of values that are read: what lies deeper is a note."""
TOO_DEEP = "(nested too deep)"


class Malformed(ValueError):
    """No ``ExportTraceServiceRequest``; the message says why."""


class UnknownField(ValueError):
    """A request in JSON has a field that no request has, which it is not sent for; within spans it may."""

    def __init__(self, name: str) -> None:
        super().__init__(f'there is no field "{name}" here; there is resourceSpans')
        self.name = name


Record = dict[str, Any]


def from_protobuf(body: bytes) -> list[Record]:
    """The ``resourceSpans`` of a request in protobuf, with ids in hexadecimal as OTLP's JSON has them.

    Attributes are plain objects, as SDKs print them. Raises ``Malformed``.
    """
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        raise Malformed("the body is no ExportTraceServiceRequest in protobuf") from None
    return [
        {
            "resource": _resource(held.resource),
            "scopeSpans": [
                {
                    "scope": {"name": scope.scope.name, "version": scope.scope.version},
                    "spans": [_span(span) for span in scope.spans],
                }
                for scope in held.scope_spans
            ],
        }
        for held in request.resource_spans
    ]


def from_json(body: bytes) -> list[Record]:
    """The ``resourceSpans`` of a request in JSON. Raises ``Malformed``, ``UnknownField``.

    Half of a pair, where an SDK cut a text to a length, is read as one replacement character.
    """
    try:
        value = loads(_NUL.sub(rb"\1\\ufffd", body) if b"\\u0000" in body else body)[0]
    except Unreadable as error:
        raise Malformed(f"the body is {error}") from None
    if isinstance(value, dict) and (unknown := next((name for name in value if name not in RESOURCES), None)):
        raise UnknownField(unknown)
    found = next((value[name] for name in RESOURCES if name in value), []) if isinstance(value, dict) else None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise Malformed('the body is no ExportTraceServiceRequest: an object with a list "resourceSpans" is expected')
    if (twice := doubled_name(body, _members(value))) is not None:
        raise Malformed(f"{json.dumps(twice[:100])} stands in an object more than once; send it once")
    return found


def _members(value: Any) -> int:
    """How many members all objects of a value have together. Raises ``Malformed`` where it is nested too deep."""
    members, level = 0, [value]
    for _ in range(MAX_DEPTH):
        objects = [item for item in level if type(item) is dict]
        members += sum(map(len, objects))
        inner = chain(chain.from_iterable(map(dict.values, objects)), *[item for item in level if type(item) is list])
        level = [child for child in inner if type(child) in (dict, list)]
        if not level:
            return members
    raise Malformed("the body is nested too deep")


def spans_in(records: list[Record], order: int = 0, place: str = "", believed: Believed = ALL_TIMES) -> list[Span]:
    """The spans of records, ``order`` being the number of the piece they came in.

    One without an id is known by where it stands: ``place`` names the piece, for it stands in many at the same place.
    """
    return list(spans_of(Line({"resourceSpans": records}, place, b"", None), order, believed))


def places_in(records: list[Record]) -> list[Place]:
    """Where the spans of records belong, in their order; they are as many as ``spans_in``."""
    return [place_of(span) for record in records for scope in _scopes(record) for span in _spans(scope)]


def divided(records: list[Record], groups: Mapping[str, K]) -> dict[K, list[Record]]:
    """The records by what the trace of each span is in, in one pass: a request may have as many traces as spans."""
    found: dict[K, list[Record]] = {}
    for record in records:
        scopes: dict[K, list[Record]] = {}
        for scope in _scopes(record):
            spans: dict[K, list[Record]] = {}
            for span in _spans(scope):
                spans.setdefault(groups[trace_of(span)], []).append(span)
            for group, mine in spans.items():
                scopes.setdefault(group, []).append(scope | {"spans": mine})
        rest = {name: value for name, value in record.items() if name not in SCOPES}
        for group, held in scopes.items():
            found.setdefault(group, []).append(rest | {"scopeSpans": held})
    return found


def _scopes(record: Record) -> Iterator[Record]:
    return (dict_of(scope) for name in SCOPES for scope in list_of(record.get(name)))


def _spans(scope: Record) -> Iterator[Record]:
    return (span for span in list_of(scope.get("spans")) if isinstance(span, dict))


def _resource(resource: Resource) -> Record:
    return {"attributes": _attributes(resource.attributes)}


def _span(span: WireSpan) -> Record:
    made: Record = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano),
        "attributes": _attributes(span.attributes),
    }
    if span.parent_span_id:
        made["parentSpanId"] = span.parent_span_id.hex()
    if span.trace_state:
        made["traceState"] = span.trace_state
    if span.events:
        made["events"] = [
            {
                "name": event.name,
                "timeUnixNano": str(event.time_unix_nano),
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        made["links"] = [
            {
                "traceId": link.trace_id.hex(),
                "spanId": link.span_id.hex(),
                "attributes": _attributes(link.attributes),
            }
            for link in span.links
        ]
    if span.status.code or span.status.message:
        made["status"] = {"code": span.status.code, "message": span.status.message}
    for name in ("dropped_attributes_count", "dropped_events_count", "dropped_links_count"):
        if count := getattr(span, name):
            made[name] = count
    return made


def _attributes(pairs: Iterable[KeyValue]) -> Record:
    return {pair.key: _value(pair.value, 0) for pair in pairs}


def _value(value: AnyValue, level: int) -> Any:
    """An ``AnyValue`` as plain JSON; bytes as base64, as protobuf's mapping has them."""
    which = value.WhichOneof("value")
    if which == "array_value":
        return [_value(item, level + 1) for item in value.array_value.values] if level < DEEPEST else TOO_DEEP
    if which == "kvlist_value":
        if level >= DEEPEST:
            return TOO_DEEP
        return {pair.key: _value(pair.value, level + 1) for pair in value.kvlist_value.values}
    if which == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, which) if which else None
