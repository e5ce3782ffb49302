"""Counters of this process, for ``/metrics``: how often something happened since it began."""

from __future__ import annotations

import logging
import threading
from collections import Counter

_lock = threading.Lock()
_counts: Counter[str] = Counter()


def add(name: str, number: int = 1) -> None:
    """Count something. A negative ``number`` is for what also ends, as an open stream does."""
    with _lock:
        _counts[name] += number


def snapshot() -> dict[str, int]:
    """All counters as they stand."""
    with _lock:
        return dict(_counts)


class ErrorCounter(logging.Handler):
    """Counts what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        add("errors")
