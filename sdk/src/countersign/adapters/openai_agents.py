"""OpenAI Agents SDK (``openai-agents`` 0.24): ``needs_approval`` is answered by the desk, and checked once more.

A wrapped tool runs only with a decision about its very arguments, whoever approved it in the state of the run.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from ..answers import Decision
from ..canonical import canonical
from ..sentences import why
from .asker import Asker

FAILED = "_function_tool_default_failure_handled"
"""Set on the context of a call whose exception the SDK has made a text for the model of."""


class Gate:
    """``tool`` wraps tools, ``run`` stands in for ``Runner.run``. Options: those of ``Asker``."""

    def __init__(self, agent: str, **options: Any) -> None:
        self._asker = Asker(agent, **options)
        self._decisions: dict[tuple[str, str, str], Decision] = {}
        """By tool, id of the call and the arguments that were asked about; each is used up by one execution."""
        self._wrapped: set[str] = set()

    def tool(self, tool: Any) -> Any:
        """A function tool that asks first, and then runs with the arguments that were decided on."""
        invoke = tool.on_invoke_tool
        self._wrapped.add(tool.name)

        async def run_decided(context: Any, arguments: str) -> Any:
            decision = self._decisions.pop(_key(tool.name, context.tool_call_id, arguments), None)
            if decision is None or not decision.allowed:
                return why(decision or Decision("failed"))
            if decision.is_edited:
                arguments = json.dumps(decision.arguments)
            try:
                result = await invoke(context, arguments)
            except Exception:
                await self._asker.report(decision, failed=True)
                raise
            await self._asker.report(decision, failed=getattr(context, FAILED, False))
            return result

        return replace(tool, needs_approval=True, on_invoke_tool=run_decided)

    async def run(self, agent: Any, given: Any, **more: Any) -> Any:
        """``Runner.run`` until nothing waits for a decision; ``more`` as there."""
        from agents import Runner

        result = await Runner.run(agent, given, **more)
        while result.interruptions:
            result = await Runner.run(agent, await self.settle(result), **more)
        return result

    async def settle(self, result: Any) -> Any:
        """The state to go on with: all that waited is approved or rejected."""
        state, items = result.to_state(), list(result.interruptions)
        asked = (self._asker.ask(str(item.name), item.arguments, server=_server(item)) for item in items)
        for item, decision in zip(items, await asyncio.gather(*asked), strict=True):
            self._put(state, item, decision)
        return state

    def _put(self, state: Any, item: Any, decision: Decision) -> None:
        can_change = item.name in self._wrapped
        if decision.allowed and (can_change or not decision.is_edited):
            self._decisions[_key(str(item.name), item.call_id, item.arguments)] = decision
            state.approve(item)
        elif decision.allowed:
            allowed = json.dumps(decision.arguments, ensure_ascii=False)
            message = f"Not run: this tool cannot be given other arguments. {decision.by} would allow {allowed}."
            state.reject(item, rejection_message=message)
        else:
            state.reject(item, rejection_message=why(decision))


def _key(tool: str, call: Any, arguments: Any) -> tuple[str, str, str]:
    try:
        written = canonical(json.loads(arguments or "{}"))
    except (ValueError, TypeError, RecursionError):
        written = f"no JSON: {arguments}"  # as it stands: it is asked about as little as it is run
    return tool, str(call), written


def _server(item: Any) -> str | None:
    raw = item.raw_item
    label = raw.get("server_label") if isinstance(raw, dict) else getattr(raw, "server_label", None)
    return label if isinstance(label, str) else None
