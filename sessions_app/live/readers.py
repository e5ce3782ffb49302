"""Readers that wait: streams and long polls, counted by caller and by address, so that one cannot take all there are.

Counted in the memory of the web process, which is what they cost. Used from the thread of the event loop alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import Error

from .threads import in_thread

log = logging.getLogger(__name__)

TIMES_EACH_ADDRESS = 4
"""So many callers with all their readers may come from one address, which can be that of an office."""
RETRY_SECONDS = 15
CHECK_SECONDS = 5.0
"""So long somebody whose key was revoked or has expired, or who is no member any more, may go on reading what comes."""

_open: Counter[str] = Counter()
_gone: set[str] = set()
_check: asyncio.Task[None] | None = None


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
    """Count a reader for the length of a ``with``, and look meanwhile whether it may still read: see ``is_gone``."""
    global _check
    names = (caller, f"address {address}")
    _open.update(names)
    _gone.discard(caller)  # it was let in just now
    if _check is None or _check.done():
        _check = asyncio.create_task(_look_for_gone())
    try:
        yield
    finally:
        _open.subtract(names)
        for name in names:
            if _open[name] <= 0:
                del _open[name]
        if not _open:
            _gone.clear()
            _check.cancel()
            _check = None


def is_gone(caller: str) -> bool:
    """Whether a caller that has readers here would not be let in any more."""
    return caller in _gone


async def _look_for_gone() -> None:
    """Ask for all callers together, for as long as there are some."""
    from sessions_app.queries import callers  # the gate imports this before Django has loaded its models

    while True:
        await asyncio.sleep(CHECK_SECONDS)
        asked = {name for name in _open if not name.startswith("address ")}
        try:
            _gone.update(await in_thread(callers.gone, asked))
        except (Error, RuntimeError) as error:  # no connection, or no thread: the next look tells
            log.warning("whether readers may still read is not known: %s", str(error).strip())


def count() -> int:
    """Readers that are open in this process."""
    return sum(number for name, number in _open.items() if name.startswith("address "))
