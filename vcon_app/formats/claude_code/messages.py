"""The lines of the conversation: ``user`` (prompts, injected text, tool results) and ``assistant``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.apis.anthropic import attachment
from ..common.calls import server_of
from ..common.lines import Line
from ..common.values import bounded, dict_of, text_of
from .prompts import injected_line, pieces_of, prompt_events
from .reading import Reading
from .results import server_result, tool_result
from .usage import cost_of, usage_data

REPEATING = "response-"
"""Ids of responses of iFlow CLI, each of which begins with the call that the one before it ended with."""
CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
STOPPED = ("max_tokens", "refusal", "model_context_window_exceeded", "pause_turn")
"""Reasons to stop that are worth a badge."""
Block = tuple[str, str, dict[str, Any]]
"""Part of the key, pointer, and the block itself."""
SYNTHETIC = "<synthetic>"
"""The model of messages that Claude Code writes itself; nothing was billed."""


def user(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """Tool results, then what was said. Several text blocks of a person are one message."""
    blocks = _blocks(dict_of(line.value.get("message")))
    if not blocks:
        yield reading.unknown(line, "user message without content")
        return
    results = [one for one in blocks if one[2].get("type") == "tool_result"]
    for part, path, block in results:
        yield tool_result(reading, line, block, part, path, alone=len(results) == 1)
    if len(results) == len(blocks):
        return
    others = [one for one in blocks if one[2].get("type") != "tool_result"]
    pieces = [p for part, path, block in others if _is_text(block) for p in pieces_of(block["text"], part, path)]
    attachments = [attachment(block) for _, _, block in others if not _is_text(block)]
    yield from prompt_events(reading, line, pieces, attachments, injected_line(line.value))


def assistant(reading: Reading, line: Line) -> Iterator[EventDraft]:
    """The blocks of a response; its usage stands on the last event of the line.

    A response is written as several lines with one ``message.id``; which of them counts is the
    importer's choice (the greatest output).
    """
    message = dict_of(line.value.get("message"))
    blocks = _blocks(message)
    if text_of(message.get("id")).startswith(REPEATING):
        blocks = [one for one in blocks if one[2].get("type") not in CALLS or not reading.links.get(one[2].get("id"))]
    billing, data = _billing(reading, line, message, blocks)
    if not blocks and "usage" in billing:
        yield line.event("model_request", actor=line.agent, data=data, **billing)
    elif not blocks:
        yield reading.unknown(line, "assistant message without content")
    last = len(blocks) - 1
    for number, (part, path, block) in enumerate(blocks):
        if number == last:
            yield _block(reading, line, block, part, path, data, billing)
        else:
            yield _block(reading, line, block, part, path, {}, {"model": billing.get("model")})


def _billing(
    reading: Reading, line: Line, message: dict[str, Any], blocks: list[Block]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keywords and data of the event that carries the response's tokens."""
    model = text_of(message.get("model"))[:200]
    if model == SYNTHETIC or line.value.get("isApiErrorMessage") is True:
        return {}, {}
    reading.facts.model = model or reading.facts.model
    stop = message.get("stop_reason")
    data = {"stop_reason": stop} if stop in STOPPED else {}
    cost = cost_of(line.value.get("costUSD"))
    usage = reading.program.usage_of(message)
    if usage is None:
        return {"model": model or None, "cost": cost}, data
    request = text_of(message.get("id"))[:200] or line.key
    characters = 0
    for _, _, block in blocks:
        characters += _characters(block)
    if reading.outputs.add(request, characters, usage.output_tokens or 0):
        usage.quality = "placeholder"  # nobody else has it yet
    data |= usage_data(message)
    return {"model": model or None, "usage": usage, "request": request, "cost": cost}, data


def _block(
    reading: Reading, line: Line, block: dict[str, Any], part: str, path: str, data: dict[str, Any],
    billing: dict[str, Any],
) -> EventDraft:  # fmt: skip
    kind = block.get("type")
    if kind == "text" and _is_text(block):
        return _text_event(line, block["text"], part, path, data, billing)
    if kind == "thinking":
        text = text_of(block.get("thinking"))
        data = data if text else data | {"not_recorded": True}
        return line.event("reasoning", text, part=part, at_path=path, actor=line.agent, data=data, **billing)
    if kind == "redacted_thinking":
        return line.event(
            "reasoning", part=part, at_path=path, actor=line.agent, data=data | {"encrypted": True}, **billing
        )
    if kind in CALLS:
        return _call(reading, line, block, part, path, data, billing)
    if isinstance(kind, str) and kind.endswith("_tool_result"):
        return server_result(reading, line, block, part, path, data, billing)
    what = f"block type {text_of(kind)[:100]!r} of an assistant message"
    return reading.unknown(line, what, block, part=part, at_path=path, more=data, **billing)


def _text_event(
    line: Line, text: str, part: str, path: str, data: dict[str, Any], billing: dict[str, Any]
) -> EventDraft:
    value = line.value
    if value.get("isApiErrorMessage") is True:
        data = {"type": "api_error", "error": text_of(value.get("error"))[:100] or None}
        return line.event("error", text, part=part, at_path=path, data=data)
    if dict_of(value.get("message")).get("model") == SYNTHETIC:
        return line.event("system", text, part=part, at_path=path, data={"type": "synthetic"})
    return line.event("agent_message", text, part=part, at_path=path, actor=line.agent, data=data, **billing)


def _call(
    reading: Reading,
    line: Line,
    block: dict[str, Any],
    part: str,
    path: str,
    data: dict[str, Any],
    billing: dict[str, Any],
) -> EventDraft:
    call_id, name = text_of(block.get("id"))[:200] or None, text_of(block.get("name"))[:200]
    arguments = bounded(block.get("input"), 0)
    reading.links.call(line, part, call_id, name, arguments)
    server = text_of(block.get("server_name")) or server_of(name)
    tool = ToolDraft(call_id, name or None, server, arguments)
    return line.event("tool_call", part=part, at_path=path, actor=line.agent, tool=tool, data=data, **billing)


def _blocks(message: dict[str, Any]) -> list[Block]:
    """The content of a message; a plain string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [("", "/message/content", {"type": "text", "text": content})]
    if not isinstance(content, list):
        return []
    if len(content) == 1 and isinstance(content[0], dict):  # as nearly all are
        return [("", "/message/content/0", content[0])]
    return [
        (
            f":{index}" if index else "",
            f"/message/content/{index}",
            block if isinstance(block, dict) else _block_as_object(block),
        )
        for index, block in enumerate(content)
    ]


def _block_as_object(block: Any) -> dict[str, Any]:
    """A block that is no object: text stays text, anything else is unknown."""
    return {"type": "text", "text": block} if isinstance(block, str) else {"type": None, "value": block}


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)


def _characters(block: dict[str, Any]) -> int:
    """Visible characters that the model wrote."""
    count = 0
    for text in (block.get("text"), block.get("thinking"), *dict_of(block.get("input")).values()):
        if isinstance(text, str):
            count += len(text)
    return count
