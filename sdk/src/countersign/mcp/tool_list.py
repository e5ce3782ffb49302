"""The tools of a server as it lists them now: a fingerprint of each, and which of its arguments travel as headers."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from ..canonical import canonical
from .messages import Json, result_of

FRESH = 30.0
"""Seconds after which the tools are listed again, also where the server does not tell that they changed."""
PAGES = 50
TOLD = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution")
"""What of a tool people and models go by; another text in one of them is another tool."""
SAFE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
WRAPPED = re.compile(r"=\?base64\?.*\?=")
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


class ToolList:
    """Asks for the tools by ``ask``, which takes the parameters of ``tools/list`` and gives the answer, or None.

    ``place``: the address or command line of the server, which is a part of every fingerprint.
    """

    def __init__(self, place: str, ask: Callable[[Json], Json | None]) -> None:
        self._place, self._ask = place, ask
        self._tools: dict[str, Json] = {}
        self._until = 0.0
        self._listing = threading.Lock()

    def has_changed(self) -> None:
        """What is known is not believed any more."""
        self._until = 0.0

    def find(self, name: str, meta: Json) -> Json | None:
        """The tool; None where the server does not list it, or does not answer. ``meta``: that of the call."""
        with self._listing:
            if time.monotonic() >= self._until:
                self._until = time.monotonic() + FRESH  # first: a change that is told meanwhile counts
                self._tools = self._listed(meta)
            return self._tools.get(name)

    def known(self, name: str) -> Json | None:
        """The tool as it was listed last."""
        return self._tools.get(name)

    def fingerprint(self, tool: Json | None) -> str:
        """SHA-256 over the tool and its server, in hexadecimal; empty where there is nothing to tell it by.

        No grant that was made for a fingerprint is used for a call without one.
        """
        if tool is None:
            return ""
        try:
            about = {"server": self._place, "tool": {name: tool[name] for name in TOLD if name in tool}}
            return hashlib.sha256(canonical(about).encode()).hexdigest()
        except (ValueError, RecursionError):
            return ""

    def _listed(self, meta: Json) -> dict[str, Json]:
        found: dict[str, Json] = {}
        params: Json = {"_meta": {name: value for name, value in meta.items() if name != "progressToken"}}
        for _ in range(PAGES):
            result = result_of(self._ask(params) or {})
            tools = result.get("tools")
            for tool in tools if isinstance(tools, list) else []:
                if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    found[tool["name"]] = tool
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                return found
            params = params | {"cursor": cursor}
        return found


def headers_of(tool: Json | None, arguments: Any) -> dict[str, str]:
    """``Mcp-Param-*``: arguments that the schema marks with ``x-mcp-header`` (2026-07-28, transports)."""
    found: dict[str, str] = {}
    left: list[tuple[Any, Any]] = [((tool or {}).get("inputSchema"), arguments)]
    while left:
        schema, value = left.pop()
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(properties, dict) or not isinstance(value, dict):
            continue
        for name, inner in properties.items():
            token = inner.get("x-mcp-header") if isinstance(inner, dict) else None
            given = value.get(name)
            if isinstance(token, str) and TOKEN.fullmatch(token) and isinstance(given, (str, int, float)):
                found[f"Mcp-Param-{token}"] = header(str(given).lower() if isinstance(given, bool) else str(given))
            left.append((inner, given))
    return found


def header(text: str) -> str:
    """A text as the value of a header: as it is where it survives that, else in Base64 between marks."""
    if SAFE.fullmatch(text) and not WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='replace')).decode()}?="
