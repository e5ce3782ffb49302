"""Which events of a session are out of sight, read from its end as far as somebody goes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
LAST = 2**31 - 1


class OutOfSight:
    """``read(before)`` answers spans that begin before an event, the last first (``GET …/pruned``)."""

    def __init__(self, read: Callable[[int], Json], *, shows_all: bool = False) -> None:
        """``shows_all``: as if nothing were out of sight."""
        self._read = read
        first = read(LAST)
        self.last_seq = int(first["last_seq"])
        self._spans: list[Json] = [] if shows_all else list(first["spans"])
        self._more = bool(first["more"]) and not shows_all
        self._summary = None if shows_all else first["summary"]
        self._through = int(first["summary_seq"] or 0)

    @property
    def summary(self) -> Json | None:
        """What stands in place of what is out of sight, as if it were an event of the system at its last place."""
        if not self._summary:
            return None
        actor = {"kind": "system", "name": None}
        return {"seq": self._through, "kind": "system", "text": self._summary, "at": None, "actor": actor, "data": {}}

    def holds(self, seq: int) -> bool:
        """Whether an event is out of sight."""
        return self.before(seq) != seq

    def before(self, seq: int) -> int:
        """The event, or the next one before it that is in sight; 0 where none is."""
        while self._more and self._spans and self._spans[-1]["first_seq"] > seq:
            found = self._read(int(self._spans[-1]["first_seq"]))
            self._spans += found["spans"]
            self._more = bool(found["more"])
        for span in self._spans:
            if span["first_seq"] <= seq <= span["last_seq"]:
                return int(span["first_seq"]) - 1
        return seq
