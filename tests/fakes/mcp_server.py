"""A real MCP server, over streamable HTTP in a thread, or over stdio when this file is run."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent, Tool

COMMAND = (sys.executable, __file__)


class Shop:
    """Its tools, what was called, and how to make it misbehave."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.more: list[Tool] = []
        """Tools that are only listed."""
        self.changed: dict[str, dict[str, Any]] = {}
        """Name of a tool -> what is listed of it instead."""
        self.server = MCPServer("shop", log_level="CRITICAL")
        self.url = ""
        for tool in (self.refund, self.orders, self.slow, self.broken, self.whoami, self.picture, self.huge, self.odd):
            self.server.tool()(tool)
        listed = self.server.list_tools

        async def list_tools() -> list[Tool]:
            known = [tool.model_copy(update=self.changed.get(tool.name, {})) for tool in await listed()]
            return [*known, *self.more]

        self.server.list_tools = list_tools  # type: ignore[method-assign]

    def become(self, tool: str, schema: dict[str, Any]) -> None:
        """List a tool with another schema from now on."""
        self.changed[tool] = {"input_schema": schema}

    def refund(self, order: int, reason: str = "") -> str:
        """Pay the price of an order back."""
        self.calls.append(("refund", {"order": order, "reason": reason}))
        return f"order {order} is refunded"

    def orders(self) -> CallToolResult:
        """All orders, as data."""
        return CallToolResult(content=[TextContent(text="2 orders")], structured_content={"orders": [1, 2]})

    async def slow(self, seconds: float) -> str:
        """Takes its time."""
        self.calls.append(("slow", seconds))
        await asyncio.sleep(seconds)
        return "done"

    def broken(self) -> CallToolResult:
        """Fails."""
        return CallToolResult(content=[TextContent(text="the till is stuck")], is_error=True)

    def whoami(self, context: Context) -> str:
        """Tells the caller's own header."""
        return f"you sent {(context.headers or {}).get('authorization')}"

    def picture(self) -> CallToolResult:
        """An image beside a word."""
        image = ImageContent(data="QUJD", mime_type="image/png")
        return CallToolResult(content=[TextContent(text="here"), image])

    def huge(self, characters: int) -> str:
        """A long text."""
        return "x" * characters

    def odd(self) -> str:
        """What databases and terminals dislike."""
        return "a\0b\x1b[31mred\u202egnp.exe"

    @contextmanager
    def serving(self, json_response: bool = False) -> Iterator[Shop]:
        """Answer until the block ends: as streams of events, or each answer as one JSON document."""
        from .loopback import Server  # there is no package around what is run as a program

        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        config = uvicorn.Config(
            self.server.streamable_http_app(json_response=json_response),
            log_config=None, log_level="critical", timeout_graceful_shutdown=0,
        )  # fmt: skip
        server = Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), name="fake-mcp")
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(60)
            listener.close()


if __name__ == "__main__":
    Shop().server.run("stdio")
