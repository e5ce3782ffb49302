"""Times as vCons and agent traces write them: RFC 3339 text, or epoch numbers (VAC-00 s3.1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from ...drafts import Json

SECONDS_BELOW = 10**11
"""Integers below this are read as seconds: VAC s3.1 says milliseconds, s2.2.2 says POSIX seconds."""


class Moment(NamedTuple):
    """A time as understood, and what was wrong with it: "zone", "seconds" or "unreadable"."""

    at: datetime | None
    fault: str | None = None


NOTHING = Moment(None)


def moment(value: Json) -> Moment:
    """Read a time. Never raises; without a zone it is read as UTC and says so."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return Moment(None, "unreadable")


def _from_text(value: str) -> Moment:
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        try:
            at = datetime.fromisoformat(value.strip().upper())
        except ValueError:
            return Moment(None, "unreadable")
    if at.tzinfo is None:
        return Moment(at.replace(tzinfo=UTC), "zone")
    try:
        return Moment(at.astimezone(UTC))
    except OverflowError:
        return Moment(None, "unreadable")


def _from_number(value: int | float) -> Moment:
    seconds = abs(value) < SECONDS_BELOW
    try:
        at = datetime.fromtimestamp(value if seconds else value / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return Moment(None, "unreadable")
    return Moment(at, "seconds" if seconds else None)


def render(at: datetime) -> str:
    """RFC 3339 in UTC with ``Z``; a fraction only when there is one (core s2.2, RFC 8620 s1.4)."""
    text = at.astimezone(UTC).replace(tzinfo=None)
    if not text.microsecond:
        return text.isoformat(timespec="seconds") + "Z"
    return text.isoformat(timespec="microseconds" if text.microsecond % 1000 else "milliseconds") + "Z"
