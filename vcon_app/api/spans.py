"""Spans in, by OTLP/HTTP (opentelemetry.io/docs/specs/otlp, 1.5): protobuf or JSON, plain or packed by gzip.

Answers are in the encoding of the request, errors too (``span_errors``). An answer means that the spans are kept:
exporters throw away what was answered with success, and send again what was answered with 429 or 503.
"""

from __future__ import annotations

import zlib
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from sessions_app.api.auth import own_asker
from sessions_app.api.problems import AS_PROBLEM, Problem, invalid
from vcon_app.formats.otel_genai import wire
from vcon_app.services.spans import receiving

from .span_errors import JSON, PROTOBUF

router = Router(tags=["spans"])
bare_router = Router(tags=["spans"])
"""At the root of the site, for exporters that can be told a host and no path."""
RETRY_SECONDS = 5
MOST_UNPACKED = 2
"""Times the size of a body that it may unpack to."""
MOST_MEMBERS = 16
"""Of a packed body: what is left behind each is copied."""
FAULTS: dict[type[Exception], Any] = {
    wire.Malformed: lambda error: Problem(400, str(error)),
    receiving.Busy: lambda error: Problem(429, str(error), headers={"Retry-After": str(RETRY_SECONDS)}),
}
AS_STATUS = {
    PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
    JSON: {"schema": {
        "type": "object", "required": ["message"],
        "properties": {"message": {"type": "string"}, "details": {"type": "array", "items": {"type": "object"}}},
    }},
}  # fmt: skip
"""A google.rpc.Status."""
BODY = {
    "requestBody": {
        "required": True,
        "description": "an ExportTraceServiceRequest of OTLP",
        "content": {
            PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
            JSON: {"schema": {
                "type": "object", "additionalProperties": False,
                "properties": {"resourceSpans": {"type": "array", "items": {}}},
            }},
        },
    },
    "responses": {200: {"description": "kept", "content": {
        PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
        JSON: {"schema": {"type": "object", "properties": {"partialSuccess": {"type": "object"}}}},
    }}} | {code: {"description": "not kept; the message says why", "content": AS_STATUS | AS_PROBLEM}
           for code in ("4XX", "5XX")},
}  # fmt: skip


@bare_router.post("/v1/traces", auth=own_asker, openapi_extra=BODY, operation_id="export_traces_bare")
@router.post("/otlp/v1/traces", auth=own_asker, openapi_extra=BODY)
def export_traces(request: HttpRequest) -> HttpResponse:
    """Receive spans by OTLP/HTTP: each conversation (`gen_ai.conversation.id`, `session.id`), else each trace, becomes
    a session.

    A 200 says that the spans are kept; within seconds a worker turns them into events. A span that comes again is
    counted once. Errors are in the encoding of the request: 415 for any other, 413 for a body that is too large, 429
    with `Retry-After` when too many spans wait.
    """
    kind = request.content_type
    if kind not in (PROTOBUF, JSON):
        raise Problem(415, f'send OTLP as "{PROTOBUF}" or "{JSON}", not as "{kind}"')
    body = _unpacked(request)
    records = wire.from_protobuf(body) if kind == PROTOBUF else _from_json(body)
    principal = request.auth
    receiving.receive(receiving.Sender(principal.workspace, principal.actor, principal.is_narrowed), records)
    done = ExportTraceServiceResponse().SerializeToString() if kind == PROTOBUF else b"{}"
    return HttpResponse(done, content_type=kind)


def _from_json(body: bytes) -> list[wire.Record]:
    try:
        return wire.from_json(body)
    except wire.UnknownField as error:
        pointer = error.name.replace("~", "~0").replace("/", "~1")
        raise invalid(f"/{pointer}", str(error)) from None


def _unpacked(request: HttpRequest) -> bytes:
    packing = request.headers.get("Content-Encoding", "identity").strip().lower()
    if packing == "identity":
        return request.body
    if packing != "gzip":
        raise Problem(415, f'send the body as it is or packed by gzip, not by "{packing}"')
    try:
        return _gunzipped(request.body, MOST_UNPACKED * settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    except zlib.error as error:
        raise Problem(400, f"the body is not packed by gzip: {error}") from None


def _gunzipped(packed: bytes, most: int) -> bytes:
    """All members of a gzip file: one may follow another (RFC 1952), and zeros the last."""
    body = b""
    for _ in range(MOST_MEMBERS):
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        body += unpacker.decompress(packed, most - len(body) + 1)
        if len(body) > most:
            raise Problem(413, f"unpacked the body is larger than {most:,} bytes; send less at a time")
        if not unpacker.eof:
            raise Problem(400, "the packed body ends too early")
        packed = unpacker.unused_data.lstrip(b"\0")
        if not packed:
            return body
    raise Problem(400, f"the packed body has more than {MOST_MEMBERS} members; pack it as one")
