"""What is said in a request or a response, in one shape for the chat and the Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from ...drafts import Json, Kind, ToolDraft
from ..common.calls import ID_LIMIT, id_of
from ..common.jsonio import dumps
from ..common.lines import Actor
from ..common.values import dict_of, list_of, scalars_of, text_of

Side = Literal["input", "output", "setting"]
"""From outside (a person, a tool), from the model, or said once for the whole conversation."""
AGENT: Actor = ("agent", "")
LISTED = 100
TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
PAYLOADS = frozenset({"type", "data", "file_data", "image_url", "input_audio", "text", "uri", "logprobs"})


@dataclass(slots=True)
class Piece:
    """One thing that was said, at ``path`` of its record."""

    kind: Kind
    side: Side
    text: str = ""
    path: str = ""
    id: str = ""
    """Its own id, when the API gave it one."""
    tool: ToolDraft | None = None
    data: dict[str, Any] = field(default_factory=dict)
    actor: Actor = ("system", "")
    depth: int = 0
    unknown: str = ""
    """What it is, when nobody knows it; ``raw`` is then kept."""
    raw: dict[str, Any] | None = None

    @property
    def essence(self) -> list[Any]:
        """What makes it the same when the next request says it again."""
        tool = self.tool
        called = [tool.call_id, tool.name if self.kind == "tool_call" else None, tool.arguments] if tool else None
        return [self.kind, self.text, called, self.data.get("attachments")]


def position_bytes(piece: Piece, position: str) -> bytes:
    """The bytes by which a piece is known at a position of the conversation."""
    return dumps([position, *piece.essence])


def readable(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Text of a message's content, and what in it is no text, without payloads."""
    if isinstance(content, str):
        return content, []
    parts = [part if isinstance(part, dict) else {"text": part, "type": "text"} for part in list_of(content)]
    texts = [text_of(part.get("text")) for part in parts if part.get("type") in TEXTS]
    held = [_media(part) for part in parts if part.get("type") not in (*TEXTS, "refusal")]
    return "\n".join(filter(None, texts)), held[:LISTED]


def refusal_of(content: Any) -> str:
    """The text with which a model refused, where it is a part of the content."""
    return "\n".join(text_of(dict_of(part).get("refusal")) for part in list_of(content) if _is_refusal(part))


def arguments_of(value: Any) -> Json:
    """Arguments are JSON in a string. What was cut off (by a limit of tokens) stays text."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value) if value.strip() else None
    except orjson.JSONDecodeError:
        return value


def call(
    id: Any, name: Any, arguments: Any, path: str, *, own: str = "", server: Any = None, parse: bool = True, **data: Any
) -> Piece:
    """A call of a tool. ``parse`` is off where the arguments are text by intent."""
    parsed = arguments_of(arguments) if parse else arguments
    told = scalars_of(data) | ({"arguments": "no JSON; kept as text"} if parse and isinstance(parsed, str) else {})
    tool = ToolDraft(id_of(id), id_of(name), id_of(server), parsed)
    return Piece("tool_call", "output", path=path, id=own, tool=tool, data=told, actor=AGENT)


def result(id: Any, content: Any, path: str, *, name: Any = None, own: str = "", status: str | None = None) -> Piece:
    """What a tool gave back; the APIs state no outcome."""
    text, held = readable(content)
    structured = content if not isinstance(content, (str, list)) and content is not None else None
    tool = ToolDraft(id_of(id), id_of(name), None, None, structured, status)
    data = {"attachments": held} if held else {}
    return Piece("tool_result", "input", text, path, own, tool, data, ("tool", tool.name or ""))


def message_piece(role: str, text: str, path: str, held: list[dict[str, Any]], *, own: str = "", **data: Any) -> Piece:
    """A message of a person or the model, or a setting."""
    told = scalars_of(data) | ({"attachments": held} if held else {})
    if role == "user":
        return Piece("user_message", "input", text, path, own, None, told, ("person", ""))
    if role == "assistant":
        return Piece("agent_message", "output", text, path, own, None, told, AGENT)
    return Piece("system", "setting", text, path, own, None, told)


def thought(text: str, path: str, *, own: str = "", encrypted: bool = False) -> Piece:
    """What the model thought, as far as it is told."""
    data = {"encrypted": True} if encrypted and not text else {} if text else {"not_recorded": True}
    return Piece("reasoning", "output", text, path, own, None, data, AGENT)


def unknown_piece(value: dict[str, Any], what: str, path: str) -> Piece:
    """Something that nobody knows."""
    return Piece("unknown", "output", path=path, id=text_of(value.get("id")), unknown=what, raw=value)


def texts_of(values: Any) -> str:
    """The texts of a list of parts (summaries of thoughts, raw thoughts)."""
    return "\n\n".join(_texts(values))


def _texts(values: Any) -> Iterator[str]:
    for value in list_of(values):
        text = value if isinstance(value, str) else text_of(dict_of(value).get("text"))
        if text or (text := text_of(dict_of(value).get("summary"))):
            yield text


def _media(part: dict[str, Any]) -> dict[str, Any]:
    """A picture, sound or file: its kind, and its address where that is no payload."""
    url = part.get("image_url")
    url = text_of(url) or text_of(dict_of(url).get("url")) or text_of(part.get("uri"))
    place = {"url": url} if url and not url.startswith("data:") else {}
    inner = dict_of(part.get("file")) or dict_of(part.get("input_audio"))
    return (
        {"type": text_of(part.get("type"))[:ID_LIMIT] or None}
        | scalars_of(part, PAYLOADS)
        | scalars_of(inner, PAYLOADS)
        | place
    )


def _is_refusal(part: Any) -> bool:
    return dict_of(part).get("type") == "refusal"
