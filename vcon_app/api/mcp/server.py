"""A server of the library that refuses what a tool does not take: the library ignores it, and a model believes it.

What is wrong with an argument it says as the JSON API does, and not in the words of the validator.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Tool
from pydantic import ValidationError

from sessions_app.api.problems import wrong_value


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
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(wrong_ones := error.__cause__, ValidationError):
                raise
            raise ToolError(_sentence(wrong_ones)) from wrong_ones


def _sentence(error: ValidationError) -> str:
    """Which arguments are wrong, with what was given and what is possible."""
    faults = (
        wrong_value({**fault, "loc": ("argument", *fault["loc"]), "given": fault["input"]}) for fault in error.errors()
    )
    told = "; ".join(f"{fault['pointer'].removeprefix('/')}: {fault['detail']}" for fault in faults)
    return f"nothing was done, call it again with other arguments: {told}"
