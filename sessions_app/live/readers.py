"""Readers that wait: streams and long polls, counted by caller and by address, so that one cannot take all there are.

Counted in the memory of the web process, which is what they cost. Used from the thread of the event loop alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

TIMES_EACH_ADDRESS = 4
"""So many callers with all their readers may come from one address, which can be that of an office."""
RETRY_SECONDS = 15

_open: Counter[str] = Counter()


class Full(Exception):
    """One reader more than a caller, or an address, may have open."""

    @classmethod
    def of_caller(cls) -> Full:
        return cls(f"you have {settings.MAX_READERS} streams and long polls open, and may have no more; close some")

    @classmethod
    def of_address(cls) -> Full:
        most = settings.MAX_READERS * TIMES_EACH_ADDRESS
        return cls(f"your address has {most} streams and long polls open, and may have no more; close some")


def is_full(caller: str) -> bool:
    """Whether a caller may open no other reader now."""
    return _open[caller] >= settings.MAX_READERS


def check(caller: str, address: str) -> None:
    """Raises ``Full`` when one more would be too many."""
    if is_full(caller):
        raise Full.of_caller()
    if _open[f"address {address}"] >= settings.MAX_READERS * TIMES_EACH_ADDRESS:
        raise Full.of_address()


@contextmanager
def reading(caller: str, address: str) -> Iterator[None]:
    """Count a reader for the length of a ``with``."""
    names = (caller, f"address {address}")
    _open.update(names)
    try:
        yield
    finally:
        _open.subtract(names)
        for name in names:
            if _open[name] <= 0:
                del _open[name]


def count() -> int:
    """Readers that are open in this process."""
    return sum(number for name, number in _open.items() if name.startswith("address "))
