"""Pieces of a message: text, a thought, a call, a result, a picture, in the shape of blocks or of OpenAI's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..apis.anthropic import attachment
from ..apis.openai import arguments_of
from ..calls import id_of
from ..jsonio import dumps
from ..values import dict_of, list_of, scalars_of, text_of

Kind = Literal["text", "reasoning", "call", "result", "context", "media", "unknown"]
TEXTS = frozenset({"text", "input_text", "output_text", "summary_text"})
THOUGHTS = frozenset({"thinking", "reasoning", "think", "redacted_thinking"})
CALLS = frozenset({"tool_use", "toolCall", "tool-call", "tool_call", "server_tool_use"})
RESULTS = frozenset({"tool_result", "tool-result", "toolResult"})
MEDIA = frozenset(
    {
        "image",
        "media",
        "image_url",
        "imageUrl",
        "document",
        "file",
        "audio",
        "video",
        "input_image",
        "binary",
        "resource",
    }
)
HELD = frozenset({"type", "data", "content", "text", "source", "image_url", "base64", "url", "bytes"})
"""Members of a picture or file that may be its payload: never kept in an event."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece; of a call ``value`` are its arguments, of a result what it brought beyond its text."""

    kind: Kind
    text: str = ""
    path: str = ""
    """Where in the record it stands, as a JSON pointer."""
    call_id: str | None = None
    name: str | None = None
    value: Any = None
    status: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


def pieces_of(content: Any, path: str = "/content") -> list[Piece]:
    """The pieces of a message's content: a text, a list of blocks, or one block."""
    if isinstance(content, str):
        return [Piece("text", content, path)] if content.strip() else []
    if isinstance(content, dict):
        return [piece_of(content, path)]
    return [
        Piece("text", item, f"{path}/{index}") if isinstance(item, str) else piece_of(dict_of(item), f"{path}/{index}")
        for index, item in enumerate(list_of(content))
        if item != "" and item is not None
    ]


def piece_of(block: dict[str, Any], path: str) -> Piece:
    """One block, under the names of Anthropic, of the AI SDK, and of those who changed them a little."""
    kind = text_of(block.get("type"))
    if kind in TEXTS or (not kind and isinstance(block.get("text"), str)):
        return Piece("text", text_of(block.get("text")), path)
    if kind in THOUGHTS:
        return thought_of(block, path)
    if kind in CALLS:
        return call_of(block, path)
    if kind in RESULTS:
        return result_of(block, path)
    if kind in MEDIA:
        told = attachment(block) | scalars_of(block, HELD)
        return Piece("media", path=path, data={key: item for key, item in told.items() if item is not None})
    return Piece("unknown", path=path, value=block, data={"what": f"block {kind[:100]!r}"})


def thought_of(block: dict[str, Any], path: str) -> Piece:
    """A thought; one that is kept from the reader (only a signature is there) says so."""
    said = (text_of(block.get(name)) for name in ("thinking", "think", "text", "content"))
    summary = (text_of(dict_of(part).get("text")) for part in list_of(block.get("summary")))
    text = next(filter(None, said), "") or "\n\n".join(filter(None, summary))
    return Piece("reasoning", text, path, data={} if text.strip() else {"withheld": True})


def call_of(block: dict[str, Any], path: str) -> Piece:
    """A call. Arguments that are JSON in a string are read."""
    inner = dict_of(block.get("function"))
    call_id = next(filter(None, (id_of(block.get(name)) for name in ("id", "toolCallId", "tool_use_id"))), None)
    name = next(
        filter(None, (id_of(holder.get(key)) for holder in (block, inner) for key in ("name", "toolName"))), None
    )
    given = (block.get("input"), block.get("arguments"), block.get("args"), inner.get("arguments"))
    value = next((item for item in given if item is not None), None)
    return Piece("call", path=path, call_id=call_id, name=name, value=arguments_of(value))


def result_of(block: dict[str, Any], path: str) -> Piece:
    """A result: its text, what it holds beside, and whether it failed, where that is said."""
    names = ("tool_use_id", "toolUseID", "toolUseId", "tool_call_id", "toolCallId")
    call_id = next(filter(None, (id_of(block.get(name)) for name in names)), None)
    brought = block.get("content", block.get("output", block.get("result")))
    failed = block.get("is_error", block.get("isError"))
    text, value = readable(brought)
    return Piece(
        "result", text, path, call_id, id_of(block.get("toolName")) or id_of(block.get("name")), value,
        ("error" if failed else "ok") if isinstance(failed, bool) else None,
    )  # fmt: skip


def readable(brought: Any) -> tuple[str, Any]:
    """What a tool brought as text, and as it is where it is more than text."""
    if isinstance(brought, str):
        return brought, None
    if isinstance(brought, dict):
        if brought.keys() <= {"type", "value"} and isinstance(brought.get("value"), str):  # the AI SDK
            return brought["value"], None
        only = [name for name in ("output", "text", "content", "stdout") if isinstance(brought.get(name), str)]
        return (brought[only[0]] if only else ""), (brought if brought.keys() - set(only[:1]) else None)
    parts = [dict_of(item) if not isinstance(item, str) else {"text": item} for item in list_of(brought)]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    others = [attachment(part) if text_of(part.get("type")) in MEDIA else part for part in parts if "text" not in part]
    return "\n".join(texts), (others or None)


def openai_pieces(message: dict[str, Any]) -> list[Piece]:
    """Pieces of an assistant's message of the OpenAI API: thought, text, calls."""
    thought = next(
        (text for name in ("reasoning_content", "reasoning") if (text := text_of(message.get(name))).strip()), ""
    )
    thoughts = [Piece("reasoning", thought, "/reasoning")] if thought else []
    calls = message.get("tool_calls", message.get("toolCalls"))
    return [
        *thoughts,
        *pieces_of(message.get("content")),
        *(call_of(dict_of(call), f"/tool_calls/{index}") for index, call in enumerate(list_of(calls))),
    ]


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """A prompt's texts as one piece where the first stood, with its pictures: each text alone would be a turn."""
    found = list(pieces)
    texts = [piece for piece in found if piece.kind == "text"]
    media = [piece.data for piece in found if piece.kind == "media"]
    if not texts and not media:
        return found
    first = texts[0] if texts else next(piece for piece in found if piece.kind == "media")
    attachments = {"attachments": media} if media else {}
    prompt = Piece("text", "\n".join(piece.text for piece in texts), first.path, data={**first.data, **attachments})
    if not texts:
        prompt = replace(prompt, data=attachments)
    return [
        prompt if piece is first else piece for piece in found if piece is first or piece.kind not in ("text", "media")
    ]


def shown(value: Any) -> str:
    """A value as text: as it is when it is one, else as JSON."""
    return value if isinstance(value, str) else "" if value is None else dumps(value).decode()


def with_context(pieces: Iterable[Piece], starts: tuple[str, ...]) -> Iterator[Piece]:
    """The pieces, those texts that begin with one of ``starts`` as context: a program put them there."""
    for piece in pieces:
        injected = piece.kind == "text" and piece.text.lstrip().startswith(starts)
        yield replace(piece, kind="context") if injected else piece
