"""``/mcp``: streamable HTTP of the Model Context Protocol (2026-07-28, and those before that begin with a handshake).

The library speaks the protocol. Nothing is kept between requests, so any of several web servers answers the next one;
and there is no stream, for the tools have nothing to tell by themselves.
"""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from sessions_app.api.auth import own_reader
from sessions_app.api.problems import Problem

from . import recording, tools
from .inner import CALLER


@csrf_exempt  # a key is needed, which no page of another site has
async def serve(request: HttpRequest) -> HttpResponse:
    """One request of a client to the tools that read; an API key as bearer decides what it sees."""
    return await _serve(tools.server, request)


@csrf_exempt
async def serve_recording(request: HttpRequest) -> HttpResponse:
    """The same for the tools that record decisions and evidence."""
    return await _serve(recording.server, request)


async def _serve(server: MCPServer, request: HttpRequest) -> HttpResponse:
    try:
        if "Authorization" not in request.headers:
            bearer = {"WWW-Authenticate": 'Bearer realm="countersign"'}
            raise Problem(401, 'send an API key as "Authorization: Bearer cs_..."', headers=bearer)
        await sync_to_async(own_reader)(request)
    except Problem as problem:
        return problem.response()
    if request.method == "GET":
        return HttpResponse(status=405, headers={"Allow": "POST"})
    caller = CALLER.set(request)
    try:
        return await _answer(server, request)
    finally:
        CALLER.reset(caller)


async def _answer(server: MCPServer, request: HttpRequest) -> HttpResponse:
    response = HttpResponse()
    scope: dict[str, Any] = {
        "type": "http", "method": request.method, "path": request.path, "raw_path": request.path.encode(),
        "query_string": request.META.get("QUERY_STRING", "").encode(), "http_version": "1.1", "scheme": request.scheme,
        "root_path": "", "server": None, "client": None,
        "headers": [(name.lower().encode(), value.encode()) for name, value in request.headers.items()],
    }  # fmt: skip
    body = request.body

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            for name, value in message["headers"]:
                response.headers[name.decode()] = value.decode()
        else:
            response.write(message.get("body", b""))

    manager = _manager(server)
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return response


def _manager(server: MCPServer) -> StreamableHTTPSessionManager:
    """What answers one request: the library's managers live in one task of one event loop, and a request has its own.

    The check of the host is for servers that ask for no key.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.streamable_http_app(json_response=True, stateless_http=True, transport_security=unchecked)
    return server.session_manager
