"""Times of entries: read, inherited where an entry has none, and complained about once per kind."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ....drafts import Json
from ...common.times import NO_MOMENT, Moment, moment_of
from ..file import Notes, point, shown
from .steps import Step

FAULTS = {
    "zone": ("R8", "The time {} has no zone (RFC 3339 requires one); read as UTC."),
    "seconds": ("R65", "The time {} is too small for epoch milliseconds (VAC s3.1); read as seconds."),
    "form": ("R8", "The time {} is not written as RFC 3339 has it; read all the same."),
    "number": ("R8", "The time {} is a number, where a text after RFC 3339 belongs (core s2.2); read as epoch time."),
    "unreadable": ("R8", "{} is no time (RFC 3339 or epoch milliseconds); read as not stated."),
}


class Clock:
    """Reads times and reports what is wrong with them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def read(self, value: Json, pointer: str) -> Moment:
        """A time and its fault; the fault is reported here."""
        found = moment_of(value)
        if found.fault is not None:
            self._report_fault(found, value, pointer)
        return found

    def _report_fault(self, found: Moment, value: Json, pointer: str) -> None:
        rule, message = FAULTS[found.fault or ""]
        self._notes.warn(rule, pointer, message.format(shown(value)), found.fault or "")

    def date(self, value: Json, pointer: str) -> Moment:
        """A time of the vCon itself: numbers are no times there, as they are in a trace (VAC s3.1)."""
        if type(value) not in (int, float):
            return NO_MOMENT if value in ([], {}) else self.read(value, pointer)
        found = moment_of(value)
        rule, message = FAULTS["number" if found.at else "unreadable"]
        self._notes.warn(rule, pointer, message.format(shown(value)), rule)
        return found

    def assign_time(self, step: Step, entry: dict[str, Any], inherited: datetime | None) -> None:
        """Set the step's time. An entry inside another inherits its time, and says so."""
        stated = entry.get("timestamp")
        if stated is None:
            step.at = inherited
            if inherited is not None:
                step.data["time_inherited"] = True
            return
        step.at, _, plain = self.read(stated, point(step.pointer, "timestamp"))
        if not plain:
            step.for_writer["timestamp"] = stated
