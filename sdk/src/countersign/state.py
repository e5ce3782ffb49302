"""What an agent keeps under keys, each with a version: of a session, of its user, of the app; and of a step alone.

The three that the desk keeps are written at once, not by the spool: a value that is not kept raises.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlencode

Scope = Literal["session", "user", "app", "temp"]
SCOPES = ("session", "user", "app", "temp")
BRIEF = 10.0
"""Seconds for an answer, for the program waits."""
TRIES = 20
PAUSE, LONGEST = 0.01, 0.5
"""Seconds that a writer who was too late waits at most: twice as long after each try."""


class DeskError(Exception):
    """What was asked of the desk did not come; ``status`` is 0 where it did not answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}" if status else detail)
        self.status = status


class NotSent(DeskError):
    """What would be read lacks what this program recorded before; ``waiting`` is how many events of the session."""

    def __init__(self, waiting: int, fault: str) -> None:
        why = f": {fault}" if fault else ""
        super().__init__(
            0, f"the desk has not got {waiting:,} event(s) that were recorded in this session before; they are kept, "
            f"and sent as soon as it takes them: flush(), and read again{why}"
        )  # fmt: skip
        self.waiting = waiting


class StateConflict(DeskError):
    """Somebody else wrote the value since this program read it. Read it again, or use ``update_state``."""


class State:
    """The state of a session, for both kinds of session. None of it needs ``await``; each call is one exchange."""

    def __init__(self) -> None:
        self._temp: dict[str, Any] = {}
        self._versions: dict[tuple[str, str], int] = {}

    def set_state(
        self, key: str, value: Any, scope: Scope = "session", *, if_version: int | None = None,
        embedding: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Keep a JSON value, and answer its version.

        A key that this session object has read or written is written only if nobody else wrote it since
        (``StateConflict``); another key is written whatever stands there, unless ``if_version`` says otherwise (0: only
        where there is none). ``embedding`` (``{"model", "vector"}``) is what a search compares. Raises ``DeskError``,
        ``TypeError`` or ``ValueError`` for what is no JSON.
        """
        scope, key = _place(scope, key)
        written = json.dumps(value, allow_nan=False)
        if scope == "temp":
            self._temp[key] = json.loads(written)
            return 0
        known = self._versions.get((scope, key)) if if_version is None else if_version
        body = f'{{"scope": {json.dumps(scope)}, "key": {json.dumps(key)}, "value": {written}'
        body += f', "if_version": {known}' if known is not None else ""
        body += f', "embedding": {json.dumps(embedding)}}}' if embedding else "}"
        kept = self._state("PUT", scope, key, body=body.encode())
        self._versions[scope, key] = int(kept["version"])
        return int(kept["version"])

    def get_state(self, key: str, default: Any = None, scope: Scope = "session") -> Any:
        """The value, a copy, or ``default``. Raises ``DeskError``."""
        scope, key = _place(scope, key)
        if scope == "temp":
            return copy.deepcopy(self._temp.get(key, default))
        found = self._state("GET", scope, key, f"?{urlencode({'scope': scope, 'key': key})}")["items"]
        self._versions[scope, key] = int(found[0]["version"]) if found else 0
        return found[0]["value"] if found else default

    def update_state(
        self, key: str, change: Callable[[Any], Any], scope: Scope = "session", default: Any = None, *,
        embedding: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Keep what ``change`` makes of the value, as often as it takes until nobody wrote in between; the new value.

        Raises ``StateConflict`` where it was too late 20 times.
        """
        for tried in range(TRIES):
            changed = change(self.get_state(key, default, scope))
            try:
                self.set_state(key, changed, scope, embedding=embedding)
                return changed
            except StateConflict:
                if tried == TRIES - 1:
                    raise
                time.sleep(random.uniform(0, min(PAUSE * 2**tried, LONGEST)))  # many at once would meet again
        raise AssertionError

    def delete_state(self, key: str, scope: Scope = "session") -> bool:
        """Forget a value; whether there was one. Raises ``StateConflict`` as ``set_state`` does."""
        scope, key = _place(scope, key)
        if scope == "temp":
            return self._temp.pop(key, self) is not self
        known = self._versions.get((scope, key))
        query = {"scope": scope, "key": key} | ({"if_version": str(known)} if known else {})
        deleted = self._state("DELETE", scope, key, f"?{urlencode(query)}")["deleted"]
        self._versions.pop((scope, key), None)
        return bool(deleted)

    def clear_state(self) -> None:
        """The conversation is over: forget what was kept for it, and for this step. Of user and app all stays."""
        self._temp.clear()
        self._state("DELETE", "session", "", "?scope=session")
        self._versions = {place: version for place, version in self._versions.items() if place[0] != "session"}

    def search_state(
        self, words: str, scope: Scope = "user", limit: int = 10, *, prefix: str = "",
        embedding: dict[str, Any] | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Values of keys with a prefix, the best first: ``{key, value, version, at, by, method, score}``.

        Those that say any of the words (``method``: ``full text``); with an ``embedding`` of them the nearest
        (``pgvector``), where the desk's database has it.
        """
        wanted = {"scope": scope, "q": words, "limit": limit, "prefix": prefix, "embedding": embedding}
        body = json.dumps({name: value for name, value in wanted.items() if value is not None}).encode()
        found: list[dict[str, Any]] = self._state("POST", scope, "", "/search", body)["items"]
        return found

    def _state(self, method: str, scope: str, key: str, query: str = "", body: bytes | None = None) -> dict[str, Any]:
        path = f"/api/v1/sessions/{self._opened()}/state{query}"
        try:
            answer = json.loads(self._exchange(method, path, body, BRIEF))
        except DeskError as error:
            if error.status != 409 or '"version"' not in str(error):
                raise
            self._versions.pop((scope, key), None)
            raise StateConflict(409, f'"{key}" was changed by somebody else since it was read') from None
        if not isinstance(answer, dict):
            raise DeskError(0, "what answers there is no desk")
        return answer

    def _opened(self) -> str:
        raise NotImplementedError

    def _exchange(self, method: str, path: str, body: bytes | None = None, timeout: float = BRIEF) -> bytes:
        raise NotImplementedError


def _place(scope: str, key: str) -> tuple[Any, str]:
    """Scope and key; ``user:x`` is ``x`` in the scope of the user."""
    prefix, colon, rest = key.partition(":")
    if colon and scope == "session" and prefix in ("user", "app", "temp"):
        scope, key = prefix, rest
    if scope not in SCOPES:
        raise ValueError(f'"{scope}" is no scope: use {", ".join(SCOPES)}')
    if not key:
        raise ValueError("a key has at least one character")
    return scope, key
