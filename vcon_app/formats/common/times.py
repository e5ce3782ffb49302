"""Times as files state them and as we write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from .values import shown


def parse(value: Any) -> tuple[datetime | None, str]:
    """An ISO 8601 time in UTC, and what had to be assumed ("" when nothing): ``(None, reason)`` when it is none."""
    if not isinstance(value, str) or not value:
        return None, f"{shown(value)!r} is not a time"
    try:
        # Not ciso8601: 0.2 µs for 0.3, of the 20 that an event takes, and it knows leap seconds no better.
        moment = datetime.fromisoformat(value)
        assumed = "" if moment.tzinfo else f"{value!r} states no zone; read as UTC"
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC), assumed
    except (ValueError, OverflowError):
        return None, f"{value[:60]!r} is not a time"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_epoch(value: Any, per_second: int) -> datetime | None:
    """A count of seconds (``per_second`` 1), milliseconds (1,000) and so on since 1970; ``None`` when it is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return EPOCH + timedelta(seconds=value / per_second) if value > 0 else None
    except (OverflowError, ValueError):
        return None


def rfc3339(moment: datetime) -> str:
    """``2026-05-01T09:12:00Z``; parts of a second only where there are any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
