"""State of a session at the provider, from its events: the session object of the API has no stop reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .events import is_queued

Status = Literal["unknown", "running", "rescheduling", "idle", "waiting", "terminated"]
PLAIN: dict[str, Status] = {
    "session.status_running": "running",
    "session.status_rescheduled": "rescheduling",
    "session.status_terminated": "terminated",
    "session.deleted": "terminated",
}
STATUSES: Any = [*(kind for kind in PLAIN if kind != "session.deleted"), "session.status_idle"]
"""Types to ask for when none of them is among the latest events."""


@dataclass(slots=True)
class Remote:
    """The state. It is fed every event in the order of the API, also those that are in the log already."""

    status: Status = "unknown"
    waits_for: list[str] = field(default_factory=list)
    """Ids of the calls that the server itself says it waits for; only these can be answered."""
    message: str = ""
    """The message of this turn, once it is sent."""
    taken: bool = False
    """The message was taken up: when the session is idle after this, it has been answered."""
    done: bool = False
    interrupt: str = ""
    interrupted: bool = False
    """The interrupt was taken up: it stops nothing that is sent from now on."""

    def forget(self) -> None:
        """Reset the state, before the events are listed again from the beginning of the turn."""
        self.status, self.waits_for, self.taken, self.done = "unknown", [], False, False

    def sent(self, id_: str) -> None:
        self.message, self.taken, self.done = id_, False, False

    def feed(self, wire: dict[str, Any]) -> None:
        kind, id_ = wire.get("type"), wire.get("id")
        if id_ and not is_queued(wire) and id_ in (self.message, self.interrupt):
            self.taken |= id_ == self.message
            self.interrupted |= id_ == self.interrupt
        elif kind == "session.status_idle":
            self._become_idle(wire)
        elif kind in PLAIN:
            self.status, self.waits_for, self.done = PLAIN[str(kind)], [], False

    def _become_idle(self, wire: dict[str, Any]) -> None:
        reason = wire.get("stop_reason")
        reason = reason if isinstance(reason, dict) else {}
        waits = reason.get("type") == "requires_action"
        ids = reason.get("event_ids")
        self.status = "waiting" if waits else "idle"
        self.waits_for = [str(id_) for id_ in ids] if waits and isinstance(ids, list) else []
        self.done = not waits and self.taken
