"""What a message and its content blocks say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import Call, id_of, server_of
from ..common.lines import Actor, Line
from ..common.reading import unknown_event
from ..common.times import parse
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .state import ChatState

AGENT: Actor = ("agent", "Claude")
PERSON: Actor = ("person", "")
SPOKEN = ("text", "voice_note")
PICTURED = ("image", "document", "file")
NOTES = ("token_budget", "flag")
FLAT = frozenset({"uuid", "parent_message_uuid", "created_at", "updated_at", "text", "sender", "index"})
"""Keys of a message that are told elsewhere."""
BLOCK = frozenset({
    "type", "text", "thinking", "id", "name", "start_timestamp", "stop_timestamp", "tool_use_id", "is_error", "input",
    "content",
})  # fmt: skip
BODY = frozenset({"extracted_content"})
LISTED = 100


def message_events(chat: ChatState, line: Line) -> Iterator[EventDraft]:
    """The events of a message: one for a person's, one for each block of Claude's."""
    sender = line.value.get("sender") or line.value.get("role")  # tools that convert exports name it as the API does
    blocks = _blocks(line.value)
    if sender in ("human", "user"):
        yield from _prompt(chat, line, blocks)
    elif sender == "assistant":
        yield from _answer(chat, line, blocks)
    else:
        yield unknown_event(chat.findings, line, f"sender {text_of(sender)[:100]!r}")


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks; ``text`` repeats them flattened and counts only where they say nothing."""
    blocks = [block if isinstance(block, dict) else {"value": block} for block in list_of(message.get("content"))]
    flat = text_of(message.get("text")) or text_of(message.get("content"))
    return blocks if blocks or not flat else [{"type": "text", "text": flat}]


def _prompt(chat: ChatState, line: Line, blocks: list[dict[str, Any]]) -> Iterator[EventDraft]:
    """What the person wrote, then what was attached: a long paste is an attachment without a name."""
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") in SPOKEN]
    text = "\n\n".join(filter(None, texts))
    attachments = [item for item in list_of(line.value.get("attachments")) if isinstance(item, dict)]
    data = scalars_of(line.value, FLAT)
    pasted = [] if text else _pasted(attachments)
    if pasted:
        text, data["pasted"] = "\n\n".join(map(_content, pasted)), True
        attachments = [item for item in attachments if item not in pasted]
    pictures = [block for block in blocks if block.get("type") in PICTURED]
    if files := [*attachments, *_files(line.value), *pictures]:
        data["attachments"] = [{"type": "file"} | scalars_of(item, BODY) for item in files[:LISTED]]
    yield line.event("user_message", text, actor=PERSON, data=data)
    yield from _attached(line, attachments)
    for index, block in enumerate(blocks):
        if block.get("type") not in SPOKEN + PICTURED:
            yield _block(chat, line, block, f":{index}", f"/content/{index}")


def _pasted(attachments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in attachments if not item.get("file_name") and _content(item)]


def _attached(line: Line, attachments: list[dict[str, Any]]) -> Iterator[EventDraft]:
    """The text of each attachment, which the model was given beside the prompt."""
    for index, attachment in enumerate(attachments):
        if text := _content(attachment):
            data = {"type": "attachment"} | scalars_of(attachment, BODY)
            yield line.event("injected_context", text, part=f":a{index}", at_path=f"/attachments/{index}", data=data)


def _answer(chat: ChatState, line: Line, blocks: list[dict[str, Any]]) -> Iterator[EventDraft]:
    data = scalars_of(line.value, FLAT)
    if files := _files(line.value):
        data["attachments"] = [{"type": "file"} | scalars_of(file) for file in files[:LISTED]]
    if not blocks:  # the person stopped it before the first word
        yield line.event("agent_message", actor=AGENT, data=data)
    for index, block in enumerate(blocks):
        event = _block(chat, line, block, f":{index}" if index else "", f"/content/{index}")
        last = index == len(blocks) - 1
        yield replace(event, data={**data, **event.data}) if last and data else event


