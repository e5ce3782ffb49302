"""``codex exec --json``: another schema for the same work, with dotted types and items that start and complete. What
programs around Codex log (``streams``) is put into its words first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, Finding, ToolDraft
from ..common.calls import Call, id_of
from ..common.lines import Actor, Line
from ..common.reading import RAW_LIMIT, REMEMBERED, FactsReading, unknown_type
from ..common.values import bounded, dict_of, forget_oldest, list_of, scalars_of, text_of
from .events import unified
from .outputs import output_of
from .streams import Told, opened, told_in
from .texts import Said, attachment, block_text, blocks_of
from .tokens import Totals

STARTS = frozenset({"thread.started", "turn.started"})
AGENT: Actor = ("agent", "Codex")
STATUSES = {
    "completed": "ok", "failed": "error", "declined": "denied", "errored": "error", "interrupted": "cancelled",
}  # fmt: skip
PLACES = {"cwd": "cwd", "git_branch": "branch", "commit": "commit"}


def is_exec(lines: list[dict[str, Any]]) -> bool:
    """Whether one of the first lines begins a thread or a turn in this schema."""
    return any(text_of(line.get("type")) in STARTS and "payload" not in line for line in lines)


class ExecReading(FactsReading):
    """The state of one stream while it is read. Most hold no times."""

    name = "codex"
    title = "Codex"

    def __init__(self) -> None:
        super().__init__()
        self.agent: Actor = AGENT
        self.said = Said()
        self._totals: dict[str, Totals] = {}
        """By thread: one server runs several, of which the first is the session and the others its sub-agents."""
        self._resumed: set[str] = set()
        """Threads whose tokens up to now were spent before this file began."""
        self._done: dict[str, None] = {}
        """Items told, by their ids: a thread that is read again brings them again."""
        self._asked: dict[str, str] = {}
        """Questions of the server, by their JSON-RPC id -> the id of the call that waits."""
        self._has_items = False

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        for told in told_in(line.value) or [line.value]:
            self._note(told)
        return bool(self.facts.session)

    def assign_key(self, line: Line) -> Iterable[Finding]:
        line.key = self._keys.derived(text_of(line.value.get("type")) or "line", line)
        self.facts.note_line(line)
        return ()

    def _note(self, told: Told) -> None:
        began = told.get("type") == "thread.started"
        thread = text_of(told.get("thread_id") if began else told.get("thread"))
        self.facts.session = self.facts.session or thread
        if began and thread == self.facts.session:
            self.facts.set_environment(**{name: told.get(theirs) for name, theirs in PLACES.items()})
            self.facts.title = text_of(told.get("name")) or self.facts.title
            self.facts.version = self.facts.version or text_of(told.get("cli_version"))
        if text_of(told.get("model")) and (began or told.get("side") == "request"):
            self.facts.model = text_of(told["model"])[:200]

    def events(self, line: Line) -> Iterator[EventDraft]:
        method = text_of(opened(line.value).get("method"))
        self._has_items = self._has_items or method.startswith(("turn/", "item/"))
        if self._has_items and method.startswith("codex/event"):  # the same work in the words of the first protocol
            yield line.event("system", data={"type": method[:100], "repeated": True})
            return
        told = told_in(line.value)
        if told is None:
            yield from self._event(line, line.value)
        for number, one in enumerate(told or ()):
            yield from self._event(replace(line, key=f"{line.key}:{number}") if number else line, one)

    def _event(self, line: Line, told: Told) -> Iterator[EventDraft]:
        kind, thread = text_of(told.get("type")), text_of(told.get("thread"))
        self._note(told)
        self.agent = AGENT if thread in ("", self.facts.session) else ("subagent", AGENT[1])
        if kind in ("item.started", "item.updated", "item.completed"):
            yield from self._part(line, dict_of(told.get("item")), kind, told)
        elif kind == "thread.started":
            if told.get("resumed"):
                self._resumed.add(thread)
            yield line.event("system", data=scalars_of(told))
        elif kind == "turn.started":
            self._resumed.discard(thread)
            yield line.event("system", data=scalars_of(told))
        elif kind in ENDS:
            yield self._turn_ended(line, told, kind, thread)
        elif kind == "usage":
            yield self._spent(line, told, thread, "token_count", "final")
        elif kind == "error":
            yield self._failed(line, told, kind)
        elif kind.startswith("approval."):
            yield self._approval(line, told, kind)
        elif kind in ("request_user_input", "input.answered"):
            yield self._question(line, told, kind)
        elif kind == "item.plan.delta":  # the whole plan comes when it is completed
            yield line.event("system", data={"type": kind})
        elif kind.startswith(("rpc.", "event.")):
            more = {"content": bounded(told, len(line.raw))} if len(line.raw) <= RAW_LIMIT else {}
            yield line.event("system", data=scalars_of(told) | more)
        else:
            yield self.unknown(line, unknown_type(told.get("type")), told)

    def _turn_ended(self, line: Line, told: Told, kind: str, thread: str) -> EventDraft:
        """The counts, where there are some, are totals of the thread so far, over all responses of its turns."""
        if self.agent == AGENT:
            self.facts.phase = ENDS[kind]
        if kind == "turn.failed":
            return self._failed(line, told, kind)
        if kind == "turn.aborted":
            return line.event("status", data=scalars_of(told))
        return self._spent(line, {"info": {"total_token_usage": told.get("usage")}}, thread, kind, "aggregate")

    def _spent(self, line: Line, told: Told, thread: str, kind: str, quality: str) -> EventDraft:
        totals = self._totals.setdefault(thread, Totals())
        forget_oldest(self._totals, REMEMBERED)
        usage = None
        if thread in self._resumed:
            totals.note_copied_total(told)
        else:
            usage = totals.usage_of_step(told, quality=quality)
        data = {"type": kind}
        if usage is None:
            return line.event("system", data=data)
        return line.event(
            "model_request", actor=self.agent, model=self.facts.model, usage=usage, request=line.key, data=data
        )

    def _failed(self, line: Line, told: Told, kind: str) -> EventDraft:
        error = dict_of(told.get("error"))
        if self.agent == AGENT and told.get("willRetry") is not True and told.get("retries") is not True:
            self.facts.phase = "crashed"
        text = next(filter(None, map(text_of, (error.get("message"), told.get("message"), told.get("error")))), "")
        details = {"details": error.get("additionalDetails"), "will_retry": told.get("willRetry")}
        return line.event("error", text, data={"type": kind} | scalars_of(details))

    def _approval(self, line: Line, told: Told, kind: str) -> EventDraft:
        """What a client was asked to allow, and what it answered."""
        request = text_of(told.get("request"))
        if kind == "approval.requested":
            call_id, data = id_of(told.get("call_id")), {"type": "requested"}
            if request:
                self._remember(request, call_id or "")
        else:
            call_id = self._asked.pop(request, None)
            data = {"type": "answered", "decision": told["decision"], "by": "user", "word": told["word"]}
        call = self.calls.get(call_id)
        status = "denied" if told.get("decision") == "denied" else None
        tool = ToolDraft(call_id, call.name if call else None, status=status)
        actor: Actor = ("person", "") if kind == "approval.answered" else ("system", "")
        return line.event(
            "approval", text_of(told.get("text")), actor=actor, tool=tool, parent=call.key if call else None, data=data
        )

    def _question(self, line: Line, told: Told, kind: str) -> EventDraft:
        """What the model asks the person, and what was answered."""
        name = "request_user_input"
        if kind == name:
            call_id = id_of(told.get("call_id")) or id_of(told.get("itemId"))
            self._remember(text_of(told.get("request")), call_id or "")
            self.calls.add(call_id, Call(line.key, name))
            asked = ToolDraft(call_id, name, None, {"questions": bounded(told.get("questions"), len(line.raw))})
            return line.event("tool_call", actor=self.agent, tool=asked)
        call_id = self._asked.pop(text_of(told.get("request")), None)
        call = self.calls.get(call_id)
        tool = ToolDraft(call_id, name, None, None, {"answers": bounded(told.get("answers"), len(line.raw))}, "ok")
        return line.event("tool_result", actor=("tool", name), parent=call.key if call else None, tool=tool)

    def _remember(self, request: str, call_id: str) -> None:
        self._asked[request] = call_id
        forget_oldest(self._asked, REMEMBERED)

    # --- items ---

    def _part(self, line: Line, item: dict[str, Any], stage: str, told: Told) -> Iterator[EventDraft]:
        kind = text_of(item.get("type") or item.get("item_type"))
        item_id = id_of(item.get("id"))
        if (told.get("past") or told.get("again")) and item_id in self._done:
            yield line.event("system", data={"type": stage, "item_type": kind[:100], "repeated": True}
                             | scalars_of({"status": item.get("status")}))  # fmt: skip
            return
        if item_id and stage == "item.completed":
            self._done[item_id] = None
            forget_oldest(self._done, REMEMBERED)
        if kind in CALLS:
            if self.calls.get(item_id) is None:
                yield self._call(line, item, kind, item_id)
            if stage == "item.completed":
                yield self._result(line, item, kind, item_id)
            elif stage == "item.updated":
                call = self.calls.get(item_id)
                yield line.event("system", part=":u", parent=call.key if call else None, data={"type": stage})
        elif stage != "item.completed" and kind != "todo_list":
            yield line.event("system", data={"type": stage, "item_type": kind[:100]})
        elif kind == "user_message":
            yield self._prompt(line, item, text_of(told.get("side")) or "item")
        elif handler := TEXTS.get(kind):
            yield handler(self, line, item)
        else:
            yield self.unknown(line, f"item type {kind[:100]!r}", item)

    def _prompt(self, line: Line, item: dict[str, Any], side: str) -> EventDraft:
        """What a person asked; a client's request and the item that it became say the same."""
        blocks = blocks_of(item.get("content")) or blocks_of(item.get("text"))
        text = "\n\n".join(filter(None, map(block_text, blocks)))
        pictures = [attachment(block) for block in blocks if block_text(block) is None]
        data: dict[str, Any] = {"attachments": pictures} if pictures else {}
        if self.said.repeats_other_side(side, "user", text):
            return line.event("system", data={"type": "user_message", "repeated": True})
        asks: Actor = ("person", "") if self.agent == AGENT else ("agent", "")
        return line.event("user_message", text, actor=asks, data=data)

    def _call(self, line: Line, item: dict[str, Any], kind: str, item_id: str | None) -> EventDraft:
        name = text_of(item.get("tool"))[:200] or CALLS[kind]
        arguments = item.get("arguments")
        if arguments is None:
            arguments = scalars_of(item, ENDED) | {key: item[key] for key in LISTS if item.get(key)}
        server = text_of(item.get("server"))[:200] or text_of(item.get("namespace"))[:200] or None
        self.calls.add(item_id, Call(line.key, name, server))
        tool = ToolDraft(item_id, name, server, bounded(arguments, len(line.raw)))
        return line.event("tool_call", actor=self.agent, tool=tool)

    def _result(self, line: Line, item: dict[str, Any], kind: str, item_id: str | None) -> EventDraft:
        result = dict_of(item.get("result"))
        failure = text_of(dict_of(item.get("error")).get("message")) or text_of(item.get("error"))
        given = item.get("aggregated_output")
        if given is None:
            given = result.get("content") or item.get("content_items") or failure
        output = output_of({"type": kind, "output": given}, scalars_of({"exit_code": item.get("exit_code")}))
        facts = {"agents_states": item.get("agents_states"), "duration_ms": item.get("duration_ms"),
                 "structured": result.get("structured_content", result.get("structuredContent"))}  # fmt: skip
        told = output.facts | {key: bounded(value, len(line.raw)) for key, value in facts.items() if value}
        stated = STATUSES.get(text_of(item.get("status")))
        name = text_of(item.get("tool"))[:200] or CALLS[kind]
        tool = ToolDraft(item_id, name, None, None, told or None, stated or output.status)
        data: dict[str, Any] = {"attachments": output.attachments} if output.attachments else {}
        if picture := text_of(item.get("result")):
            data["attachments"] = [{"type": "image", "bytes": len(picture) * 3 // 4}]
        if child := text_of(next(iter(list_of(item.get("receiver_thread_ids"))), "")):
            data["child_session"] = child[:200]
        call = self.calls.get(item_id)
        return line.event(
            "tool_result", output.text, part=":r", actor=("tool", name), parent=call.key if call else None, tool=tool,
            data=data,
        )  # fmt: skip


ENDS: dict[str, Any] = {"turn.completed": "completed", "turn.failed": "crashed", "turn.aborted": "cancelled"}
"""Ends of a turn, and how the session stands after one."""
CALLS = {
    "command_execution": "shell", "mcp_tool_call": "mcp", "web_search": "web_search", "collab_tool_call": "collab",
    "collab_agent_tool_call": "collab", "dynamic_tool_call": "dynamic", "image_view": "view_image",
    "image_generation": "image_generation", "sleep": "sleep",
}  # fmt: skip
"""Items that are tool calls, and what their tool is called when they do not say."""
ENDED = frozenset({
    "id", "type", "status", "aggregated_output", "exit_code", "tool", "result", "duration_ms", "process_id", "success",
    "error",
})  # fmt: skip
"""Members of such an item that tell of it and of its end: all others are what it was called with."""
LISTS = ("action", "receiver_thread_ids")


def _message_event(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    data = scalars_of({"phase": item.get("phase")})
    return line.event("agent_message", text_of(item.get("text")), actor=reading.agent, model=reading.facts.model,
                      data=data)  # fmt: skip


def _thought(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    parts = [text_of(item.get("text")), *map(text_of, [*list_of(item.get("summary")), *list_of(item.get("content"))])]
    text = "\n\n".join(filter(None, parts))
    return line.event("reasoning", text, actor=reading.agent, data={} if text else {"not_recorded": True})


def _error(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("error", text_of(item.get("message")), data={"type": "error"})


def _todo(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    data = {"type": "todo_list", "items": bounded(item.get("items"), len(line.raw))}
    return line.event("system", text_of(item.get("text")), data=data)


def _changed(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    changes = [_change(dict_of(change)) for change in list_of(item.get("changes"))]
    paths = [text_of(change.get("path"))[:1000] for change in changes[:200]]
    text = "".join(
        unified(text_of(change.get("path")), change)
        for change in changes
        if {"unified_diff", "content"} & change.keys()
    )
    data = {"type": "file_change", "path": paths[0] if paths else "", "paths": paths, "status": item.get("status")}
    return line.event("file_change", text, actor=reading.agent, data=data)


def _change(change: dict[str, Any]) -> dict[str, Any]:
    """One file of a change: its kind is a word or an object, its diff stands under one of two names."""
    kind = dict_of(change.get("kind")) or {"type": change.get("kind")}
    told = change | {"type": kind.get("type"), "move_path": kind.get("move_path", change.get("move_path"))}
    if isinstance(diff := change.get("diff"), str):
        told |= {"unified_diff": diff} if kind.get("type") == "update" else {"content": diff}
    return told


def _injected(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    text = "\n\n".join(text_of(dict_of(part).get("text")) for part in list_of(item.get("fragments")))
    return line.event("injected_context", text, data={"type": text_of(item.get("type"))})


def _review(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    kind = text_of(item.get("type"))
    return line.event("artifact" if kind.startswith("exited") else "system", text_of(item.get("review")),
                      actor=reading.agent, data={"type": kind})  # fmt: skip


def _compacted(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    return line.event("compaction", data={"type": "context_compaction"})


def _activity(reading: ExecReading, line: Line, item: dict[str, Any]) -> EventDraft:
    child = {"child_session": item.get("agent_thread_id"), "kind": item.get("kind"), "path": item.get("agent_path")}
    return line.event("system", data={"type": "sub_agent_activity"} | scalars_of(child))


TEXTS: dict[str, Callable[[ExecReading, Line, dict[str, Any]], EventDraft]] = {
    "agent_message": _message_event, "assistant_message": _message_event, "plan": _message_event,
    "reasoning": _thought, "error": _error, "todo_list": _todo, "file_change": _changed,
    "hook_prompt": _injected, "context_compaction": _compacted, "sub_agent_activity": _activity,
    **dict.fromkeys(("entered_review_mode", "exited_review_mode"), _review),
}  # fmt: skip
