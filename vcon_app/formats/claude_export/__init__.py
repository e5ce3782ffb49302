"""The data export of claude.ai (``conversations.json``), and single conversations that savers fetch.

A file holds many chats; each becomes a session. An edited prompt or a second answer leaves a branch behind: its
events have depth 1 and ``data.branch`` (the uuid of its first message), and open no turns. The export states
neither models nor tokens. There is no published schema; the types come from files of 2024 to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.chats import WRAPPER, read_chats
from ..common.head import Head
from ..contract import Spec
from .chat import Chat

NAME = "claude-export"
SPEC = Spec(
    name=NAME,
    title="claude.ai export",
)


def detect(head: Head) -> bool:
    """By the list ``chat_messages`` of the first conversation."""
    return any(head.shape.get(f"{place}chat_messages") == "[" for place in ("item.", "", f"{WRAPPER}.item."))


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all chats, one chat in memory at a time. Raises ``FormatError`` for what is no JSON."""
    otherwise = "it has no list chat_messages, so it is no conversation; left out"
    return read_chats(source, NAME, Chat, lambda value: isinstance(value.get("chat_messages"), list), otherwise)
