"""Goose (Block) before 1.10: ``~/.local/share/goose/sessions/NAME.jsonl``. Later sessions are in a SQLite store, out of
which ``goose session export --format json`` makes one document with the messages under ``conversation``. What
``goose run --output-format json`` prints has them under ``messages``, and ``stream-json`` each on a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..common.agents.pieces import Piece, pieces_of, readable
from ..common.agents.reading import AgentReading, unfolded
from ..common.calls import id_of
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.records import lines_or_list, part_of
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "goose"
PRINTED = ("complete", "notification")
SPEC = Spec(name=NAME, title="Goose", grows="lines")
TOTALS = ("accumulated_input_tokens", "accumulated_cache_read_tokens", "accumulated_cache_write_tokens",
          "accumulated_output_tokens")  # fmt: skip
FACTS = frozenset({"working_dir", "message_count", "description", "total_tokens", *TOTALS})
"""Of the line that stands before the messages; a session that was run nowhere has no folder."""


def detect(head: Head) -> bool:
    """By messages with the seconds in which they were created, or by the facts that stand before them."""
    first: dict[str, Any] = next(iter(head.records), {})
    if "working_dir" in first and bool({"message_count", "description", "total_tokens"} & first.keys()):
        return True
    if head.shape.get("conversation") == "[" and FACTS & head.keys:
        return True
    printed = isinstance(head.shape.get("messages.item.created"), (int, float)) and "metadata.status" in head.shape
    if printed and head.shape.get("messages.item.content") == "[":
        return True
    lines = head.records[:5]
    if any(map(_is_printed, lines)):
        return True
    return any(map(_is_message, lines)) and not any({"object", "choices", "id"} <= line.keys() for line in lines)


def _is_message(line: dict[str, Any]) -> bool:
    content = line.get("content")
    blocks = [dict_of(block).get("type") for block in content] if isinstance(content, list) else []
    called = "toolRequest" in blocks or "toolResponse" in blocks
    return "role" in line and isinstance(content, list) and (isinstance(line.get("created"), (int, float)) or called)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, a line in memory at a time. Raises ``FormatError``."""
    return GooseReading().run(_opened(unfolded(lines_or_list(source, NAME), NAME, "conversation", "messages")))


def _opened(items: Iterable[Item]) -> Iterator[Item]:
    """Messages that ``goose run --output-format stream-json`` printed, without what it put around them."""
    for item in items:
        held = dict_of(item.value.get("message")) if isinstance(item, Line) and _is_printed(item.value) else {}
        yield part_of(item, held, "/message") if held and isinstance(item, Line) else item


def _is_printed(line: dict[str, Any]) -> bool:
    message = dict_of(line.get("message"))
    said = isinstance(message.get("content"), list) and isinstance(message.get("created"), (int, float))
    return line.get("type") == "message" and said


def goose_pieces(content: Any) -> list[Piece]:
    """Pieces of a message of Goose, which has calls and results of its own make."""
    pieces = pieces_of(content)
    return [_own(dict_of(piece.value), piece) if piece.kind == "unknown" else piece for piece in pieces]


def _own(block: dict[str, Any], piece: Piece) -> Piece:
    kind = block.get("type")
    if kind in ("toolRequest", "frontendToolRequest"):
        call = dict_of(block.get("toolCall"))
        value = dict_of(call.get("value"))
        data = scalars_of({"error": call.get("error")}) if call.get("status") == "error" else {}
        name = id_of(value.get("name"))
        return Piece("call", "", piece.path, id_of(block.get("id")), name, value.get("arguments"), data=data)
    if kind == "toolResponse":
        result = dict_of(block.get("toolResult"))
        value = result.get("value")
        inner = dict_of(value)
        text, rest = readable(inner.get("content", value))
        failed = result.get("status") == "error" or inner.get("isError") is True
        text = text or text_of(result.get("error"))
        status = "error" if failed else "ok" if result.get("status") == "success" else None
        return Piece("result", text, piece.path, id_of(block.get("id")), None, rest, status)
    if kind == "redactedThinking":
        return Piece("reasoning", "", piece.path, data={"withheld": True})
    if kind in ("toolConfirmationRequest", "contextLengthExceeded", "summarizationRequested", "systemNotification",
                "conversationCompacted", "actionRequired"):  # fmt: skip
        return Piece(
            "context", text_of(block.get("msg")) or text_of(block.get("prompt")), piece.path, data=scalars_of(block)
        )
    return piece


class GooseReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Goose"
    stamps = ("created",)

    def note(self, line: Line) -> None:
        if "role" not in line.value:
            self.claim(line.value.get("id"))
            title = text_of(line.value.get("name")) or text_of(line.value.get("description"))
            self.facts.title = title or self.facts.title
            self.facts.set_environment(cwd=line.value.get("working_dir"))
            model = dict_of(line.value.get("model_config")).get("model_name", line.value.get("model"))
            self.facts.model = text_of(model)[:200] or self.facts.model

    def events(self, line: Line) -> Iterator[Draft]:
        value, role = line.value, line.value.get("role")
        if role in ("user", "assistant"):
            yield from self.message(line, role, goose_pieces(value.get("content")), model=self.facts.model)
        elif value.get("type") == "error":
            yield line.event("error", text_of(value.get("error")) or text_of(value.get("message")))
        elif role is None and (value.get("type") in PRINTED or isinstance(value.get("metadata"), dict)):
            told = scalars_of(value) | scalars_of(dict_of(value.get("metadata")))
            self.facts.phase = (
                "completed" if told.get("type") == "complete" or told.get("status") == "completed" else None
            )
            yield line.event("status", data={"type": "run"} | told)
        elif role is None and FACTS & value.keys():
            counts = [count_of(value.get(name)) for name in TOTALS]
            usage = Usage(*counts, quality="aggregate") if any(count is not None for count in counts) else None
            billing: dict[str, Any] = {"usage": usage, "request": "session"} if usage else {}
            yield line.event(
                "model_request" if usage else "system", data={"type": "session"} | scalars_of(value), **billing
            )
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}" if role else "line without a role")
        if list_of(value.get("messages")):
            self.findings.unknown("messages inside of a line", line.pointer)
