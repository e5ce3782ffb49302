"""Run blocks of Python (a JSON list on standard input), each in a namespace of its own; print what was wrong."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
from typing import Any

from countersign import conversation

NAMES = (
    "search_kb_tool", "create_ticket_tool", "paper_search", "github_search", "document_tool", "classification_tool",
    "tech_tools", "billing_tools",
)  # fmt: skip


def named(name: str) -> Any:
    def tool() -> dict[str, str]:
        return {"category": "billing"}

    tool.__name__ = name
    return tool


async def run(number: int, source: str) -> str:
    given: dict[str, Any] = {name: named(name) for name in NAMES}
    given |= {name: getattr(conversation, name) for name in conversation.__all__}
    given |= {"content": "A draft", "flags": {"new_ui": False}, "billing_tools": [named("refund"), named("invoice")]}
    given["session"] = conversation.Session(f"of block {number}", "seed", "user-1")
    try:
        running = eval(compile(source, f"block {number}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), given)  # noqa: S307
        if inspect.isawaitable(running):
            await running
        await given["session"].flush()
        if "retention=" in source:
            await given["session"].retention()  # nothing is sent before the first call
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


async def main() -> None:
    print(json.dumps([await run(number, source) for number, source in enumerate(json.load(sys.stdin))]))


asyncio.run(main())
