"""The JSON API, asked by a tool: the same addresses with the caller's own rights, so that a tool sees what they do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlencode

import orjson
from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.urls import resolve

from sessions_app.api.auth import ACTS_FOR, reader_for
from sessions_app.models import Member

CALLER: ContextVar[HttpRequest] = ContextVar("caller")
"""The request that a tool is called in, or one that ``request_for`` made."""
MOST_BYTES = 1_000_000
"""Of an answer: more than a model reads at once, and much less than the largest session."""
MOST_OF_ONE = 32_000_000
"""The same of one row, of which the beginnings are given."""
KEPT = ("SERVER_NAME", "SERVER_PORT", "REMOTE_ADDR", "HTTP_HOST", "HTTP_AUTHORIZATION", "wsgi.url_scheme")


class Refused(Exception):
    """The API says no; the message is its reason, in words for whoever asked."""


class TooLarge(Refused):
    """The answer has more bytes than may be read."""


def request_for(member: Member) -> HttpRequest:
    """A request that nobody sent: of a member who reads by way of the desk's own assistant."""
    request = HttpRequest()
    request.META = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    setattr(request, ACTS_FOR, reader_for(member))
    return request


async def get(path: str, query: Mapping[str, Any] | None = None, *, most: int | None = None) -> Any:
    """What ``GET path`` answers to the caller: a JSON value, or text. Raises ``Refused``; beyond ``most`` bytes
    ``TooLarge``.
    """
    asked = _request("GET", path)
    given = {name: value for name, value in (query or {}).items() if value not in (None, "")}
    asked.META["QUERY_STRING"] = urlencode(given)
    asked.GET = QueryDict(asked.META["QUERY_STRING"])
    body, kind = await _answer(asked, most or MOST_BYTES)
    return orjson.loads(body) if kind.startswith("application/json") else body.decode()


async def post(path: str, value: Any) -> Any:
    """What ``POST path`` answers to the caller, who is sent by a key. Raises ``Refused``."""
    asked = _request("POST", path)
    asked.content_type = "application/json"
    asked._body = json.dumps(value).encode()  # orjson refuses numbers of more than 64 bits, which the API is to refuse
    return orjson.loads((await _answer(asked, MOST_BYTES))[0])


def _request(method: str, path: str) -> HttpRequest:
    """A request in the name of the caller."""
    outer = CALLER.get()
    request = HttpRequest()
    request.method, request.path, request.path_info = method, path, path
    request.META = {name: outer.META[name] for name in KEPT if name in outer.META}
    if acts_for := getattr(outer, ACTS_FOR, None):
        setattr(request, ACTS_FOR, acts_for)
    return request


async def _answer(request: HttpRequest, most: int) -> tuple[bytes, str]:
    request.resolver_match = match = resolve(request.path)
    view = match.func if iscoroutinefunction(match.func) else sync_to_async(match.func)
    response: HttpResponseBase = await view(request, *match.args, **match.kwargs)
    body = b""
    async for piece in _pieces(response):
        body += piece
        if len(body) > most:
            raise TooLarge(f"it is larger than {most:,} bytes; read it page by page with the tools")
    if response.status_code >= 400:
        raise Refused(str(orjson.loads(body).get("detail", "it was refused")))
    return body, response.headers.get("Content-Type", "")


async def _pieces(response: Any) -> AsyncIterator[bytes]:
    if not response.streaming:
        yield response.content
    elif response.is_async:
        async for piece in response:
            yield piece
    else:
        yield await sync_to_async(lambda: b"".join(response))()
