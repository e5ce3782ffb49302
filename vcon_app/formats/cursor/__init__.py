"""Cursor: agent transcripts (lines, older ones as text), and ``cursor-agent -p --output-format stream-json``.

Transcripts hold no ids, no times, no tokens and hardly any results. Read from files of 2026 and, for stream-json,
from Cursor's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.head import Head, open_plain, telling
from ..common.reading import Reading
from ..common.records import lines_or_list
from ..common.values import dict_of
from ..contract import Spec
from .stream import StreamReading, is_stream
from .text import is_text, text_lines
from .transcript import TranscriptReading

NAME = "cursor"
OTHERS = frozenset({"uuid", "sessionId", "session_id", "type", "id", "timestamp", "sessionID"})
SPEC = Spec(
    name=NAME,
    title="Cursor",
    # Lines are only appended, but a transcript is known by its first prompt alone: comparing event by event tells
    # a longer version of it from another session that began with the same words.
    grows="document",
    children="prompted",
    starts_sessions=("Task", "Subagent"),
)


def detect(head: Head) -> bool:
    """By lines of ``role`` and ``message`` that nobody signs with an id, or by stream-json without a list of tools."""
    return any(map(_is_line, head.records)) or is_stream(head.records) or is_text(head.data)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a transcript, one line in memory at a time.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when the file holds no JSON
    object among its first lines, or unpacks to too much.
    """
    plain = open_plain(source)
    head = telling(plain, detect)
    if is_text(head.data):
        return TranscriptReading().run(text_lines(plain, packed=plain is not source))
    reading: Reading = StreamReading() if is_stream(head.records) else TranscriptReading()
    return reading.run(lines_or_list(source, NAME))


def _is_line(line: dict[str, Any]) -> bool:
    spoken = line.get("role") in ("user", "assistant") and isinstance(dict_of(line.get("message")).get("content"), list)
    return spoken and not (OTHERS & line.keys())
