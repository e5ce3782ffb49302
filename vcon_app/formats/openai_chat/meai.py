"""Messages and updates of Microsoft.Extensions.AI (.NET), as AG-UI hosts record them.

An update is a piece of a response: ``contents`` of a ``$type``, with the ids of its message and response.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...drafts import ToolDraft
from ..common.calls import id_of
from ..common.lines import Line
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .pieces import AGENT, Piece, call, message_piece, result, thought, unknown_piece

FLOWING = ("text", "reasoning")
"""Types whose pieces are one text as long as the message is the same."""
ASKED = ("toolApprovalRequest", "toolApprovalResponse", "interruptRequest", "interruptResponse")
MEDIA = ("data", "uri", "hostedFile")
EMPTY = ("usage",)


@dataclass(slots=True)
class _Open:
    about: tuple[str, str, str]
    """Type, role and message."""
    line: Line
    """The update that began it."""
    pieces: list[str] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)


class Updates:
    """Puts the pieces of a text together, and pictures with the text that they stand in."""

    def __init__(self) -> None:
        self._open: _Open | None = None

    def add(self, line: Line, value: dict[str, Any], path: str) -> Iterator[tuple[Line, Piece]]:
        """What is complete with the contents of this update, or is a message by itself."""
        role, id = text_of(value.get("role")) or "assistant", text_of(value.get("messageId"))
        for index, content in enumerate(map(dict_of, list_of(value.get("contents")))):
            kind = text_of(content.get("$type"))
            if kind in FLOWING or kind in MEDIA:
                yield from self._flow(line, ("reasoning" if kind == "reasoning" else "text", role, id), content)
            elif kind not in EMPTY:
                yield from self.end()
                yield from ((line, piece) for piece in _pieces(content, kind, f"{path}/contents/{index}"))
        if "responseId" not in value and "messageId" not in value:
            yield from self.end()

    def end(self) -> Iterator[tuple[Line, Piece]]:
        """The text that is open."""
        flowed, self._open = self._open, None
        if flowed and (any(flowed.pieces) or flowed.held):
            (kind, role, id), text = flowed.about, "".join(flowed.pieces)
            is_thought = kind == "reasoning"
            yield (
                flowed.line,
                thought(text, "", own=id) if is_thought else message_piece(role, text, "", flowed.held, own=id),
            )

    def _flow(self, line: Line, about: tuple[str, str, str], content: dict[str, Any]) -> Iterator[tuple[Line, Piece]]:
        if self._open is None or self._open.about != about:
            yield from self.end()
            self._open = _Open(about, line)
        if content.get("$type") in MEDIA:
            media = {"type": content["$type"]} | scalars_of(content, frozenset({"$type", "uri", "data"}))
            self._open.held.append(media)
        self._open.pieces.append(text_of(content.get("text")))


def usages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens that an update states; several of one response are those of several requests."""
    contents = map(dict_of, list_of(value.get("contents")))
    return [dict_of(content.get("details")) for content in contents if content.get("$type") == "usage"]


def _pieces(content: dict[str, Any], kind: str, path: str) -> Iterator[Piece]:
    if kind == "functionCall":
        yield call(content.get("callId"), content.get("name"), content.get("arguments"), path)
    elif kind == "functionResult":
        status = "error" if content.get("exception") else None
        yield result(content.get("callId"), content.get("result"), path, status=status)
    elif kind == "error":
        data = scalars_of(content, frozenset({"message"}))
        yield Piece("error", "output", text_of(content.get("message")), path, "", None, data, AGENT)
    elif kind in ASKED:
        yield from _asked(content, kind, path)
    else:
        yield unknown_piece({"type": kind} | content, f"content type {kind[:100]!r}", path)


def _asked(content: dict[str, Any], kind: str, path: str) -> Iterator[Piece]:
    """A question to a person (with the call that it is about), or the answer."""
    inner = dict_of(content.get("toolCall"))
    asked = call(inner.get("callId"), inner.get("name"), inner.get("arguments"), path)
    data: dict[str, Any] = {"type": kind} | scalars_of({"requestId": content.get("requestId")})
    if kind.endswith("Request"):
        if inner:
            yield asked
        data |= {"decision": "pending"} | scalars_of({"reason": content.get("reason")})
        yield Piece(
            "approval", "output", text_of(content.get("message")), path, "", asked.tool if inner else None, data
        )
        return
    approved = content.get("approved")
    decision = "approved" if approved is True else "denied" if approved is False else "answered"
    data |= {"decision": decision, "by": "user"}
    if content.get("payload") is not None:
        data["payload"] = bounded(content["payload"], 0)
    tool = ToolDraft(id_of(inner.get("callId")), status="denied" if decision == "denied" else None) if inner else None
    yield Piece("approval", "input", text_of(content.get("reason")), path, "", tool, data, ("person", ""))
