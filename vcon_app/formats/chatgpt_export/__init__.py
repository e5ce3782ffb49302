"""The data export of ChatGPT (``conversations.json`` and its shards), and single conversations that savers fetch.

A file holds many chats; each becomes a session. A chat is a tree: what leads to ``current_node`` is the session,
other children (edits, second answers) are branches: their events have depth 1 and ``data.branch`` (the id of the
first node), and open no turns. The export states no tokens. There is no published schema; the types come from
files of 2023 to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.chats import WRAPPER, read_chats
from ..common.head import Head
from ..contract import Spec
from .chat import Chat

NAME = "chatgpt-export"
SPEC = Spec(
    name=NAME,
    title="ChatGPT export",
)

NODE_KEYS = ("message", "parent", "children")
CHAT_KEYS = ("current_node", "create_time", "conversation_id")


def detect(head: Head) -> bool:
    """By the ``mapping`` of the first conversation, whose nodes have messages."""
    return any(_is_chat(head, place) for place in ("", "item.", f"{WRAPPER}.item."))


def _is_chat(head: Head, place: str) -> bool:
    if head.shape.get(f"{place}mapping") != "{":
        return False
    nodes = (path for path in head.shape if path.startswith(f"{place}mapping."))
    return any(path.rpartition(".")[2] in NODE_KEYS for path in nodes) or any(
        place + key in head.shape for key in CHAT_KEYS
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all chats, one chat in memory at a time. Raises ``FormatError`` for what is no JSON."""
    otherwise = "it has no mapping of nodes, so it is no conversation; left out"
    return read_chats(source, NAME, Chat, lambda value: isinstance(value.get("mapping"), dict), otherwise)
