"""Is a file Copilot's? Decided by the types of its lines or the keys of the document."""

from __future__ import annotations

from typing import Any

from ..common.head import Head
from ..common.values import text_of
from . import hooks, timeline, vscode, vscode_log

OTHERS = frozenset({"processed_at", "traceSchema"})
"""Members of lines of Managed Agents, and of OpenClaw's traces, whose types are dotted, too."""
PREFIXES = ("session.", "assistant.", "tool.execution_", "hook.", "user.message", "subagent.", "system.message")


def detect(head: Head) -> bool:
    """Whether ``read`` takes the file."""
    return any(map(_is_event, head.records)) or any(map(hooks.is_line, head.records)) or (
        timeline.is_timeline(head) or vscode.is_document(head) or vscode_log.is_log(head)
    )  # fmt: skip


def _is_event(line: dict[str, Any]) -> bool:
    dotted = text_of(line.get("type")).startswith(PREFIXES)
    return dotted and isinstance(line.get("data"), dict) and line.keys().isdisjoint(OTHERS)
