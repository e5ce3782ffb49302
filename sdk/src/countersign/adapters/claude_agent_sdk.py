"""Claude Agent SDK (``claude-agent-sdk`` 0.2.187): every call is asked about in a hook that fails closed.

A hook, and not ``can_use_tool`` alone: that is not called for ``allowed_tools``, for what the settings allow, or where
permissions are bypassed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from ..answers import Decision
from ..sentences import why
from .asker import Asker

SPARE = 60.0
"""Seconds that the hook has beyond the wait, so that it says no before the client stops it."""


def gated(options: Any, agent: str, *, wait: float = 3540, **more: Any) -> Any:
    """``ClaudeAgentOptions`` with the hook in front; ``more``: as for ``Asker``.

    With ``on_failure="block"`` the SDK refuses to connect to a Claude Code that would let a failed hook pass.
    """
    from claude_agent_sdk import HookMatcher

    asker, allowed = Asker(agent, wait=wait, **more), dict[str, Decision]()
    matchers = {
        "PreToolUse": HookMatcher(hooks=[_hook(asker, allowed)], timeout=wait + SPARE, on_failure="block"),
        "PostToolUse": HookMatcher(hooks=[_report(asker, allowed)]),
        "PostToolUseFailure": HookMatcher(hooks=[_report(asker, allowed, failed=True)]),
    }
    hooks = dict(options.hooks or {})
    return replace(options, hooks=hooks | {event: [ours, *hooks.get(event, ())] for event, ours in matchers.items()})


def can_use_tool(agent: str, **more: Any) -> Callable[[str, Any, Any], Awaitable[Any]]:
    """For ``ClaudeAgentOptions(can_use_tool=...)``: asks about what Claude Code would ask its user, and no more."""
    asker = Asker(agent, **more)

    async def decide(tool: str, given: Any, context: Any) -> Any:
        from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny

        decision = await asker.ask(tool, given, context=getattr(context, "title", None))
        if decision.allowed:
            return PermissionResultAllow(updated_input=decision.arguments)
        return PermissionResultDeny(message=why(decision))

    return decide


Hook = Callable[[Any, Any, Any], Awaitable[dict[str, Any]]]


def _hook(asker: Asker, allowed: dict[str, Decision]) -> Hook:
    """``allowed``: by call, until what came of it is reported."""

    async def decide(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        tool, arguments = given.get("tool_name"), given.get("tool_input")
        if isinstance(tool, str) and isinstance(arguments, dict):
            decision = await asker.ask(tool, arguments, external_id=given.get("session_id"))
        else:
            decision = Decision("failed", "this is no call of a tool")
        said: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecisionReason": why(decision)}
        if decision.allowed:
            allowed[str(tool_use_id)] = decision
            said |= {"permissionDecision": "allow", "updatedInput": decision.arguments}
        else:
            said |= {"permissionDecision": "deny"}
        return {"hookSpecificOutput": said}

    return decide


def _report(asker: Asker, allowed: dict[str, Decision], *, failed: bool = False) -> Hook:
    async def tell(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        decision = allowed.pop(str(tool_use_id), None)
        if decision:
            await asker.report(decision, failed=failed)
        return {}

    return tell
