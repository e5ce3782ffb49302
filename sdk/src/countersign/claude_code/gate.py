"""PreToolUse and PermissionRequest of Claude Code: the call is asked about at the desk, and its answer is the decision.

Shapes of input and output as Claude Code 2.1.330 sends and takes them; tests/sdk runs the real one.
"""

from __future__ import annotations

import os
import time

from .. import runs
from ..answers import Decision
from ..call_events import CHANGED, NAMES, PRE_TOOL_USE, question_of
from ..holding import asked
from ..sentences import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..hooked import Options

CLIENT, AGENT = "claude-code", "Claude Code"


def decide(options: Options, event: dict[str, Any], started: float) -> dict[str, Any]:
    """What the client is told of a call. Raises ``ValueError`` for an input that is no call."""
    question = question_of(event, options, AGENT)
    decision = asked(question, options.hold - (time.monotonic() - started), runs.teller(event, CLIENT))
    if decision.allowed and options.defers and options.event == PRE_TOOL_USE:
        from . import resumed

        if resumed.is_superseded(event, options.hold):
            return _refused(resumed.SUPERSEDED)
    runs.note_decision(event, decision)
    return _pre_tool_use(decision, options) if options.event == PRE_TOOL_USE else _permission_request(decision)


def _pre_tool_use(decision: Decision, options: Options) -> dict[str, Any]:
    said: dict[str, Any] = {"hookEventName": NAMES[PRE_TOOL_USE]}
    if decision.allowed:
        said |= {"permissionDecision": "allow", "permissionDecisionReason": why(decision)}
        if decision.is_edited:
            from ..canonical import canonical

            said["updatedInput"] = decision.arguments
            said["additionalContext"] = CHANGED.format(canonical(decision.arguments))
    elif decision.status == "pending" and options.defers and _may_defer():
        said |= {"permissionDecision": "defer"}
    else:
        said |= {"permissionDecision": "deny", "permissionDecisionReason": why(decision)}
    return {"hookSpecificOutput": said}


def _refused(reason: str) -> dict[str, Any]:
    said = {"hookEventName": NAMES[PRE_TOOL_USE], "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": said}


def _permission_request(decision: Decision) -> dict[str, Any]:
    behaviour: dict[str, Any] = (
        {"behavior": "allow"} if decision.allowed else {"behavior": "deny", "message": why(decision)}
    )
    if decision.allowed and decision.is_edited:
        behaviour["updatedInput"] = decision.arguments
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behaviour}}


def _may_defer() -> bool:
    """Claude Code takes ``defer`` only where no person sits at it: ``claude -p``."""
    return os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
