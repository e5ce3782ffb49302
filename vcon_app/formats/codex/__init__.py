"""Codex CLI: rollout files below ``~/.codex/sessions``, those without an envelope (before about 0.44), and
the output of ``codex exec --json``.

The types are those of Codex 0.169 (``codex-rs/protocol``); files of 0.42 to 0.169 were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.head import SIZES, Head, open_gzip
from ..common.lines import json_lines
from ..contract import Spec
from . import items
from .exec_json import ExecReading, is_exec
from .lines import HANDLERS
from .reading import RolloutReading

NAME = "codex"
SPEC = Spec(
    name=NAME,
    title="Codex CLI",
    grows="lines",
)

TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
BARE = frozenset({"id", "timestamp", "instructions"})
"""Keys of the first line of a file without an envelope."""


def detect(head: Head) -> bool:
    """By an enveloped line, by the events of ``codex exec``, or by the first line of an old file."""
    lines, first = head.lines, head.shape  # two objects may be glued on the first line, which is then no line of JSON
    glued = first.get("type") in TYPES and first.get("payload") == "{"
    return glued or any(map(_is_enveloped, lines)) or is_exec(lines) or (bool(lines) and _is_bare(lines[0]))


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a transcript, one line in memory at a time.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when the file holds no
    JSON object among its first lines, or unpacks to too much.
    """
    plain = open_gzip(source)
    head = Head(plain.read(SIZES[0]))
    plain.seek(0)
    reading = ExecReading() if is_exec(head.lines) else RolloutReading(HANDLERS, items.HANDLERS)
    return reading.run(json_lines(plain, NAME, packed=plain is not source))


def _is_enveloped(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    return isinstance(kind, str) and kind in TYPES and isinstance(line.get("payload"), dict)


def _is_bare(line: dict[str, Any]) -> bool:
    return line.keys() >= BARE and "type" not in line and ("git" in line or line["instructions"] is None)
