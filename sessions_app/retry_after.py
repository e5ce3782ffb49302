"""``Retry-After`` of an answer (RFC 9110, section 10.2.3): when a server that is busy wants to be asked again."""

from __future__ import annotations

import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

MOST = 30 * 86_400.0
"""Seconds, a month: who asks waits less, but ``float`` reads 400 digits as infinite, and no clock goes so far."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)


def seconds(said: str) -> float | None:
    """Seconds from now, from 0 to ``MOST``: said as a number (of some servers a fraction) or a date. None: neither."""
    if _NUMBER.fullmatch(said):
        return min(float(said), MOST)
    try:
        at = parsedate_to_datetime(said)
        return max(0.0, min((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - time.time(), MOST))
    except (ValueError, OverflowError):  # the second of a year or a zone with twenty digits
        return None
