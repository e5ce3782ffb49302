"""``/mcp``: streamable HTTP of the Model Context Protocol (2026-07-28, and those before that begin with a handshake).

The library speaks the protocol. Nothing is kept between requests, so any of several web servers answers the next one;
and there is no stream, for the tools have nothing to tell by themselves.
"""

from __future__ import annotations

from types import ModuleType

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from sessions_app.api.auth import own_reader
from sessions_app.api.problems import Problem

from .inner import CALLER


@csrf_exempt  # a key is needed, which no page of another site has
async def serve(request: HttpRequest) -> HttpResponse:
    """One request of a client to the tools that read; an API key as bearer decides what it sees."""
    return await _serve("reading", request)


@csrf_exempt
async def serve_recording(request: HttpRequest) -> HttpResponse:
    """The same for the tools that record decisions and evidence."""
    return await _serve("recording", request)


async def _serve(server: str, request: HttpRequest) -> HttpResponse:
    try:
        if "Authorization" not in request.headers:
            bearer = {"WWW-Authenticate": 'Bearer realm="countersign"'}
            raise Problem(401, 'send an API key as "Authorization: Bearer cs_..."', headers=bearer)
        await sync_to_async(own_reader)(request)
    except Problem as problem:
        return problem.response()
    if request.method == "GET":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    answering = await sync_to_async(_answering)()  # in a thread: the event loop has others to serve meanwhile
    caller = CALLER.set(request)
    try:
        return await answering.answer(server, request)
    finally:
        CALLER.reset(caller)


def _answering() -> ModuleType:
    from . import answering  # when first needed: the library takes 0.4 s and 20 MB, and most desks have no such client

    return answering
