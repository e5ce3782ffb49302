"""Messages of the chat API."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ..common.apis.openai import readable
from ..common.values import dict_of, list_of, text_of
from .pieces import Piece, call, message_piece, refusal_of, result, texts_of, thought, unknown_piece

SETTINGS = ("system", "developer")
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Where providers put what a model thought; OpenAI's own chat API does not tell it."""


CALLS = ("tool_use", "server_tool_use")
BLOCKS = frozenset({*CALLS, "tool_result", "thinking", "redacted_thinking"})
"""Types of Anthropic's blocks, which programs send in the chat API's messages."""


def message_pieces(message: dict[str, Any], path: str) -> Iterator[Piece]:
    """Pieces of a message: thoughts, text, refusal, calls; or a result."""
    role = message.get("role")
    blocks = list_of(message.get("content"))
    if any(text_of(dict_of(block).get("type")) in BLOCKS for block in blocks):
        yield from _of_blocks(message, [dict_of(block) for block in blocks], path)
    elif role in ("tool", "function"):
        yield result(message.get("tool_call_id"), message.get("content"), path, name=message.get("name"))
    elif role == "user" or role in SETTINGS:
        text, attachments = readable(message.get("content"))
        yield message_piece(text_of(role), text, path, attachments, name=message.get("name"))
    elif role == "assistant":
        yield from _answer(message, path)
    else:
        yield unknown_piece(message, f"message of role {text_of(role)[:100]!r}", path)


def _of_blocks(message: dict[str, Any], blocks: list[dict[str, Any]], path: str) -> Iterator[Piece]:
    """Pieces of a message in Anthropic's blocks: what is said between two calls or results is one message."""
    role = text_of(message.get("role"))
    for is_other, found in groupby(enumerate(blocks), lambda one: text_of(one[1].get("type")) not in BLOCKS):
        held = list(found)
        place = f"{path}/content/{held[0][0]}"
        if is_other:
            text, attachments = readable([block for _, block in held])
            if text or attachments:
                yield message_piece(role, text, place, attachments, name=message.get("name"))
            continue
        for index, block in held:
            yield _block(block, f"{path}/content/{index}")


def _block(block: dict[str, Any], path: str) -> Piece:
    kind = block["type"]
    if kind in CALLS:
        return call(block.get("id"), block.get("name"), block.get("input"), path, parse=False)
    if kind == "tool_result":
        failed = block.get("is_error")
        status = ("error" if failed else "ok") if isinstance(failed, bool) else None
        return result(block.get("tool_use_id"), block.get("content"), path, status=status)
    return thought(text_of(block.get("thinking")), path, encrypted=True)


def completion_pieces(value: dict[str, Any], path: str) -> Iterator[Piece]:
    """Of a response: the first choice is the answer, others are branches of depth 1."""
    for index, choice in enumerate(map(dict_of, list_of(value.get("choices")))):
        place = f"{path}/choices/{index}/message"
        for piece in message_pieces({"role": "assistant"} | dict_of(choice.get("message")), place):
            if index:
                piece.depth, piece.data = 1, piece.data | {"branch": f"choice-{index}"}
            yield piece


def stop_reason(value: dict[str, Any]) -> str:
    """Why the first choice ended, when that is worth telling."""
    first = dict_of(next(iter(list_of(value.get("choices"))), None))
    reason = text_of(first.get("finish_reason"))[:100]
    return "" if reason in ("stop", "tool_calls", "function_call") else reason


def _answer(message: dict[str, Any], path: str) -> Iterator[Piece]:
    thoughts = next((text for name in THOUGHTS if (text := text_of(message.get(name)))), "")
    details = list_of(message.get("reasoning_details"))
    if thoughts or details:
        hidden = any(dict_of(item).get("type") == "reasoning.encrypted" for item in details)
        yield thought(thoughts or texts_of(details), path, encrypted=hidden)
    calls = list(_calls(message, path))
    text, attachments = readable(message.get("content"))
    refusal = text_of(message.get("refusal")) or refusal_of(message.get("content"))
    if text or attachments or not (calls or refusal):
        yield message_piece("assistant", text, path, attachments, name=message.get("name"))
    if refusal:
        yield message_piece("assistant", refusal, path, [], refusal=True)
    if audio := dict_of(message.get("audio")):
        yield message_piece("assistant", text_of(audio.get("transcript")), path, [{"type": "audio"}], spoken=True)
    yield from calls


def _calls(message: dict[str, Any], path: str) -> Iterator[Piece]:
    for index, value in enumerate(map(dict_of, list_of(message.get("tool_calls")))):
        inner, place = dict_of(value.get("function")) or dict_of(value.get("custom")), f"{path}/tool_calls/{index}"
        arguments = inner.get("arguments", inner.get("input"))
        yield call(value.get("id"), inner.get("name"), arguments, place, parse="custom" not in value)
    if legacy := dict_of(message.get("function_call")):
        yield call(None, legacy.get("name"), legacy.get("arguments"), f"{path}/function_call")
