"""PreToolUse and PermissionRequest of Claude Code: the call is asked about at the desk, and its answer is the decision.

Shapes of input and output as Claude Code 2.1.330 sends and takes them; tests/sdk runs the real one.
"""

from __future__ import annotations

import os
import time

from ..answers import Decision
from ..call_events import CHANGED, NAMES, PRE_TOOL_USE, question_of
from ..holding import asked
from ..sentences import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..holding import Desk
    from ..hooked import Options

AGENT = "Claude Code"


def decide(options: Options, event: dict[str, Any], started: float) -> dict[str, Any]:
    """What the client is told of a call. Raises ``ValueError`` for an input that is no call."""
    question = question_of(event, options, AGENT)
    decision = asked(question, options.hold - (time.monotonic() - started), _teller(event))
    _remember(event, decision)
    return _pre_tool_use(decision, options) if options.event == PRE_TOOL_USE else _permission_request(decision)


def _teller(event: dict[str, Any]) -> Callable[[Desk, Decision], None]:
    """Brings what led to a call to the desk, for the card that a person reads now. Failing, it stops nothing."""

    def tell(desk: Desk, decision: Decision) -> None:
        try:
            from . import transcript

            transcript.send(
                desk, decision.session_id, str(event.get("transcript_path")), event["session_id"], whole=False
            )
        except Exception as error:
            print(f"countersign: the transcript was not sent: {error}")  # to standard error, see hook.py

    return tell


def _remember(event: dict[str, Any], decision: Decision) -> None:
    from . import runs

    try:
        if decision.session_id and (runs.recall(event["session_id"]) or {}).get("session") != decision.session_id:
            runs.remember(event["session_id"], decision.session_id)
        if decision.allowed and event.get("tool_use_id"):
            runs.note_call(event["session_id"], event["tool_use_id"], decision.approval_id, decision.digest)
    except OSError as error:
        print(f"countersign: this run cannot be remembered, so that its transcript will not be sent: {error}")


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
