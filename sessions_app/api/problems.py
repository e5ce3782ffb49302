"""Errors as RFC 9457 problem details, for everything below the API's paths, whoever raised them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from sessions_app.services.upkeep import disk

MEDIA_TYPE = "application/problem+json"
PATHS = ("/api/", "/dashboard/agents/", "/hooks/", "/v1/")
"""Below these, every error is a problem, also those of Django and of the router (404, 405, 500)."""

PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "RFC 9457. Some problems have more members, which the operation's description names.",
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "what is wrong, which value, what to do now"},
        "errors": {
            "type": "array",
            "description": "one for each value that is wrong, at most 50",
            "items": {
                "type": "object",
                "properties": {
                    "pointer": {"type": "string", "description": "JSON pointer (RFC 6901) or /name of a parameter"},
                    "in": {"type": "string", "description": "body, query, path, header, form or file"},
                    "detail": {"type": "string"},
                },
                "required": ["pointer", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
}
AS_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEM_RESPONSES = {
    "4XX": {"description": "what was asked cannot be done; the problem says why", "content": AS_PROBLEM},
    "5XX": {"description": "the desk cannot answer now; Retry-After says when to try again", "content": AS_PROBLEM},
}
"""How the description of the API tells of them."""

Handler = Callable[[HttpRequest], HttpResponseBase] | Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class Problem(Exception):
    """An answer that is an error. Other keywords become members of the problem (RFC 9457 §3.2)."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}
        self.members = members

    def response(self) -> HttpResponse:
        """The problem as an HTTP answer."""
        body = {"type": "about:blank", "title": HTTPStatus(self.status).phrase, "status": self.status}
        content = orjson.dumps(body | {"detail": self.detail} | self.members, default=str)
        return HttpResponse(content, status=self.status, content_type=MEDIA_TYPE, headers=self.headers)


def not_found(noun: str) -> Problem:
    """404 for what is not there and for what is another workspace's: existence is not told."""
    return Problem(404, f"there is no such {noun} in this workspace")


def invalid(pointer: str, detail: str, *, status: int = 422, **members: Any) -> Problem:
    """One thing is wrong with the input; ``pointer`` is a JSON pointer (RFC 6901) or ``/name`` of a parameter."""
    return Problem(status, detail, errors=[{"pointer": pointer, "detail": detail}], **members)


SHOWN_CHARACTERS = 100
"""Of a value that is wrong."""
OF_OBJECTS = ("model_type", "model_attributes_type", "dict_type")


def wrong_value(fault: dict[str, Any]) -> dict[str, str]:
    """One error of pydantic, with the value as ``given``.

    The place is a JSON pointer into a body, and ``/name`` of anything else.
    """
    source, *path = fault["loc"]
    if source == "body":
        path = path[1:]  # the name of the view's parameter
    pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
    if fault["type"] == "extra_forbidden":
        noun = "parameter" if source == "query" else "field"
        detail = f'there is no {noun} "{str(path[-1])[:SHOWN_CHARACTERS]}" here; is it misspelt?'
    else:
        detail = _what_is_wrong(fault)
    return {"pointer": pointer, "in": source, "detail": detail}


def _what_is_wrong(fault: dict[str, Any]) -> str:
    if fault["type"] == "missing":
        return "this is missing, and must be there"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] in OF_OBJECTS:
        message = "Input should be an object"
    if not message.startswith("Input should"):
        return message
    given = fault.get("given")
    if isinstance(given, (dict, list)):
        return f"this {message.removeprefix('Input ')}"
    return f"{_shown(given)} is not possible here: it {message.removeprefix('Input ')}"


def _shown(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


@sync_and_async_middleware
def problem_details(get_response: Handler) -> Handler:
    """Turns error pages of Django and of the router into problems, below the API's paths."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponseBase:
            return _as_problem(request, await get_response(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponseBase:
        return _as_problem(request, get_response(request))

    return synchronous


def with_detail(response: HttpResponse, detail: str) -> HttpResponse:
    """A page of an error with what its problem says below the API's paths, where its status says too little."""
    response.problem_detail = detail  # type: ignore[attr-defined]
    return response


DETAILS = {
    400: "the request cannot be understood",
    404: "there is nothing at this address; the addresses are listed at /api/v1/docs",
    405: "this address does not take the method {method}; it takes {allow}",
    500: "a fault of ours; it is in the server's log",
    507: disk.REFUSED,
}


def _as_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    is_problem = response.headers.get("Content-Type") == MEDIA_TYPE
    if response.status_code < 400 or is_problem or not request.path.startswith(PATHS):
        return response
    known = DETAILS.get(response.status_code, HTTPStatus(response.status_code).phrase.lower())
    detail = getattr(response, "problem_detail", known)
    detail = detail.format(method=request.method, allow=response.headers.get("Allow", "none"))
    kept = {name: value for name, value in response.headers.items() if name not in ("Content-Type", "Content-Length")}
    return Problem(response.status_code, detail, headers=kept).response()


def add_problems(schema: dict[str, Any]) -> None:
    """Give each operation of an OpenAPI document the problems that it may answer with, as ranges of status codes.

    An operation that describes its errors itself keeps what it says.
    """
    schema["components"]["schemas"]["Problem"] = PROBLEM_SCHEMA
    for methods in schema["paths"].values():
        for operation in methods.values():
            operation["responses"] = PROBLEM_RESPONSES | operation["responses"]
