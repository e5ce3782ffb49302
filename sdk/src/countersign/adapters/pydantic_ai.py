"""Pydantic AI (``pydantic-ai-slim`` 2.62): tools that require approval are decided by the desk, within the run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from ..answers import Decision
from ..sentences import why
from .asker import Asker


def approvals(agent: str, **options: Any) -> Any:
    """A capability for ``Agent(capabilities=[...])``. Options: those of ``Asker``."""
    from pydantic_ai.capabilities import HandleDeferredToolCalls

    return HandleDeferredToolCalls(handler=handler(agent, **options))


def handler(agent: str, **options: Any) -> Callable[[Any, Any], Awaitable[Any]]:
    """From ``DeferredToolRequests`` to ``DeferredToolResults``; ``handler(...)(None, requests)`` serves outside a run.

    Calls that are executed elsewhere (``requests.calls``) are left to whoever executes them.
    """
    asker = Asker(agent, **options)

    async def handle(context: Any, requests: Any) -> Any:
        from pydantic_ai.tools import DeferredToolResults

        session = getattr(context, "conversation_id", None)
        times = Counter(call.tool_call_id for call in requests.approvals)
        calls = [call for call in requests.approvals if times[call.tool_call_id] == 1]
        decisions = await asyncio.gather(*(asker.ask(c.tool_name, _given(c), external_id=session) for c in calls))
        results = {call.tool_call_id: _result(decision) for call, decision in zip(calls, decisions, strict=True)}
        twice = Decision("failed", "two calls have the same id, so that an answer cannot be told from the other's")
        return DeferredToolResults(approvals={id_: results.get(id_) or _result(twice) for id_ in times})

    return handle


def _given(call: Any) -> Any:
    return call.args if call.args is not None else {}


def _result(decision: Decision) -> Any:
    from pydantic_ai.tools import ToolApproved, ToolDenied

    if decision.allowed:
        return ToolApproved(override_args=decision.arguments)  # also unchanged: these were decided on, nothing else
    return ToolDenied(why(decision))
