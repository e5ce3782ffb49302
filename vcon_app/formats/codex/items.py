"""Response items: messages, reasoning, tool calls and their outputs, as they went to the model or came from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import Call, id_of, server_of
from ..common.jsonio import Unreadable, loads
from ..common.lines import Line
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .outputs import output_of
from .reading import RolloutReading
from .texts import attachment, block_text, blocks_of, injection_kind

PASSED = frozenset({"type", "internal_chat_message_metadata_passthrough", "metadata"})
LITERAL = re.compile(r"tools\.exec_command\(\s*\{\s*\"?cmd\"?\s*:\s*(\"(?:[^\"\\\n]|\\.){1,4000}\")")
"""A command in the JavaScript of code mode, when it is written as a string and not computed."""
ALONE = ("web_search_call", "image_generation_call")
STATUSES = {"completed": "ok", "failed": "error"}
"""What the API runs itself has no output; the item says how it ended."""
CODE_MODE = ("exec", "functions.exec")

ItemHandler = Callable[[RolloutReading, Line, dict[str, Any]], Iterable[EventDraft]]


def message(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A message of the user, the agent, or the developer (which is Codex)."""
    role, blocks = payload.get("role"), blocks_of(payload.get("content"))
    if role == "assistant":
        yield _answer(reading, line, blocks, payload)
        return
    said: list[str] = []
    for index, block in enumerate(blocks):
        text = block_text(block)
        tag = injection_kind(text or "") if role == "user" else text_of(role)[:50] or "developer"
        if text and tag:
            at = f"{'/payload' if 'payload' in line.value else ''}/content/{index}"
            yield line.event("injected_context", text, part=f":c{index}", at_path=at, data={"type": tag})
        elif text:
            said.append(text)
    attachments = [attachment(block) for block in blocks if block_text(block) is None]
    if said or attachments or not blocks:
        yield prompt_event(reading, line, "item", "\n\n".join(said), attachments)


def prompt_event(
    reading: RolloutReading, line: Line, side: str, text: str, attachments: list[dict[str, Any]]
) -> EventDraft:
    """The event of a prompt or, when it was told before, of its repeat."""
    data: dict[str, Any] = {"attachments": attachments} if attachments else {}
    if text and reading.said.repeats_other_side(side, "user", text):
        return line.event("system", data={"type": "user_message", "repeated": True} | data)
    return line.event("user_message", text, actor=reading.asks, data=data)


def answered(reading: RolloutReading, line: Line, side: str, text: str, data: dict[str, Any]) -> EventDraft:
    """The event of an answer or, when it was told before, of its repeat."""
    if text and reading.said.repeats_other_side(side, "agent", text):
        return line.event("system", data={"type": "agent_message", "repeated": True} | data)
    return line.event("agent_message", text, actor=reading.agent, model=reading.facts.model, data=data)


def thought(reading: RolloutReading, line: Line, side: str, text: str, data: dict[str, Any]) -> EventDraft:
    """Reasoning; its events come section by section before the item that holds them all."""
    sections = [section for section in text.split("\n\n") if section.strip()]
    repeats = [reading.said.repeats_other_side(side, "thought", section) for section in sections]
    if repeats and all(repeats):
        return line.event("system", data={"type": "reasoning", "repeated": True} | data)
    return line.event("reasoning", text, actor=reading.agent, model=reading.facts.model, data=data)


