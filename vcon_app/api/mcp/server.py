"""A server of the library that refuses what a tool does not take: the library ignores it, and a model believes it."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Tool


class Server(MCPServer):
    """Its tools say that they take no other arguments, and take none."""

    async def list_tools(self) -> list[Tool]:
        tools: list[Tool] = await super().list_tools()
        for tool in tools:
            tool.input_schema = tool.input_schema | {"additionalProperties": False}
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Raises ``ToolError``, which is the answer of the tool."""
        taken = {tool.name: list(tool.input_schema["properties"]) for tool in await super().list_tools()}
        if wrong := next((given for given in arguments if name in taken and given not in taken[name]), None):
            raise ToolError(f'there is no argument "{wrong[:100]}" here; there is {", ".join(taken[name])}')
        return await super().call_tool(name, arguments, context)
