"""Pieces of a request or a response, in one shape for the chat and the Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ...drafts import Kind, ToolDraft
from ..common.apis.openai import arguments_of, readable
from ..common.calls import id_of
from ..common.jsonio import dumps
from ..common.lines import Actor
from ..common.values import dict_of, list_of, scalars_of, text_of

Side = Literal["input", "output", "setting"]
"""From outside (a person, a tool), from the model, or said once for the whole conversation."""
AGENT: Actor = ("agent", "")


@dataclass(slots=True)
class Piece:
    """One message, thought, call or result, at ``path`` of its record."""

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
        """Values by which a piece is recognized when the next request repeats it."""
        tool = self.tool
        called = [tool.call_id, tool.name if self.kind == "tool_call" else None, tool.arguments] if tool else None
        return [self.kind, self.text, called, self.data.get("attachments")]


def position_bytes(piece: Piece, position: str) -> bytes:
    """The bytes by which a piece is known at a position of the conversation."""
    return dumps([position, *piece.essence])


def refusal_of(content: Any) -> str:
    """The text with which a model refused, where it is a part of the content."""
    return "\n".join(text_of(dict_of(part).get("refusal")) for part in list_of(content) if _is_refusal(part))


def call(
    id: Any, name: Any, arguments: Any, path: str, *, own: str = "", server: Any = None, parse: bool = True, **data: Any
) -> Piece:
    """A call of a tool. ``parse`` is off where the arguments are text by intent."""
    parsed = arguments_of(arguments) if parse else arguments
    facts = scalars_of(data) | ({"arguments": "no JSON; kept as text"} if parse and isinstance(parsed, str) else {})
    tool = ToolDraft(id_of(id), id_of(name), id_of(server), parsed)
    return Piece("tool_call", "output", path=path, id=own, tool=tool, data=facts, actor=AGENT)


def result(id: Any, content: Any, path: str, *, name: Any = None, own: str = "", status: str | None = None) -> Piece:
    """What a tool gave back; the APIs state no outcome."""
    text, attachments = readable(content)
    structured = content if not isinstance(content, (str, list)) and content is not None else None
    tool = ToolDraft(id_of(id), id_of(name), None, None, structured, status)
    data = {"attachments": attachments} if attachments else {}
    return Piece("tool_result", "input", text, path, own, tool, data, ("tool", tool.name or ""))


def message_piece(
    role: str, text: str, path: str, attachments: list[dict[str, Any]], *, own: str = "", **data: Any
) -> Piece:
    """A message of a person or the model, or a setting."""
    facts = scalars_of(data) | ({"attachments": attachments} if attachments else {})
    if role == "user":
        return Piece("user_message", "input", text, path, own, None, facts, ("person", ""))
    if role == "assistant":
        return Piece("agent_message", "output", text, path, own, None, facts, AGENT)
    return Piece("system", "setting", text, path, own, None, facts)


def thought(text: str, path: str, *, own: str = "", encrypted: bool = False) -> Piece:
    """A thought of the model, as far as the file has it."""
    data = {"encrypted": True} if encrypted and not text else {} if text else {"not_recorded": True}
    return Piece("reasoning", "output", text, path, own, None, data, AGENT)


def unknown_piece(value: dict[str, Any], what: str, path: str) -> Piece:
    """A piece of an unknown type."""
    return Piece("unknown", "output", path=path, id=text_of(value.get("id")), unknown=what, raw=value)


def texts_of(values: Any) -> str:
    """The texts of a list of parts (summaries of thoughts, raw thoughts)."""
    return "\n\n".join(_texts(values))


def _texts(values: Any) -> Iterator[str]:
    for value in list_of(values):
        text = value if isinstance(value, str) else text_of(dict_of(value).get("text"))
        if text or (text := text_of(dict_of(value).get("summary"))):
            yield text


def _is_refusal(part: Any) -> bool:
    return dict_of(part).get("type") == "refusal"