def reasoning(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The summary of what was thought; the thoughts themselves are encrypted."""
    parts = [*blocks_of(payload.get("summary")), *blocks_of(payload.get("content"))]
    text = "\n\n".join(found for block in parts if (found := block_text(block)))
    data = {"encrypted": True} if payload.get("encrypted_content") else {} if text else {"not_recorded": True}
    yield thought(reading, line, "item", text, data)


def handoff(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A message between two agents."""
    blocks = blocks_of(payload.get("content"))
    texts = [text for block in blocks if (text := block_text(block))]
    data = {"type": "agent_message"} | scalars_of(payload, PASSED | {"content", "id"})
    if len(texts) < len(blocks):
        data["encrypted"] = True
    yield line.event("handoff", "\n\n".join(texts), data=data)


def tool_call(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Any ``*_call`` item."""
    kind = payload["type"]
    call_id = id_of(payload.get("call_id")) or id_of(payload.get("id"))
    name = text_of(payload.get("name"))[:200] or kind.removesuffix("_call")
    server = server_of(name) or server_of(f"{text_of(payload.get('namespace'))[:200]}__")
    arguments, size = _arguments(kind, name, payload), len(line.raw)
    data = {"item_type": kind} | scalars_of({"status": payload.get("status"), "namespace": payload.get("namespace")})
    if picture := text_of(payload.get("result")):
        data["attachments"] = [{"type": "image", "bytes": len(picture) * 3 // 4}]
    status = STATUSES.get(text_of(payload.get("status"))) if kind in ALONE else None
    reading.calls.add(call_id, Call(line.key, name, server))
    yield line.event(
        "tool_call", actor=reading.agent, model=reading.facts.model, data=data,
        tool=ToolDraft(call_id, name, server, bounded(arguments, size), status=status),
    )  # fmt: skip


def tool_result(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Any ``*_output`` item, with what an event told of the same call before (exit code, duration)."""
    call_id = id_of(payload.get("call_id"))
    call = reading.calls.get(call_id)
    output = output_of(payload, reading.outcomes.pop(call_id or "", {}))
    parent, name = (call.key, call.name) if call else (None, "")
    if output.status == "denied" and (call_id is None or call_id != reading.decided):
        yield line.event(
            "approval", part=":denied", parent=parent, tool=ToolDraft(call_id, name or None, status="denied"),
            data={"type": "rejected", "decision": "denied", "by": output.by, "inferred": True},
        )  # fmt: skip
    data: dict[str, Any] = {"attachments": output.attachments} if output.attachments else {}
    if child := text_of(dict_of(output.parsed).get("agent_id"))[:200]:
        data["child_session"] = child
    tool = ToolDraft(call_id, name or None, call.server if call else None, None, output.facts or None, output.status)
    yield line.event("tool_result", output.text, actor=("tool", name), parent=parent, tool=tool, data=data)


def snapshot(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A commit of the working tree that nobody sees, to go back to."""
    commit = scalars_of(dict_of(payload.get("ghost_commit")))
    yield line.event("system", data={"type": "ghost_snapshot"} | commit)


def compaction(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The history in a form that only the API can read."""
    yield line.event("compaction", data={"type": payload["type"], "encrypted": True})


def tools(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Tools that were put before the model later on."""
    yield line.event("injected_context", data={"type": payload["type"], "tools": len(list_of(payload.get("tools")))})


HANDLERS: dict[str, ItemHandler] = {
    "message": message,
    "reasoning": reasoning,
    "agent_message": handoff,
    **dict.fromkeys(
        ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call",
         "image_generation_call"), tool_call),
    **dict.fromkeys(
        ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output"),
        tool_result),
    "ghost_snapshot": snapshot,
    "compaction": compaction,
    "context_compaction": compaction,
    "compaction_summary": compaction,
    "additional_tools": tools,
}  # fmt: skip


def _answer(reading: RolloutReading, line: Line, blocks: list[dict[str, Any]], payload: dict[str, Any]) -> EventDraft:
    text = "\n\n".join(found for block in blocks if (found := block_text(block)))
    attachments = [attachment(block) for block in blocks if block_text(block) is None]
    data = scalars_of({"phase": payload.get("phase")})
    return answered(reading, line, "item", text, data | ({"attachments": attachments} if attachments else {}))


def _arguments(kind: str, name: str, payload: dict[str, Any]) -> Any:
    """Arguments as an object where they are one. Code mode's script is kept as it is, beside its literal command."""
    if kind in ("web_search_call", "local_shell_call"):
        return payload.get("action")
    if kind == "image_generation_call":
        return scalars_of({"revised_prompt": payload.get("revised_prompt")})
    given = payload.get("input") if kind == "custom_tool_call" else payload.get("arguments")
    given = parsed(given) if isinstance(given, str) else given
    if name in CODE_MODE:
        source = (
            given if isinstance(given, str) else text_of(dict_of(given).get("source") or dict_of(given).get("code"))
        )
        if command := LITERAL.search(source):
            return {"cmd": parsed(command[1]), "source": source}
    return given


def parsed(text: str) -> Any:
    """The JSON value that a string holds, else the string."""
    if text[:1] not in ("{", "[", '"'):
        return text
    try:
        return loads(text.encode(errors="replace"))[0]
    except Unreadable:
        return text
