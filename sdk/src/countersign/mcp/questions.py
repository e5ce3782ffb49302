"""Questions that wait at the desk while their client is given something else in place of a result."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from ..answers import Decision
from ..canonical import canonical
from .messages import Json

MOST = 1_000
"""Questions that a client may come back to; the oldest are forgotten, and what is forgotten does not run."""


class Waiting:
    """A question in a thread of its own. ``params``: those of the call as it came first, with its arguments.

    ``ask`` is given what to call when a person has to decide.
    """

    def __init__(self, params: Json, ask: Callable[[Callable[[Decision], None]], Decision]) -> None:
        self.params, self.pending = params, ""
        """``pending``: id of the approval that a person has to decide."""
        self._about = _about(params)
        self._ask, self._decision, self._decided = ask, Decision("failed", "nobody was asked"), threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def is_about(self, params: Json) -> bool:
        """Whether this is the same call of the same tool."""
        return self._about == _about(params)

    def wait(self, seconds: float | None) -> Decision | None:
        """The decision; None where the time was up first."""
        return self._decision if self._decided.wait(seconds) else None

    def _run(self) -> None:
        try:
            self._decision = self._ask(self._note_pending)
        finally:
            self.pending = ""
            self._decided.set()

    def _note_pending(self, decision: Decision) -> None:
        self.pending = decision.approval_id


class Decided:
    """In place of a question: a call that goes on under the decision that it began with."""

    pending = ""

    def __init__(self, params: Json, decision: Decision) -> None:
        self.params, self._decision, self._about = params, decision, _about(params)

    def is_about(self, params: Json) -> bool:
        return self._about == _about(params)

    def wait(self, seconds: float | None) -> Decision | None:
        return self._decision


class ComingBack:
    """What a ``requestState`` stands for. Each is taken once, and only for the call that it was given for."""

    def __init__(self) -> None:
        self._kept: dict[str, Waiting | Decided] = {}
        self._changing = threading.Lock()

    def add(self, what: Waiting | Decided, state: str = "") -> str:
        """The state that names it: one that nobody can guess, or that of a server."""
        state = state or secrets.token_urlsafe(24)
        with self._changing:
            self._kept[state] = what
            while len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
        return state

    def take(self, params: Json) -> Waiting | Decided | None:
        """None for a state that is not known here. Raises ``LookupError`` for one that was given for another call."""
        state = params.get("requestState")
        with self._changing:
            found = self._kept.pop(state, None) if isinstance(state, str) else None
        if found and not found.is_about(params):
            raise LookupError("this requestState was given for another call")
        return found

    def left(self) -> list[Waiting | Decided]:
        """What nobody has come back for."""
        with self._changing:
            return list(self._kept.values())

    def never_made(self) -> list[Decision]:
        """Decisions that a call may be made, of calls that nobody came back for."""
        with self._changing:
            decided = {state: one.wait(0) for state, one in self._kept.items() if isinstance(one, Waiting)}
            self._kept = {state: one for state, one in self._kept.items() if decided.get(state) is None}
        return [decision for decision in decided.values() if decision is not None and decision.allowed]


def _about(params: Json) -> tuple[Any, str]:
    """Of a call that is none the arguments are compared as they are written: it is refused later."""
    try:
        return params.get("name"), canonical(params.get("arguments", {}))
    except (ValueError, RecursionError):
        return params.get("name"), repr(params.get("arguments"))
