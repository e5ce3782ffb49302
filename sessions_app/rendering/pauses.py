"""The time between two turns, where it is told: a session was resumed, or went on on another day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

LONG = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pause:
    """The time that passed before a turn began. ``length``: None where it was short, and only the day is another."""

    until: datetime
    length: timedelta | None
    is_new_day: bool
    """By the zone of the times."""


def between(since: datetime | None, until: datetime | None) -> Pause | None:
    """From the end of a turn to the beginning of the next, in the zone of the reader.

    None where there is nothing to tell, or where the recorder wrote that the next began before the one above it ended.
    """
    if since is None or until is None or until <= since:
        return None
    length = until - since if until - since >= LONG else None
    is_new_day = since.date() != until.date()
    return Pause(until, length, is_new_day) if length or is_new_day else None
