"""What speaks the protocol at ``/mcp``: the library and the tools, loaded by the first request that has a key."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from . import recording, tools

SERVERS: dict[str, MCPServer] = {"reading": tools.server, "recording": recording.server}


async def answer(server: str, request: HttpRequest) -> HttpResponse:
    """The answer of one of ``SERVERS``, whose tools ask as ``inner.CALLER``."""
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

    manager = _manager(SERVERS[server])
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
