"""Forks and sub-agents with their parent's history begin with a copy of it, under new timestamps.

What tells the copy from the new is the id of each turn: since about 0.95 it is a version 7 UUID, which begins
with the millisecond it was made in. A turn that is older than the session it stands in was copied into it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ..common.times import parse
from ..common.values import dict_of, text_of

MARKERS = frozenset({"task_started", "turn_started"})


class Replay:
    """Whether the lines that go by are a copy of the parent's."""

    def __init__(self) -> None:
        self.parent = ""
        self.lines = 0
        self._began: int | None = None
        self._own = self._copied = False
        """The file's own ``session_meta`` was seen; behind a second one, of the parent, lines are copied."""

    def begin(self, session: str, timestamp: Any, parent: str) -> None:
        """Start: the file goes on from ``parent``. Its time of creation is that in its id, else its first time."""
        at, _ = parse(timestamp)
        self.parent = parent[:200]
        self._began = _time_of_uuid7(session) or (int(at.timestamp() * 1000) if at else None)

    def is_copied(self, kind: str, payload: dict[str, Any]) -> bool:
        """Whether this line is copied. To be asked for each line, in order."""
        if self._began is None:
            return False
        # The second session_meta is the parent's, so what follows it is a copy; one alone is the file's own.
        if kind == "session_meta":
            self._copied, self._own = self._own, True
            return False
        if (turn := _turn(kind, payload)) is not None:
            # Copies get new timestamps, but keep their turn ids, which are UUIDs with the time of making.
            made = _time_of_uuid7(turn)
            self._copied = made is not None and made < self._began
        self.lines += self._copied
        return self._copied


def _turn(kind: str, payload: dict[str, Any]) -> str | None:
    """The turn that begins or is named with this line; ``""`` for one without an id, as old versions have it."""
    if kind == "turn_context" or (kind == "event_msg" and text_of(payload.get("type")) in MARKERS):
        return text_of(payload.get("turn_id"))
    passed = dict_of(payload.get("internal_chat_message_metadata_passthrough"))
    return text_of(passed.get("turn_id")) or None


def _time_of_uuid7(identifier: str) -> int | None:
    """Milliseconds since 1970 in a version 7 UUID (RFC 9562 section 5.7), else ``None``."""
    try:
        value = UUID(identifier)
    except ValueError:
        return None
    # The first 48 of 128 bits are the milliseconds.
    return value.int >> 80 if value.version == 7 else None
