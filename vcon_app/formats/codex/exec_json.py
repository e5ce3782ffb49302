"""``codex exec --json``: another schema for the same work, with dotted types and items that start and complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, Finding, ToolDraft
from ..common.calls import id_of
from ..common.lines import Actor, Line
from ..common.reading import FactsReading, unknown_type
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .events import unified
from .outputs import output_of
from .tokens import Totals

STARTS = frozenset({"thread.started", "turn.started"})
AGENT: Actor = ("agent", "Codex")
STATUSES = {"completed": "ok", "failed": "error", "declined": "denied"}


def is_exec(lines: list[dict[str, Any]]) -> bool:
    """Whether one of the first lines begins a thread or a turn in this schema."""
    return any(text_of(line.get("type")) in STARTS and "payload" not in line for line in lines)


class ExecReading(FactsReading):
    """The state of one stream while it is read. It holds no times, no prompt and no model."""

    name = "codex"
    title = "Codex"

    def __init__(self) -> None:
        super().__init__()
        self.totals = Totals()
        self._open: dict[str, str] = {}
        """Item ids -> keys of the events that their start gave."""

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        if line.value.get("type") == "thread.started":
            self.facts.session = self.facts.session or text_of(line.value.get("thread_id"))
        return bool(self.facts.session)

    def assign_key(self, line: Line) -> Iterable[Finding]:
        line.key = self._keys.derived(text_of(line.value.get("type")) or "line", line)
        self.facts.note_line(line)
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind = text_of(line.value.get("type"))
        if kind.startswith("item."):
            yield from self._part(line, dict_of(line.value.get("item")), kind)
        elif kind in ("thread.started", "turn.started"):
            yield line.event("system", data=scalars_of(line.value))
        elif kind == "turn.completed":
            self.facts.phase = "completed"
            yield self._turn_completed(line)
        elif kind in ("turn.failed", "error"):
            self.facts.phase = "crashed"
            text = text_of(dict_of(line.value.get("error")).get("message")) or text_of(line.value.get("message"))
            yield line.event("error", text, data={"type": kind})
        else:
            yield self.unknown(line, unknown_type(line.value.get("type")))

    def _turn_completed(self, line: Line) -> EventDraft:
        """The counts are totals of the thread so far, over all responses of its turns."""
        usage = self.totals.usage_of_step({"info": {"total_token_usage": line.value.get("usage")}}, quality="aggregate")
        data = {"type": "turn.completed"}
        if usage is None:
            return line.event("system", data=data)
        return line.event("model_request", actor=AGENT, usage=usage, request=line.key, data=data)

    def _part(self, line: Line, item: dict[str, Any], stage: str) -> Iterator[EventDraft]:
        kind = text_of(item.get("type") or item.get("item_type"))
        item_id = id_of(item.get("id"))
        if kind in CALLS:
            if item_id not in self._open:
                yield self._call(line, item, kind, item_id)
            if stage == "item.completed":
                yield self._result(line, item, kind, item_id)
            elif stage == "item.updated":
                yield line.event("system", part=":u", parent=self._open.get(item_id or ""), data={"type": stage})
        elif stage != "item.completed" and kind != "todo_list":
            yield line.event("system", data={"type": stage, "item_type": kind[:100]})
        elif handler := TEXTS.get(kind):
            yield handler(line, item)
        else:
            yield self.unknown(line, f"item type {kind[:100]!r}", item)

    def _call(self, line: Line, item: dict[str, Any], kind: str, item_id: str | None) -> EventDraft:
        name = text_of(item.get("tool"))[:200] or CALLS[kind]
        arguments = item.get("arguments")
        if arguments is None:
            arguments = scalars_of(item, frozenset({"id", "type", "status", "aggregated_output", "exit_code", "tool"}))
        if item_id:
            self._open[item_id] = line.key
            if len(self._open) > 1024:
                del self._open[next(iter(self._open))]
        server = text_of(item.get("server"))[:200] or None
        tool = ToolDraft(item_id, name, server, bounded(arguments, len(line.raw)))
        return line.event("tool_call", actor=AGENT, tool=tool)

    def _result(self, line: Line, item: dict[str, Any], kind: str, item_id: str | None) -> EventDraft:
        given = item.get("aggregated_output")
        if given is None:
            given = dict_of(item.get("result")).get("content") or text_of(dict_of(item.get("error")).get("message"))
        output = output_of({"type": kind, "output": given}, scalars_of({"exit_code": item.get("exit_code")}))
        stated = STATUSES.get(text_of(item.get("status")))
        name = text_of(item.get("tool"))[:200] or CALLS[kind]
        tool = ToolDraft(item_id, name, None, None, output.facts or None, stated or output.status)
        return line.event(
            "tool_result", output.text, part=":r", actor=("tool", name), parent=self._open.get(item_id or ""),
            tool=tool, data={"attachments": output.attachments} if output.attachments else {},
        )  # fmt: skip


CALLS = {
    "command_execution": "shell", "mcp_tool_call": "mcp", "web_search": "web_search", "collab_tool_call": "collab",
}  # fmt: skip
"""Items that are tool calls, and what their tool is called when they do not say."""


def _message_event(line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("agent_message", text_of(item.get("text")), actor=AGENT)


def _thought(line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("reasoning", text_of(item.get("text")), actor=AGENT)


def _failed(line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("error", text_of(item.get("message")), data={"type": "error"})


def _todo(line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("system", data={"type": "todo_list", "items": bounded(item.get("items"), len(line.raw))})


def _changed(line: Line, item: dict[str, Any]) -> EventDraft:
    changes = [dict_of(change) for change in list_of(item.get("changes"))]
    paths = [text_of(change.get("path"))[:1000] for change in changes[:200]]
    text = "".join(unified(text_of(c.get("path")), c | {"type": c.get("kind")}) for c in changes if "unified_diff" in c)
    data = {"type": "file_change", "path": paths[0] if paths else "", "paths": paths, "status": item.get("status")}
    return line.event("file_change", text, actor=AGENT, data=data)


TEXTS: dict[str, Callable[[Line, dict[str, Any]], EventDraft]] = {
    "agent_message": _message_event, "assistant_message": _message_event, "plan": _message_event,
    "reasoning": _thought, "error": _failed,
    "todo_list": _todo, "file_change": _changed,
}  # fmt: skip
