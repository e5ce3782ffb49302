"""A client of the real MCP library that calls ``refund`` through the gateway, once for each line of its input.

A line: the command, the environment, the mode ("legacy" or a version) and seconds until it gives up (or null).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters


async def call(command: list[str], environment: dict[str, str], mode: str, patience: float | None) -> dict[str, Any]:
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    try:
        async with Client(server, mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            with anyio.move_on_after(patience or 60):
                result = await client.call_tool("refund", {"order": "4711", "amount": 40.0})
                return {"tools": tools, "failed": result.is_error, "said": [part.text for part in result.content]}
            Path(f"{environment['LEDGER']} gave up").touch()
            await asyncio.sleep(5)  # stays connected, as a client does that gave up on one call
            return {"tools": tools, "gave_up": True}
    except Exception as error:
        return {"raised": repr(error)}


async def main() -> list[dict[str, Any]]:
    return await asyncio.gather(*(call(**json.loads(line)) for line in sys.stdin))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
