"""A file of many conversations, each of which becomes a session: the data exports of chat services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol

from ...drafts import Draft, Finding
from .lines import Line
from .reading import Findings
from .records import records
from .session_ids import SessionIds

WRAPPER = "conversations"
"""The key under which some savers put the list of chats."""


class Chat(Protocol):
    """Reads one conversation."""

    def drafts(self) -> Iterator[Draft]: ...


def read_chats(
    source: BinaryIO,
    name: str,
    chat: Callable[[Line, Findings, SessionIds], Chat],
    is_chat: Callable[[dict[str, Any]], bool],
    otherwise: str,
) -> Iterator[Draft]:
    """Drafts of all chats, one chat in memory at a time. Raises ``FormatError`` for what is no JSON.

    ``name`` is the format's. An object that ``is_chat`` refuses is left out, with the finding ``otherwise``.
    """
    findings, ids = Findings(name), SessionIds(name)
    for item in records(source, name, WRAPPER):
        if isinstance(item, Line) and is_chat(item.value):
            yield from chat(item, findings, ids).drafts()
        elif isinstance(item, Line):
            yield from findings.limit(Finding(f"{name}.no-conversation", "warning", item.pointer, otherwise))
        elif isinstance(item, Finding):
            yield from findings.limit(item)
    yield from findings.close()
