"""PreToolUse and PermissionRequest of Codex: the call is asked about at the desk, and its answer is the decision.

Shapes as Codex 0.169 takes them. It knows ``allow`` only together with ``updatedInput``: so what may run is always
handed over, as it was decided. A PermissionRequest can change nothing (its ``updatedInput`` is reserved), so that an
edit is a refusal which says what to call instead.
"""

from __future__ import annotations

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

CLIENT, AGENT = "codex", "Codex"
INSTEAD = "A reviewer changed this call. Make it again with exactly these arguments: {0}"


def decide(options: Options, event: dict[str, Any], started: float) -> dict[str, Any]:
    """What the client is told of a call. Raises ``ValueError`` for an input that is no call."""
    question = question_of(event, options, AGENT)
    decision = asked(question, options.hold - (time.monotonic() - started), runs.teller(event, CLIENT))
    runs.note_decision(event, decision)
    return _pre_tool_use(decision) if options.event == PRE_TOOL_USE else _permission_request(decision)


def _pre_tool_use(decision: Decision) -> dict[str, Any]:
    said: dict[str, Any] = {"hookEventName": NAMES[PRE_TOOL_USE]}
    if not decision.allowed:
        return {"hookSpecificOutput": said | {"permissionDecision": "deny", "permissionDecisionReason": why(decision)}}
    said |= {"permissionDecision": "allow", "updatedInput": decision.arguments}
    if decision.is_edited:
        said["additionalContext"] = CHANGED.format(_written(decision))
    return {"hookSpecificOutput": said}


def _permission_request(decision: Decision) -> dict[str, Any]:
    behaviour = {"behavior": "allow"} if decision.allowed else {"behavior": "deny", "message": why(decision)}
    if decision.allowed and decision.is_edited:
        behaviour = {"behavior": "deny", "message": INSTEAD.format(_written(decision))}
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behaviour}}


def _written(decision: Decision) -> str:
    from ..canonical import canonical

    return canonical(decision.arguments)
