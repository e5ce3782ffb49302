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
from ..common.usage import first_count, uncached_if_inside
from ..common.values import dict_of, list_of, money_of, scalars_of, text_of
from ..contract import Spec

NAME = "goose"
PRINTED = ("complete", "notification", "model_change")
WORDS = {"text": "text", "thinking": "thinking", "reasoning": "text"}
"""Types of blocks of which a message may come piece by piece, and where their words stand."""
MOST = 4 * 1024 * 1024
"""Bytes of one joined message."""
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
    """Messages that ``goose run --output-format stream-json`` printed, without what it put around them.

    One that a model streams comes in pieces under one id, each with the next words of it.
    """
    held: Line | None = None
    for item in items:
        printed = item if isinstance(item, Line) and _is_printed(item.value) else None
        whole = _continued(held, printed) if held and printed else None
        if held and whole is None:
            yield held
        held = whole or (part_of(printed, printed.value["message"], "/message") if printed else None)
        if printed is None:
            yield item
    if held:
        yield held


def _continued(held: Line, printed: Line) -> Line | None:
    """A message with the words of its next piece; ``None`` where that is another message."""
    said, more = held.value, printed.value["message"]
    if not text_of(said.get("id")) or (said["id"], said.get("role")) != (more.get("id"), more.get("role")):
        return None
    if len(held.raw) > MOST:
        return None
    blocks = [dict_of(block) for block in said["content"]]
    for block in map(dict_of, more["content"]):
        kind = text_of(block.get("type"))
        name = WORDS.get(kind, "")
        if blocks and name and blocks[-1].get("type") == kind:
            blocks[-1] = {**blocks[-1], name: text_of(blocks[-1].get(name)) + text_of(block.get(name))}
        else:
            blocks.append(block)
    return part_of(held, {**said, "content": blocks}, "")


def _is_printed(line: dict[str, Any]) -> bool:
    message = dict_of(line.get("message"))
    said = isinstance(message.get("content"), list) and isinstance(message.get("created"), (int, float))
    return line.get("type") == "message" and said


def usage_of(counts: list[int | None], quality: str = "final") -> Usage:
    """Tokens in the order of ``TOTALS``. Goose's input has both caches in it: its total is input and output."""
    given, read, written, output = counts
    return Usage(uncached_if_inside(given, read, written), read, written, output, quality=quality)


def totals_of(value: dict[str, Any]) -> Usage | None:
    """Tokens of a whole session, as its columns or, in newer exports, an object of its own state them."""
    own = {f"accumulated_{name}": count for name, count in dict_of(value.get("accumulated_usage")).items()}
    stated = own | {name: value[name] for name in TOTALS if value.get(name) is not None}
    counts = [first_count(stated, name, name.replace("_tokens", "_input_tokens")) for name in TOTALS]
    return usage_of(counts, "aggregate") if any(count is not None for count in counts) else None


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
        inner = dict_of(block.get("data")) or block
        said = (text_of(inner.get(name)) for name in ("msg", "prompt", "message"))
        told = scalars_of(block) | scalars_of(inner)
        held = {name: inner[name] for name in ("arguments", "user_data", "userData") if inner.get(name)}
        return Piece("context", next(filter(None, said), ""), piece.path, data=told | held)
    return piece


class GooseReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Goose"
    stamps = ("created",)

    def note(self, line: Line) -> None:
        if line.value.get("type") == "model_change":
            self.facts.model = text_of(line.value.get("model"))[:200] or self.facts.model
        elif "role" not in line.value:
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
            usage = totals_of(value)
            cost = money_of(value.get("accumulated_cost"))
            billing: dict[str, Any] = {"usage": usage, "cost": cost, "request": "session"} if usage else {}
            billing |= {"model": self.facts.model, "actor": line.agent} if usage else {}
            yield line.event(
                "model_request" if usage else "system", data={"type": "session"} | scalars_of(value), **billing
            )
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}" if role else "line without a role")
        if list_of(value.get("messages")):
            self.findings.unknown("messages inside of a line", line.pointer)
