"""Tool calls that wait for their results; old ones fall out, so memory stays flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .values import forget_oldest, text_of

KEPT = 1024
"""Calls remembered. More than a thousand are never open at once."""
ID_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the key of its event, its name, and the server it goes to."""

    key: str
    name: str
    server: str | None = None


class Calls:
    """Finds the call that a result, an outcome or an approval belongs to."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}

    def add(self, call_id: str | None, call: Call) -> None:
        """Remember a call under the id that its result will name."""
        if call_id:
            self._calls[call_id] = call
            forget_oldest(self._calls, KEPT)

    def get(self, call_id: Any) -> Call | None:
        """The call with this id, while it is remembered."""
        return self._calls.get(call_id) if isinstance(call_id, str) else None


def id_of(value: Any) -> str | None:
    """An id as it is kept: text that says something, not too long."""
    return text_of(value)[:ID_LIMIT] or None


def server_of(name: str | None) -> str | None:
    """The MCP server in a tool's name ``mcp__<server>__<tool>``."""
    parts = name.split("__", 2) if name and name.startswith("mcp__") else ()
    return parts[1] if len(parts) == 3 else None
