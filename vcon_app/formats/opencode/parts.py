"""Parts of messages: prompts, thoughts, answers, tool calls, and the cost of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import id_of
from ..common.facts import ID_LIMIT
from ..common.lines import Actor, Line, fingerprint
from ..common.times import from_epoch
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .reading import Handler, OpenCodeReading
from .tokens import billed

STATUSES = {"completed": "ok", "error": "error"}
REJECTED = ("The user rejected permission", "The user has specified a rule which prevents", "Permission denied by rule")
"""How OpenCode words a refusal: a person's, or that of the rules in its configuration."""
ABORTED = ("Tool execution aborted", "The operation was aborted")
REPEATED = frozenset({"output", "preview", "filediff", "files", "sessionId", "sessionID"})
"""Metadata of tools that stands in the output, or holds whole files before and after an edit."""
IDS = frozenset({"id", "sessionID", "messageID", "at"})


def ended(line: Line, *moments: Any) -> Line:
    """The line at the first of the times that is one."""
    return replace(line, at=next((at for moment in moments if (at := from_epoch(moment, 1000))), None))


def part(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterable[EventDraft]:
    """Parts by their type."""
    kind, message = text_of(record.get("type")).replace("_", "-"), reading.message_of(record)
    times = dict_of(record.get("time"))
    line = ended(line, times.get("start"), times.get("created"), record.get("at"), message.created)
    if handler := PARTS.get(kind):
        return handler(reading, line, record, path)
    place = f":{fingerprint(record)}"
    return [reading.unknown(line, f"part type {kind[:100]!r}", record, part=place, at_path=path)]


def _text(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text, message = text_of(record.get("text")), reading.message_of(record)
    place: dict[str, Any] = {"part": f":{fingerprint(text)}", "at_path": path}
    if message.role == "assistant" or "at" in record:
        yield line.event("agent_message", text, actor=reading.agent, model=message.model, **place)
    elif record.get("synthetic") is True or record.get("ignored") is True or reading.asked == record.get("messageID"):
        yield line.event(
            "injected_context", text, data={"type": "synthetic" if record.get("synthetic") else "more"}, **place
        )
    else:
        reading.asked = record.get("messageID") or ""
        by: Actor = ("agent", "") if reading.agent[0] == "subagent" else ("person", "")
        yield line.event("user_message", text, actor=by, **place)


def _reasoning(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text, metadata = text_of(record.get("text")), dict_of(record.get("metadata"))
    sealed = any("reasoningEncryptedContent" in dict_of(value) for value in metadata.values())
    data = {"encrypted": True} if sealed else {} if text else {"not_recorded": True}
    yield line.event(
        "reasoning",
        text,
        part=f":{fingerprint(text)}",
        at_path=path,
        actor=reading.agent,
        model=reading.message_of(record).model,
        data=data,
    )


def _tool(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A call and, once it has ended, its result."""
    state, call_id, name = dict_of(record.get("state")), id_of(record.get("callID")), text_of(record.get("tool"))[:200]
    times = dict_of(state.get("time"))
    arguments = bounded(state.get("input"), len(line.raw))
    call = f":call:{fingerprint(arguments)}"
    line = ended(line, times.get("start")) if times else line
    yield line.event(
        "tool_call", part=call, at_path=path, actor=reading.agent, model=reading.message_of(record).model,
        tool=ToolDraft(call_id, name or None, None, arguments), data=scalars_of({"title": state.get("title")}),
    )  # fmt: skip
    if _outcome(state):
        line = ended(line, times.get("end"), times.get("start"))
        yield from _tool_result(line, record, state, path, line.key + call)


def _tool_result(
    line: Line, record: dict[str, Any], state: dict[str, Any], path: str, parent: str
) -> Iterator[EventDraft]:
    call_id, name = id_of(record.get("callID")), text_of(record.get("tool"))[:200]
    text = text_of(state.get("output")) or text_of(state.get("error"))
    metadata = dict_of(state.get("metadata"))
    facts = _facts_of_result(metadata, len(line.raw))
    status = _outcome(state)
    if status == "error" and text.startswith(REJECTED):
        status = "denied"
        yield line.event(
            "approval", part=":denied", at_path=path, parent=parent,
            tool=ToolDraft(call_id, name or None, status="denied"),
            data={"type": "rejected", "decision": "denied", "by": "user" if text.startswith(REJECTED[0]) else "policy",
                  "inferred": True},
        )  # fmt: skip
    elif status == "error" and text.startswith(ABORTED):
        status = "cancelled"
    data: dict[str, Any] = {}
    if child := text_of(metadata.get("sessionId") or metadata.get("sessionID"))[:ID_LIMIT]:
        data["child_session"] = child
    if attachments := [_attachment(dict_of(file)) for file in list_of(state.get("attachments"))[:50]]:
        data["attachments"] = attachments
    yield line.event(
        "tool_result", text, part=f":result:{fingerprint([text, status, facts])}", at_path=path, actor=("tool", name),
        parent=parent, tool=ToolDraft(call_id, name or None, None, None, facts or None, status), data=data,
    )  # fmt: skip


def _outcome(state: dict[str, Any]) -> str | None:
    """How a call ended; where no status is stated, by what it brought. None while it runs."""
    if "status" in state:
        return STATUSES.get(text_of(state["status"]))
    return "error" if text_of(state.get("error")) else "ok" if "output" in state else None


def _facts_of_result(metadata: dict[str, Any], size: int) -> dict[str, Any]:
    """What a tool said of its result besides the output; ``size`` are the bytes of the line it stands on."""
    facts: dict[str, Any] = bounded({name: value for name, value in metadata.items() if name not in REPEATED}, size)
    if "exit" in facts:
        facts["exit_code"] = facts.pop("exit")
    return facts


def _step_finish(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """One response of the model: its tokens and what OpenCode says it cost."""
    message = reading.message_of(record)
    line = ended(line, message.completed, record.get("at"), message.created)
    data = scalars_of({"reason": record.get("reason")})
    yield billed(reading, line, record, path, message.model, data)


def _file(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    source = dict_of(dict_of(record.get("source")).get("text"))
    data = {"type": "file", "attachments": [_attachment(record)]}
    yield line.event(
        "injected_context", text_of(source.get("value")), part=f":{fingerprint(data)}", at_path=path, data=data
    )


def _attachment(file: dict[str, Any]) -> dict[str, Any]:
    url = text_of(file.get("url"))
    payload = url.partition(",")[2] if url.startswith("data:") else ""
    size = {"bytes": len(payload) * 3 // 4 - payload[-2:].count("=")} if payload else scalars_of({"url": url})
    return (
        {"type": "file", "media_type": text_of(file.get("mime"))[:100] or None}
        | size
        | scalars_of({"title": file.get("filename")})
    )


def _patch(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """Files that a step changed; the diffs stand with the calls."""
    files = [text_of(name)[:1000] for name in list_of(record.get("files"))[:200]]
    data = {"type": "patch", "path": files[0] if files else "", "paths": files} | scalars_of(
        {"hash": record.get("hash")}
    )
    yield line.event("file_change", part=f":{fingerprint(data)}", at_path=path, actor=reading.agent, data=data)


def _compaction(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    data = {"type": "compaction"} | scalars_of(record, IDS | {"summary"})
    yield line.event("compaction", text_of(record.get("summary")), at_path=path, data=data)


def _subtask(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A task that a person gave to another agent directly."""
    yield line.event(
        "handoff",
        text_of(record.get("prompt")),
        at_path=path,
        data={"type": "subtask"} | scalars_of(record, IDS | {"prompt"}),
    )


def _retry(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    text = failure_in(record.get("error"))
    yield line.event(
        "error", text, at_path=path, data={"type": "retry"} | scalars_of({"attempt": record.get("attempt")})
    )


def _note(reading: OpenCodeReading, line: Line, record: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield line.event("system", at_path=path, data=scalars_of(record, IDS))


PARTS: dict[str, Handler] = {
    "text": _text, "reasoning": _reasoning, "tool": _tool, "step-finish": _step_finish, "file": _file,
    "patch": _patch, "compaction": _compaction, "subtask": _subtask, "retry": _retry,
    **dict.fromkeys(("step-start", "snapshot", "agent"), _note),
}  # fmt: skip


def failure_in(error: Any) -> str:
    error = dict_of(error)
    return (
        text_of(dict_of(error.get("data")).get("message"))
        or text_of(error.get("message"))
        or text_of(error.get("name"))
    )
