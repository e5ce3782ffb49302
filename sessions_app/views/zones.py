"""Times as the clock of the reader shows them. Their zone is the active one; without one it is UTC.

A browser says its zone in a cookie (``static/js/desk.js``, ``config.middleware.reader_zone``). Whatever leaves the desk
stays in UTC.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.utils import timezone

LONGEST = 64


@lru_cache(maxsize=1024)
def zone_named(name: str) -> ZoneInfo | None:
    """The zone of this name, as ``Europe/Berlin``; None where there is none."""
    if not name.isascii() or len(name) > LONGEST or name in ("localtime", "Factory"):
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # a folder; a path that leads elsewhere; no such zone, or none at all
        return None


def name() -> str:
    """Name of the reader's zone."""
    return timezone.get_current_timezone_name()


def local(at: datetime) -> datetime:
    """The same moment by the reader's clock."""
    return at.astimezone(timezone.get_current_timezone())


def offset(at: datetime) -> str:
    """``+02:00``: how far the reader's clock is from UTC at that moment; ``UTC`` where it is UTC itself."""
    return _offset(local(at))


def exact(at: datetime, *, milliseconds: bool = False) -> str:
    """``2026-03-02 09:12:04 +01:00``."""
    return exact_local(local(at), milliseconds=milliseconds)


def exact_local(here: datetime, *, milliseconds: bool = False) -> str:
    """The same of a moment by the reader's clock already: each row of a session has one."""
    told = f"{here:%Y-%m-%d %H:%M:%S.%f}"[: -3 if milliseconds else -7]
    return f"{told} {_offset(here)}"


def _offset(here: datetime) -> str:
    zone = here.tzinfo
    if zone is not None and (zone.tzname(None) or str(zone)) == "UTC":
        return "UTC"
    told = f"{here:%z}"
    return f"{told[:3]}:{told[3:5]}"


def minute(at: datetime) -> str:
    """``2026-03-02 09:12 CET``: for sentences, where no column says the zone."""
    return f"{local(at):%Y-%m-%d %H:%M} {abbreviation(at)}"


def abbreviation(at: datetime) -> str:
    """``CET``; ``UTC+03:30`` for zones whose clocks have only a number."""
    told = local(at).tzname() or ""
    return told if told[:1].isalpha() else f"UTC{offset(at)}"
