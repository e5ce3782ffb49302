"""Messages, thoughts and tool calls that come in pieces, and when one is complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..common.lines import Line
from ..common.values import text_of

What = Literal["text", "reasoning", "call"]
CHUNKS: dict[str, tuple[What, str]] = {
    "TEXT_MESSAGE_CHUNK": ("text", "messageId"),
    "REASONING_MESSAGE_CHUNK": ("reasoning", "messageId"),
    "TOOL_CALL_CHUNK": ("call", "toolCallId"),
}


@dataclass(slots=True)
class Open:
    """Something that was begun and has not ended."""

    what: What
    id: str
    line: Line
    """The event that began it."""
    pieces: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    """What the beginning said of it: role, name, title, parent message."""

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self.pieces)


class Fold:
    """The open messages, thoughts and calls, by kind and id."""

    def __init__(self) -> None:
        self._open: dict[tuple[What, str], Open] = {}
        self._chunked: tuple[What, str] | None = None

    def begin(self, what: What, id: str, line: Line, about: dict[str, Any], *, chunk: bool = False) -> Open:
        """Open something; what is already open under its id goes on."""
        found = self._open.setdefault((what, id), Open(what, id, line))
        found.about |= {key: value for key, value in about.items() if value}
        if chunk:
            self._chunked = what, id
        return found

    def add(self, what: What, id: str, line: Line, piece: Any) -> None:
        """Append a piece; something that was never begun is opened here."""
        self.begin(what, id, line, {}).pieces.append(text_of(piece))

    def has(self, what: What, id: str) -> bool:
        """Whether something of this kind and id is open."""
        return (what, id) in self._open

    def end(self, what: What, id: str) -> Open | None:
        """Close it and return it, with all of its pieces."""
        if self._chunked == (what, id):
            self._chunked = None
        return self._open.pop((what, id), None)

    def chunk_id(self, line: Line) -> str:
        """The id of a chunk: its own, or that of the chunk before it."""
        what, key = CHUNKS[line.value["type"]]
        before = self._chunked[1] if self._chunked and self._chunked[0] == what else ""
        return text_of(line.value.get(key)) or before

    def ended_by(self, line: Line) -> Open | None:
        """Close what chunks opened, when an event comes that is no chunk of it."""
        if self._chunked is None:
            return None
        kind = line.value.get("type")
        what, _ = CHUNKS.get(kind, (None, "")) if isinstance(kind, str) else (None, "")
        if what and (what, self.chunk_id(line)) == self._chunked:
            return None
        return self.end(*self._chunked)

    def close_all(self) -> list[Open]:
        """Close everything that is open; returned with the oldest first."""
        found = list(self._open.values())
        self._open.clear()
        self._chunked = None
        return found
