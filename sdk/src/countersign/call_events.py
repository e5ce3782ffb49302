"""The event by which a coding agent tells its hook of a call: in Claude Code and Codex the same, but for additions."""

from __future__ import annotations

import os

from .answers import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .hooked import Options

PRE_TOOL_USE, PERMISSION_REQUEST = "pre-tool-use", "permission-request"
NAMES = {PRE_TOOL_USE: "PreToolUse", PERMISSION_REQUEST: "PermissionRequest"}
DEFERRED_FOR = 7 * 24 * 3600
"""Seconds that a deferred call waits for a decision."""
CHANGED = "A reviewer changed the arguments of this call: it ran with {0}. Do not repeat it as you first wrote it."


def question_of(event: dict[str, Any], options: Options, agent: str) -> Question:
    """The call as it is asked about. Raises ``ValueError`` for an event that is not the one of ``options``."""
    name = NAMES.get(options.event)
    if name is None or event.get("hook_event_name") != name:
        raise ValueError(f"the hook {options.event[:40]} was given {str(event.get('hook_event_name'))[:40]}")
    tool, given, session = event.get("tool_name"), event.get("tool_input"), event.get("session_id")
    if (
        not isinstance(tool, str)
        or not tool
        or not isinstance(given, dict)
        or not isinstance(session, str)
        or not session
    ):
        raise ValueError("the call lacks tool_name, tool_input or session_id")
    said = given.get("description")
    return Question(
        tool,
        given,
        server_of(tool),
        client_id=_call_id(event),
        agent=os.environ.get("COUNTERSIGN_AGENT") or agent,
        external_id=session,
        title=_title(event, agent),
        context=said if isinstance(said, str) and said else None,
        expires_in=DEFERRED_FOR if options.defers else max(int(options.hold), 1),
    )


def _title(event: dict[str, Any], agent: str) -> str:
    """Of the session at the desk, which the first call makes."""
    place = str(event.get("cwd") or "").rstrip("/").rpartition("/")[2][:200]
    return f"{agent} in {place}" if place else agent


def server_of(tool: str) -> str | None:
    """The MCP server in a name like ``mcp__SERVER__TOOL``."""
    parts = tool.split("__", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "mcp" and parts[1] else None


def _call_id(event: dict[str, Any]) -> str:
    """The call's own id, which is the same when a deferred run is resumed.

    A PermissionRequest may have none, and two equal calls need two decisions: there, a new one each time.
    """
    id_ = event.get("tool_use_id")
    if isinstance(id_, str) and id_:
        return id_ if event["hook_event_name"] == NAMES[PRE_TOOL_USE] else f"permission:{id_}"
    if event["hook_event_name"] == NAMES[PRE_TOOL_USE]:
        raise ValueError("the call lacks tool_use_id")
    return f"permission:{os.urandom(16).hex()}"
