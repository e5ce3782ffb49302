"""External ids of the sessions in one file: an id that comes again behind another session is another session."""

from __future__ import annotations

from collections.abc import Iterator

from ...drafts import Finding
from .calls import ID_LIMIT


class SessionIds:
    """Tells sessions of one file apart. A reader of many sessions must not go back to an earlier one."""

    def __init__(self, name: str) -> None:
        """``name`` is the format's, with which the rule of the finding begins."""
        self._name = name
        self._counts: dict[str, int] = {}
        self.current = ""

    def begin(self, id: str, pointer: str) -> Iterator[Finding]:
        """Make ``current`` the id of the session that begins here; tells when it was there before."""
        id = id[:ID_LIMIT]
        count = self._counts[id] = self._counts.get(id, 0) + 1
        self.current = id if count == 1 else f"{id}#{count}"
        if count > 1:
            message = f"session {id[:60]} comes again behind others; kept apart as {self.current[-60:]}"
            yield Finding(f"{self._name}.repeated-session", "warning", pointer, message)
