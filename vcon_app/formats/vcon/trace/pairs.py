"""Which result belongs to which call: by call id, by parent, else by order."""

from __future__ import annotations

from dataclasses import replace

from ....drafts import ToolDraft
from ..file import Notes, shown
from . import extension
from .steps import Step


class Pairs:
    """Sets the parent of each result to its call; reports results and calls that stand alone (rule R72)."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._by_id: dict[str, Step] = {}
        self._open: dict[int, Step] = {}
        """Calls without a result yet, by identity, in order."""

    def add_step(self, step: Step) -> None:
        """Look at the steps in log order."""
        tool = step.tool
        if tool is None:
            return
        if step.kind == "tool_call":
            self._open[id(step)] = step
            if tool.call_id:
                self._by_id[tool.call_id] = step
        elif step.kind == "tool_result":
            call = self._by_id.get(tool.call_id) if tool.call_id else None
            self._result(step, tool, call or self._likely_call(step))

    def _result(self, step: Step, tool: ToolDraft, call: Step | None) -> None:
        if call is None:
            step.data["orphan"] = True
            self._notes.warn(
                "R72",
                step.pointer,
                "This tool result answers no call in the file"
                + (f" (call id {shown(tool.call_id)})." if tool.call_id else "."),
                "orphan",
            )
            return
        self._open.pop(id(call), None)
        step.parent = call
        if extension.DEPTH not in step.own:
            step.depth = call.depth
        if tool.name is None and call.tool:
            step.tool = replace(tool, name=call.tool.name)
            step.actor = ("tool", call.tool.name or "") if step.actor == ("tool", "") else step.actor

    def _likely_call(self, step: Step) -> Step | None:
        """The call of a result whose call id, if it has one, no call in the file has."""
        call_id = step.tool.call_id if step.tool else None
        if (call := step.parent) is not None and call.kind == "tool_call" and not (call_id and call.tool.call_id):
            return call
        if call_id:
            return None
        name = step.tool.name if step.tool else None
        return next(
            (
                call
                for call in self._open.values()
                if call.tool and not call.tool.call_id and call.level == step.level and name in (None, call.tool.name)
            ),
            None,
        )

    def finish(self) -> None:
        """Report the calls that got no result: not recorded, which is not the same as failed."""
        for call in self._open.values():
            name = call.tool.name if call.tool else None
            self._notes.info(
                "R72",
                call.pointer,
                f"No result is recorded for the call of {shown(name or 'a tool')}; that does not say it failed.",
                "open",
            )
