"""Forks and sub-agents with their parent's history begin with a copy of it, under new timestamps.

What tells the copy from the new is the id of each turn: since about 0.95 it is a version 7 UUID, which begins
with the millisecond it was made in. A turn that is older than the session it stands in was copied into it. Without
such ids times tell: copies are written in one go when the file is made (ccusage#1371), or keep times from before it
(ccusage#1460).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ..common.times import parse
from ..common.values import dict_of, text_of

MARKERS = frozenset({"task_started", "turn_started"})
GAP = 1000
"""Milliseconds without a line that end what was written in one go."""
CREATION = 60_000
"""Milliseconds between the id of a file and its first line; where they are further apart one of them is made up."""


class Replay:
    """Whether the lines that go by are a copy of the parent's."""

    def __init__(self) -> None:
        self.parent = ""
        self.lines = 0
        self._session = ""
        self._began: int | None = None
        self._last: int | None = None
        """Time of the latest line of the copy while it is written; ``None`` when times cannot tell, or it ended."""
        self._timed = False
        """Whether times tell the copy from the new, until a turn with a time in its id does."""
        self._own = self._copied = False
        """The file's own ``session_meta`` was seen; the lines now are the parent's."""

    def note_session(self, session: str) -> None:
        """Take the file's own id."""
        self._session = session

    def begin(self, timestamp: Any, parent: str, written: datetime | None, *, whole: bool) -> None:
        """Start: the file goes on from ``parent``. Its time of creation is that in its id, else its first time.

        ``written`` is the time of the line that says so; ``whole``: it begins with the parent's history for sure.
        """
        at = parse(timestamp)[0] or written
        self.parent = parent[:200]
        self._began = _time_of_uuid7(self._session) or (_milliseconds(at) if at else None)
        if written and self._began is not None and abs(_milliseconds(written) - self._began) <= CREATION:
            self._last, self._timed = _milliseconds(written), whole

    def is_copied(self, kind: str, payload: dict[str, Any], at: datetime | None) -> bool:
        """Whether this line, written at ``at``, is copied. To be asked for each line, in order."""
        if kind == "session_meta":
            return self._meta(payload, at)
        if self._began is None:
            return False
        if (turn := _turn(kind, payload)) is not None and (made := _time_of_uuid7(turn)) is not None:
            # Copies get new timestamps, but keep their turn ids, which are UUIDs with the time of making.
            self._copied, self._timed = made < self._began, False
        elif self._timed and at is not None:
            self._copied = self._is_of_then(_milliseconds(at))
        elif turn is not None:
            self._copied = False
        self.lines += self._copied
        return self._copied

    def _meta(self, payload: dict[str, Any], at: datetime | None) -> bool:
        """The second ``session_meta`` is the parent's, so what follows it is a copy; one alone is the file's own.

        Versions before ``forked_from_id`` say nothing else: there the second must be of an older session.
        """
        if self._own and self._began is None:
            other = text_of(payload.get("id"))
            made, own = _time_of_uuid7(other), _time_of_uuid7(self._session)
            near = at is not None and own is not None and abs(_milliseconds(at) - own) <= CREATION
            if made is not None and own is not None and made < own and near:
                self.begin(None, other, at, whole=True)
        if self._own and at is not None:
            self._is_of_then(_milliseconds(at))
        # Where times tell, a copy that ends before a turn begins is known by them.
        self._timed |= self._own and self._last is not None
        self._copied, self._own = self._own and self._began is not None, True
        return False

    def _is_of_then(self, at: int) -> bool:
        """Whether a line of this time is of the copy: older than the file, or written in one go with its beginning."""
        if self._began is not None and at < self._began - GAP:
            return True
        # No model answers within a second of the creation of its thread; a copy has about 50 ms for all lines.
        if self._last is None or not abs(at - self._last) < GAP:
            self._last = None
            return False
        self._last = at
        return True


def _turn(kind: str, payload: dict[str, Any]) -> str | None:
    """The turn that begins or is named with this line; ``""`` for one without an id, as old versions have it."""
    if kind == "turn_context" or (kind == "event_msg" and text_of(payload.get("type")) in MARKERS):
        return text_of(payload.get("turn_id"))
    passed = dict_of(payload.get("internal_chat_message_metadata_passthrough"))
    return text_of(passed.get("turn_id")) or None


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _time_of_uuid7(identifier: str) -> int | None:
    """Milliseconds since 1970 in a version 7 UUID (RFC 9562 section 5.7), else ``None``."""
    try:
        value = UUID(identifier)
    except ValueError:
        return None
    # The first 48 of 128 bits are the milliseconds.
    return value.int >> 80 if value.version == 7 else None
