"""Pydantic AI (``pydantic-ai-slim`` 2.62): tools that require approval are decided by the desk, within the run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from ..answers import Decision
from ..sentences import why
from .asker import Asker

Allowed = dict[tuple[str | None, str], Decision]
"""By run and id of the call, until what came of it is reported."""


def approvals(agent: str, **options: Any) -> Any:
    """A capability for ``Agent(capabilities=[...])``. Options: those of ``Asker``."""
    from pydantic_ai.capabilities import HandleDeferredToolCalls

    asker, allowed = Asker(agent, **options), Allowed()

    class Approvals(HandleDeferredToolCalls):  # type: ignore[misc]  # Any, where it is not installed
        async def after_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
            await _report(ctx, call, failed=False)
            return result

        async def on_tool_execute_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Any) -> Any:
            await _report(ctx, call, failed=True)
            raise error

    async def _report(context: Any, call: Any, *, failed: bool) -> None:
        decision = allowed.pop((_run(context), call.tool_call_id), None)
        if decision:
            await asker.report(decision, failed=failed)

    return Approvals(handler=_handler(asker, allowed))


def handler(agent: str, **options: Any) -> Callable[[Any, Any], Awaitable[Any]]:
    """From ``DeferredToolRequests`` to ``DeferredToolResults``; ``handler(...)(None, requests)`` serves outside a run.

    Calls that are executed elsewhere (``requests.calls``) are left to whoever executes them.
    """
    return _handler(Asker(agent, **options), {})


def _handler(asker: Asker, allowed: Allowed) -> Callable[[Any, Any], Awaitable[Any]]:
    async def handle(context: Any, requests: Any) -> Any:
        from pydantic_ai.tools import DeferredToolResults

        session = getattr(context, "conversation_id", None)
        times = Counter(call.tool_call_id for call in requests.approvals)
        calls = [call for call in requests.approvals if times[call.tool_call_id] == 1]
        decisions = await asyncio.gather(*(asker.ask(c.tool_name, _given(c), external_id=session) for c in calls))
        made = {call.tool_call_id: decision for call, decision in zip(calls, decisions, strict=True)}
        if context is not None:
            allowed.update({(_run(context), id_): decision for id_, decision in made.items() if decision})
        twice = Decision("failed", "two calls have the same id, so that an answer cannot be told from the other's")
        return DeferredToolResults(approvals={id_: _result(made.get(id_, twice)) for id_ in times})

    return handle


def _run(context: Any) -> str | None:
    return getattr(context, "run_id", None)


def _given(call: Any) -> Any:
    return call.args if call.args is not None else {}


def _result(decision: Decision) -> Any:
    from pydantic_ai.tools import ToolApproved, ToolDenied

    if decision.allowed:
        return ToolApproved(override_args=decision.arguments)  # also unchanged: these were decided on, nothing else
    return ToolDenied(why(decision))
