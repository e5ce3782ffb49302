"""PreToolUse and PermissionRequest of Claude Code: the call is asked about at the desk, and its answer is the decision.

Shapes of input and output as Claude Code 2.1.330 sends and takes them; tests/sdk runs the real one.
"""

from __future__ import annotations

import os
import time

from ..answers import Decision, Question
from ..holding import asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..hooked import Options

AGENT = "Claude Code"
PRE_TOOL_USE, PERMISSION_REQUEST = "pre-tool-use", "permission-request"
NAMES = {PRE_TOOL_USE: "PreToolUse", PERMISSION_REQUEST: "PermissionRequest"}
DEFERRED_FOR = 7 * 24 * 3600
"""Seconds that a deferred call waits for a decision."""
CHANGED = "A reviewer changed the arguments of this call: it ran with {0}. Do not repeat it as you first wrote it."


def decide(options: Options, event: dict[str, Any], started: float) -> dict[str, Any] | None:
    """What the client is told of a call. Raises ``ValueError`` for an input that is no call."""
    name = NAMES.get(options.event)
    if name is None:
        raise ValueError(f"Claude Code has no gate at {options.event}")
    if event.get("hook_event_name") != name:
        raise ValueError(f"the hook of {name} was given {str(event.get('hook_event_name'))[:40]}")
    question = question_of(event, options)
    decision = asked(question, options.hold - (time.monotonic() - started), event)
    return _pre_tool_use(decision, options) if options.event == PRE_TOOL_USE else _permission_request(decision)


def question_of(event: dict[str, Any], options: Options) -> Question:
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
        agent=os.environ.get("COUNTERSIGN_AGENT") or AGENT,
        external_id=session,
        title=_title(event),
        context=said if isinstance(said, str) and said else None,
        expires_in=DEFERRED_FOR if options.defers else max(int(options.hold), 1),
    )


def _title(event: dict[str, Any]) -> str:
    """Of the session at the desk, which the first call makes."""
    place = str(event.get("cwd") or "").rstrip("/").rpartition("/")[2][:200]
    return f"{AGENT} in {place}" if place else AGENT


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


def _pre_tool_use(decision: Decision, options: Options) -> dict[str, Any]:
    said: dict[str, Any] = {"hookEventName": NAMES[PRE_TOOL_USE]}
    if decision.allowed:
        said |= {"permissionDecision": "allow", "permissionDecisionReason": _why(decision)}
        if decision.is_edited:
            from ..canonical import canonical

            said["updatedInput"] = decision.arguments
            said["additionalContext"] = CHANGED.format(canonical(decision.arguments))
    elif decision.status == "pending" and options.defers and _may_defer():
        said |= {"permissionDecision": "defer"}
    else:
        said |= {"permissionDecision": "deny", "permissionDecisionReason": _why(decision)}
    return {"hookSpecificOutput": said}


def _permission_request(decision: Decision) -> dict[str, Any]:
    behaviour: dict[str, Any] = (
        {"behavior": "allow"} if decision.allowed else {"behavior": "deny", "message": _why(decision)}
    )
    if decision.allowed and decision.is_edited:
        behaviour["updatedInput"] = decision.arguments
    return {"hookSpecificOutput": {"hookEventName": NAMES[PERMISSION_REQUEST], "decision": behaviour}}


def _may_defer() -> bool:
    """Claude Code takes ``defer`` only where no person sits at it: ``claude -p``."""
    return os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"


def _why(decision: Decision) -> str:
    """One sentence for the model and the person: who said what."""
    from ..sentences import why

    return why(decision)