def _block(chat: ChatState, line: Line, block: dict[str, Any], part: str, path: str) -> EventDraft:
    kind = block.get("type")
    line = replace(line, at=parse(block.get("start_timestamp"))[0] or line.at)
    place: dict[str, Any] = {"part": part, "at_path": path}
    if kind in SPOKEN and isinstance(block.get("text"), str):
        data = {"type": kind, **scalars_of({"title": block.get("title")})} if kind != "text" else _cited(block)
        return line.event("agent_message", block["text"], actor=AGENT, data=data, **place)
    if kind in ("thinking", "redacted_thinking"):
        return line.event("reasoning", text_of(block.get("thinking")), actor=AGENT, data=_thought(block), **place)
    if kind == "tool_use":
        return _call(chat, line, block, place)
    if kind == "tool_result":
        return _result(chat, line, block, place)
    if kind in PICTURED:
        return line.event("artifact", actor=AGENT, data=scalars_of(block), **place)
    if kind in NOTES:
        return line.event("system", data=scalars_of(block), **place)
    return unknown_event(chat.findings, line, f"block type {text_of(kind)[:100]!r}", block, part=part, path=path)


def _call(chat: ChatState, line: Line, block: dict[str, Any], place: dict[str, Any]) -> EventDraft:
    call_id, name = id_of(block.get("id")), id_of(block.get("name"))
    tool = ToolDraft(call_id, name, server_of(name), bounded(block.get("input"), len(line.raw)))
    event = line.event("tool_call", actor=AGENT, tool=tool, data=scalars_of(block, BLOCK), **place)
    chat.calls.add(call_id, Call(event.key, name or "", tool.server))
    chat.open_calls[event.key] = name or ""
    return event


def _result(chat: ChatState, line: Line, block: dict[str, Any], place: dict[str, Any]) -> EventDraft:
    """A result names its call by id, in older exports not at all: then it is that of the oldest open call."""
    call_id = id_of(block.get("tool_use_id"))
    call = chat.calls.get(call_id) or _oldest_open_call(chat, id_of(block.get("name")))
    if call:
        chat.open_calls.pop(call.key, None)
    name = call.name if call else id_of(block.get("name"))
    failed = block.get("is_error")
    status = ("error" if failed else "ok") if isinstance(failed, bool) else None
    text, rest = _text_and_rest(block)
    tool = ToolDraft(call_id, name, call.server if call else None, None, bounded(rest, len(line.raw)) or None, status)
    return line.event(
        "tool_result", text, actor=("tool", name or ""), parent=call.key if call else None, tool=tool,
        data=scalars_of(block, BLOCK), **place,
    )  # fmt: skip


def _oldest_open_call(chat: ChatState, name: str | None) -> Call | None:
    keys = [key for key, called in chat.open_calls.items() if called == name] or list(chat.open_calls)
    return Call(keys[0], chat.open_calls[keys[0]]) if keys else None


def _text_and_rest(block: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text of a result, and what in it is more than text (found pages, pictures without their bytes)."""
    content = block.get("content")
    items = [dict_of(item) for item in list_of(content)]
    texts = [text_of(content)] if isinstance(content, str) else [text_of(item.get("text")) for item in items]
    others = [scalars_of(item, frozenset({"text", "data", "base64"})) for item in items if item.get("type") != "text"]
    rest = {"content": others[:LISTED], "structured_content": block.get("structured_content")}
    return "\n".join(filter(None, texts)), {key: value for key, value in rest.items() if value}


def _cited(block: dict[str, Any]) -> dict[str, Any]:
    """The pages that a text cites."""
    pages = (dict_of(dict_of(item).get("details")) or dict_of(item) for item in list_of(block.get("citations")))
    cited = [scalars_of(page) for page in pages if page]
    return {"citations": cited[:LISTED]} if cited else {}


def _thought(block: dict[str, Any]) -> dict[str, Any]:
    summaries = [text_of(dict_of(item).get("summary")) for item in list_of(block.get("summaries"))]
    data = scalars_of(block, BLOCK) | ({"summaries": summaries[:LISTED]} if any(summaries) else {})
    if block.get("type") == "redacted_thinking":
        return {"encrypted": True}
    return data if text_of(block.get("thinking")) else data | {"not_recorded": True}


def _files(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Files and synced sources; ``files_v2`` repeats ``files`` with more about each."""
    lists = (message.get("files_v2") or message.get("files"), message.get("sync_sources"))
    return [file if isinstance(file, dict) else {"file_name": file} for files in lists for file in list_of(files)]


def _content(attachment: dict[str, Any]) -> str:
    return text_of(attachment.get("extracted_content"))
