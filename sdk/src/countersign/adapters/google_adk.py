"""Google ADK (``google-adk`` 2.13): a plugin of the runner asks about every call of every tool of its agents."""

from __future__ import annotations

from typing import Any

from ..answers import Decision
from ..sentences import why
from .asker import Asker


def gate(agent: str, **options: Any) -> Any:
    """A plugin for ``App(plugins=[...])`` or ``Runner(plugins=[...])``. Options: those of ``Asker``.

    A tool that requires confirmation is confirmed by the decision of the desk.
    """
    from google.adk.plugins.base_plugin import BasePlugin

    asker, allowed = Asker(agent, **options), dict[int, tuple[Any, Decision]]()
    # by the context of the call, which is there until the call has ended

    class Gate(BasePlugin):  # type: ignore[misc]  # Any, where it is not installed
        async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
            decision = await asker.ask(tool.name, tool_args, external_id=_session(tool_context))
            if not decision.allowed:
                return {"result" if decision.status == "answered" else "error": why(decision)}
            tool_args.clear()
            tool_args.update(decision.arguments)
            await _confirm(tool, tool_args, tool_context)
            allowed[id(tool_context)] = (tool_context, decision)
            return None

        async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> None:
            await _report(tool_context, failed=isinstance(result, dict) and bool(result.get("error")))

        async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Any) -> None:
            await _report(tool_context, failed=True)

    async def _report(context: Any, *, failed: bool) -> None:
        _, decision = allowed.pop(id(context), (None, None))
        if decision:
            await asker.report(decision, failed=failed)

    return Gate(name="countersign")


async def _confirm(tool: Any, arguments: dict[str, Any], context: Any) -> None:
    from google.adk.tools.tool_confirmation import ToolConfirmation

    if await tool.check_require_confirmation(arguments, context):
        context.tool_confirmation = ToolConfirmation(confirmed=True)


def _session(context: Any) -> str | None:
    id_ = getattr(getattr(context, "session", None), "id", None)
    return id_ if isinstance(id_, str) and id_ else None
