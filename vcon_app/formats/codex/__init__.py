"""Codex CLI: rollout files below ``~/.codex/sessions``, those without an envelope (before about 0.44), the documents
of the first Codex, the output of ``codex exec --json``, and what programs log of its events and its app server.

The types are those of Codex 0.169 (``codex-rs/protocol``); files of 0.42 to 0.169 were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError
from ..common.head import SIZES, Head, open_plain, telling
from ..common.jsonio import dumps
from ..common.lines import Item, Line
from ..common.records import lines_or_list, listed
from ..common.values import dict_of, list_of, text_of
from ..contract import Spec
from . import items
from .exec_json import ExecReading, is_exec
from .lines import HANDLERS
from .reading import RolloutReading
from .streams import is_stream

NAME = "codex"
SPEC = Spec(
    name=NAME,
    title="Codex CLI",
    grows="lines",
)

TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
HISTORY = frozenset({"session_id", "ts", "text"})
"""Keys of each line of ``history.jsonl``."""
BARE = frozenset({"id", "timestamp", "instructions"})
"""Keys of the first line of a file without an envelope."""

OTHERS = frozenset({"session_id", "cwd", "timestamp"})
"""As ``BARE``, of what other programs make of a rollout: its messages stand inside of lines."""
ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
"""Types of items by which a file without envelopes is known."""


def detect(head: Head) -> bool:
    """By an enveloped line, by the events of ``codex exec``, or by the first line of an old file."""
    lines, first = head.records, head.shape  # two objects may be glued on the first line, which is then no line of JSON
    if head.keys == HISTORY:
        return True
    glued = first.get("type") in TYPES and first.get("payload") == "{"
    spoken = is_exec(lines) or is_stream(lines)
    return glued or any(map(_is_enveloped, lines)) or spoken or _is_bare(lines) or _is_document(head)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a transcript, one line in memory at a time.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when the file holds no
    JSON object among its first lines, or unpacks to too much.
    """
    plain = open_plain(source)
    head = telling(plain, detect)
    if head.keys == HISTORY:
        raise FormatError(
            "it is the history of what was typed into Codex CLI, prompts alone; the sessions are the rollout files "
            "below ~/.codex/sessions"
        )
    if _is_document(head):
        return RolloutReading(HANDLERS, items.HANDLERS).run(_document(plain))
    spoken = is_exec(head.records) or is_stream(head.records)
    reading = ExecReading() if spoken else RolloutReading(HANDLERS, items.HANDLERS)
    return reading.run(lines_or_list(source, NAME))


def _is_enveloped(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    return isinstance(kind, str) and kind in TYPES and isinstance(line.get("payload"), dict)


def _is_bare(lines: list[dict[str, Any]]) -> bool:
    """A first line that names the session only; where it could be anybody's, an item behind it says more."""
    first = lines[0] if lines else {}
    if "type" not in first and first.keys() >= OTHERS:
        return any(text_of(dict_of(line.get("message")).get("role")) for line in lines if line.get("type") == "message")
    if "type" in first or not first.keys() >= {"id", "timestamp"}:
        return False
    ours = first.keys() >= BARE and ("git" in first or first["instructions"] is None)
    return ours or any(map(_is_item, lines[1:]))


def _is_item(line: dict[str, Any]) -> bool:
    """An item of the Responses API by itself."""
    if line.get("type") != "message":
        kind = line.get("type")
        return isinstance(kind, str) and kind in ITEMS and not line.keys().isdisjoint({"call_id", "summary"})
    return any(dict_of(part).get("type") in ("input_text", "output_text") for part in list_of(line.get("content")))


def _is_document(head: Head) -> bool:
    """One object of the session and its items: the first Codex, in TypeScript, until about June 2025."""
    shape = head.shape
    return (
        shape.get("items") == "[" and shape.get("session") == "{" and isinstance(shape.get("session.id"), str)
        and "session.timestamp" in shape and ("session.instructions" in shape or shape.get("items.item.type") in ITEMS)
    )  # fmt: skip


def _document(source: BinaryIO) -> Iterator[Item]:
    """The session, then its items, as the lines of later versions."""
    shape = Head(source.read(SIZES[1])).shape
    session = {name: shape.get(f"session.{name}") for name in sorted(BARE)}
    source.seek(0)
    yield Line(session, "/session", dumps(session), None)
    yield from listed(source, NAME, "items")
