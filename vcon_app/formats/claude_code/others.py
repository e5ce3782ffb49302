"""Handlers of all other line types: notes of Claude Code about itself. Small facts of each are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import EventDraft, Kind
from ..common.apis.anthropic import readable
from ..common.lines import Line
from ..common.values import LABEL_LIMIT, bounded, dict_of, scalars_of, text_of
from .prompts import Piece, pieces_of, prompt_events
from .reading import Reading

TEXT_LIMIT = 16 * 1024
"""Characters kept of a text that Claude Code gave the model besides the conversation."""
COMMON = frozenset({
    "parentUuid", "logicalParentUuid", "isSidechain", "userType", "cwd", "sessionId", "session_id", "version",
    "gitBranch", "type", "uuid", "timestamp", "slug", "content", "agentId", "entrypoint", "isMeta", "requestId",
    "sessionKind",
})  # fmt: skip
"""Keys of a line that say where it belongs, not what happened."""
ERRORS = ("api_error", "error", "api_refusal")
COMPACTIONS = ("compact_boundary", "microcompact_boundary")


def system(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """``system`` lines by ``subtype``: compaction, errors, local commands, and notes."""
    value = line.value
    subtype = text_of(value.get("subtype"))[:100]
    content = value.get("content", dict_of(value.get("message")).get("content"))
    text, _ = readable(content)
    data = {"type": subtype or "system"} | scalars_of(value, COMMON | {"subtype"})
    if subtype in COMPACTIONS:
        details = value.get("compactMetadata") or value.get("microcompactMetadata")
        data["compact_metadata"] = bounded(details, len(line.raw))
        yield line.event("compaction", text, data=data | scalars_of({"logical_parent": value.get("logicalParentUuid")}))
    elif subtype in ERRORS or value.get("level") == "error":
        yield line.event("error", text or _error_text(value), data=data)
    elif subtype == "local_command" and text:
        yield from prompt_events(reading, line, list(pieces_of(text)), [])
    else:
        yield line.event("system", text, data=data)


def title(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """``summary``, ``ai-title`` and ``custom-title`` name the session."""
    value, kind = line.value, line.value["type"]
    if kind == "summary":
        text = text_of(value.get("summary")) or readable(dict_of(value.get("message")).get("content"))[0]
        if "summary" in value:
            reading.facts.titles.add_summary(text, text_of(value.get("leafUuid")))
    elif kind == "ai-title":
        text = reading.facts.titles.generated = text_of(value.get("aiTitle") or value.get("title"))
    else:
        text = reading.facts.titles.custom = text_of(value.get("customTitle") or value.get("title"))
    yield line.event("system", text, data={"type": kind} | scalars_of({"leaf_uuid": value.get("leafUuid")}))


def attachment_line(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """``attachment`` lines: queued prompts, hooks, and what was put before the model beside the conversation."""
    attached = dict_of(line.value.get("attachment"))
    kind = text_of(attached.get("type"))[:100]
    if kind == "queued_command":
        yield from _queued(reading, line, attached)
        return
    data = {"type": "attachment", "attachment_type": kind} | scalars_of(
        attached, frozenset({"type", "content", "stdout", "stderr", "snippet"})
    )
    call = reading.links.get(attached.get("toolUseID"))
    yield line.event(_attachment_kind(kind), _attachment_text(attached), data=data, parent=call.key if call else None)


def progress(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """``progress`` of a running tool, hook or sub-agent."""
    value, inner = line.value, dict_of(line.value.get("data"))
    call_id = value.get("parentToolUseID") or value.get("toolUseID")
    reading.links.agent(inner.get("agentId"), call_id)
    call = reading.links.get(call_id)
    data = {"type": "progress", "progress_type": text_of(inner.get("type"))[:100]} | scalars_of(inner, PAYLOADS)
    yield line.event("system", data=data, parent=call.key if call else None)


def queue_operation(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The queue of typed prompts. The prompt itself comes as a user line or a queued command when it is sent."""
    text, _ = readable(line.value.get("content"))
    yield line.event("system", text, data={"type": "queue-operation"} | scalars_of(line.value, COMMON))


def file_history(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """A checkpoint of the files that edits touched, or of one that was added to it."""
    snapshot = dict_of(line.value.get("snapshot"))
    added = text_of(line.value.get("trackingPath"))
    files = [added] if added else list(dict_of(snapshot.get("trackedFileBackups")))
    data = {
        "type": line.value["type"],
        "files": [text_of(name)[:LABEL_LIMIT] for name in files[:50]],
        "file_count": len(files),
    }
    yield line.event("system", data=data | scalars_of(line.value, COMMON))


def pull_request(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """``pr-link``: a pull request came out of the session."""
    data = {"type": "pr-link"} | scalars_of(line.value, COMMON)
    yield line.event("artifact", text_of(line.value.get("prUrl"))[:LABEL_LIMIT], actor=line.agent, data=data)


def setting_event(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """Event of a type that only changes a setting or marks a place: its scalars are all its content."""
    yield line.event("system", data={"type": line.value["type"]} | scalars_of(line.value, COMMON))


PAYLOADS = frozenset({"type", "output", "fullOutput", "message", "normalizedMessages", "prompt"})


def _queued(reading: Reading, line: Line, attached: dict[str, Any]) -> Iterator[EventDraft]:
    text, attachments = readable(attached.get("prompt"))
    whole = (
        ""
        if attached.get("commandMode") in ("prompt", "bash", None) and not attached.get("isMeta")
        else "queued_command"
    )
    pieces = list(pieces_of(text, path="/attachment/prompt")) if text else []
    if attached.get("commandMode") == "bash":
        pieces = [Piece(f"<bash-input>{text}</bash-input>", "", path="/attachment/prompt")]
    yield from prompt_events(reading, line, pieces, attachments, whole)


def _attachment_kind(kind: str) -> Kind:
    if kind == "edited_text_file":
        return "file_change"
    return "system" if kind.startswith("hook_") and kind != "hook_additional_context" else "injected_context"


def _attachment_text(attached: dict[str, Any]) -> str:
    for key in ("content", "snippet", "stdout", "stderr", "blockingError"):
        value = attached.get(key)
        text = (
            readable(value)[0]
            or text_of(dict_of(value).get("blockingError"))
            or text_of(dict_of(dict_of(value).get("file")).get("content"))
        )
        if text:
            return text[:TEXT_LIMIT]
    return ""


def _error_text(value: dict[str, Any]) -> str:
    """The message of an API error, which stands at one of three depths."""
    error = dict_of(value.get("error"))
    for _ in range(3):
        if message := text_of(error.get("message")):
            return message
        error = dict_of(error.get("error"))
    return text_of(dict_of(value.get("cause")).get("code")) or text_of(value.get("error"))
