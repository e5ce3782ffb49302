"""The time of an event, as text."""

from __future__ import annotations

import time

_second = (0, "")


def now() -> str:
    """UTC, RFC 3339, to the microsecond. A second's date is written once: that was a fifth of recording an event."""
    global _second
    second, rest = divmod(time.time_ns(), 1_000_000_000)
    known, text = _second
    if known != second:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        _second = second, text
    return f"{text}.{rest // 1000:06}+00:00"
