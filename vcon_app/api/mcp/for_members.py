"""The read-only tools for the assistant of the desk, which asks with the rights of the member who asks it."""

from __future__ import annotations

from functools import partial
from typing import Any

from asgiref.sync import async_to_sync

from sessions_app.extensions import DeskTool, ToolRefused
from sessions_app.models import Member


def desk_tools() -> list[DeskTool]:
    """The tools of ``/mcp``; see the slot ``DESK_TOOLS``."""
    from .tools import server  # when first needed: see door.py

    return [
        DeskTool(tool.name, tool.description or "", tool.input_schema, partial(_run, tool.name))
        for tool in async_to_sync(server.list_tools)()
    ]


def _run(name: str, member: Member, arguments: dict[str, Any]) -> str:
    return async_to_sync(_call)(name, member, arguments)


async def _call(name: str, member: Member, arguments: dict[str, Any]) -> str:
    from mcp.server.mcpserver.exceptions import ToolError

    from . import inner
    from .tools import server

    caller = inner.CALLER.set(inner.request_for(member))
    try:
        answer: Any = await server.call_tool(name, arguments)
    except ToolError as refused:
        raise ToolRefused(str(refused)) from None
    finally:
        inner.CALLER.reset(caller)
    return "\n".join(block.text for block in answer.content)
