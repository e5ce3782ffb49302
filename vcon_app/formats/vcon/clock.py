"""Times of entries: read, inherited where an entry has none, and complained about once per kind."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...drafts import Json
from .notes import Notes, point, shown
from .steps import Step
from .times import Moment, moment, render

FAULTS = {
    "zone": ("R8", "The time {} has no zone (RFC 3339 requires one); read as UTC."),
    "seconds": ("R65", "The time {} is too small for epoch milliseconds (VAC s3.1); read as seconds."),
    "unreadable": ("R8", "{} is no time (RFC 3339 or epoch milliseconds); read as not stated."),
}


class Clock:
    """Reads times and reports what is wrong with them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def read(self, value: Json, pointer: str) -> Moment:
        """A time and its fault; the fault is reported here."""
        found = moment(value)
        if found.fault is not None:
            rule, message = FAULTS[found.fault]
            self._notes.warn(rule, pointer, message.format(shown(value)), found.fault)
        return found

    def place(self, step: Step, entry: dict[str, Any], inherited: datetime | None) -> None:
        """Set the step's time. An entry inside another inherits its time, and says so."""
        stated = entry.get("timestamp")
        if stated is None:
            step.at = inherited
            if inherited is not None:
                step.data["time_inherited"] = True
            return
        step.at = self.read(stated, point(step.pointer, "timestamp")).at
        if step.at is None or stated != render(step.at):
            step.left["timestamp"] = stated
