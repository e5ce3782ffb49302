"""Errors of OTLP/HTTP (opentelemetry.io/docs/specs/otlp, "Failures"): a ``google.rpc.Status`` in the encoding that the
request came in. What came in neither encoding is answered with a problem, as everywhere.

``Status.code`` is left out, as the protocol has no use for it. Exporters send again what was answered with 429, 502,
503 or 504 and throw away everything else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.api.problems import MEDIA_TYPE, Handler

PROTOBUF, JSON = "application/x-protobuf", "application/json"
PATHS = ("/v1/traces", "/api/v1/otlp/v1/traces")
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
SENT_AGAIN = {507: 503}
"""A full disk is emptied some day: the spans have to wait for that where they are."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One value that is wrong, by its JSON pointer; "" is the body."""

    field: str
    description: str


def encoding(path: str, content_type: str) -> str | None:
    """The media type in which a request to an address has to be told of its errors; ``None`` where it is no OTLP."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if path in PATHS and kind in (PROTOBUF, JSON) else None


def answered_with(path: str, content_type: str, code: int) -> int:
    """The status code for an exporter, of one that a problem has."""
    return SENT_AGAIN.get(code, code) if encoding(path, content_type) else code


def status(kind: str, message: str, violations: Sequence[Violation] = ()) -> bytes:
    """A ``google.rpc.Status``, with what is wrong as a ``google.rpc.BadRequest`` among its details."""
    if kind == JSON:
        wrong = [{"field": one.field, "description": one.description} for one in violations]
        details = [{"@type": BAD_REQUEST, "fieldViolations": wrong}] if wrong else []
        return json.dumps({"message": message} | ({"details": details} if details else {})).encode()
    wrong_values = b"".join(
        _member(1, _member(1, one.field.encode()) + _member(2, one.description.encode())) for one in violations
    )
    detail = _member(3, _member(1, BAD_REQUEST.encode()) + _member(2, wrong_values)) if violations else b""
    return _member(2, message.encode()) + detail


def _member(number: int, value: bytes) -> bytes:
    """A member of a protobuf message whose value is a text or a message: its number and wire type, length, bytes."""
    length, size = bytearray(), len(value)
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + value


@sync_and_async_middleware
def span_errors(get_response: Handler) -> Handler:
    """Tells exporters of problems in the words of their protocol."""
    if iscoroutinefunction(get_response):
        asked: Callable[[HttpRequest], Awaitable[HttpResponseBase]] = get_response

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            return _in_senders_encoding(request, await asked(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        return _in_senders_encoding(request, get_response(request))

    return synchronous


def _in_senders_encoding(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    kind = encoding(request.path, request.content_type)
    if kind is None or response.headers.get("Content-Type") != MEDIA_TYPE:
        return response
    problem = json.loads(response.content)
    wrong = [Violation(error["pointer"], error["detail"]) for error in problem.get("errors", [])]
    if response.status_code == 400 and not wrong:
        wrong = [Violation("", problem["detail"])]
    response.status_code = answered_with(request.path, kind, response.status_code)
    response.content = status(kind, problem["detail"], wrong)
    response.headers["Content-Type"] = kind
    response.headers["Content-Length"] = str(len(response.content))
    return response
