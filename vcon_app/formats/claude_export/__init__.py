"""The data export of claude.ai (``conversations.json``), and single conversations that savers fetch.

A file holds many chats; each becomes a session. An edited prompt or a second answer leaves a branch behind: its
events have depth 1 and ``data.branch`` (the uuid of its first message), and open no turns. The export states
neither models nor tokens. There is no published schema; the types come from files of 2024 to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft, Finding
from ..common.head import Head
from ..common.lines import Line
from ..common.reading import Findings
from ..common.records import records
from ..common.session_ids import SessionIds
from ..contract import Spec
from .chat import Chat

NAME = "claude-export"
SPEC = Spec(
    name=NAME,
    title="claude.ai export",
)

WRAPPER = "conversations"


def detect(head: Head) -> bool:
    """By the list ``chat_messages`` of the first conversation."""
    return any(head.shape.get(f"{place}chat_messages") == "[" for place in ("item.", "", f"{WRAPPER}.item."))


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all chats, one chat in memory at a time. Raises ``FormatError`` for what is no JSON."""
    findings, ids = Findings(NAME), SessionIds(NAME)
    for item in records(source, NAME, WRAPPER):
        if isinstance(item, Line) and isinstance(item.value.get("chat_messages"), list):
            yield from Chat(item, findings, ids).drafts()
        elif isinstance(item, Line):
            message = "it has no list chat_messages, so it is no conversation; left out"
            yield from findings.let(Finding(f"{NAME}.no-conversation", "warning", item.pointer, message))
        elif isinstance(item, Finding):
            yield from findings.let(item)
    yield from findings.close()
