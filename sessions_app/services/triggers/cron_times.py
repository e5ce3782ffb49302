"""The times of a cron expression in a time zone, as Debian's cron has them.

A job at fixed times (neither minute nor hour begins with ``*``) goes by what the clock shows: a time that the clock
leaps over is fired once, as soon as the clock goes on; a time that comes twice is fired the first time. A job that
repeats (``*`` or ``*/n`` in minute or hour) goes by the time that passes: it fires whenever the clock shows a time
that fits, so an hour that is missing is left out, and one that comes twice fires twice. (cron(8), Debian)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from sessions_app.phrases import gettext as _

from . import Refused

EXAMPLES = {
    "*/15 * * * *": _("every 15 minutes"),
    "0 9 * * MON-FRI": _("09:00 on working days"),
    "30 6 1 * *": _("06:30 on the first of the month"),
    "0 18 * * FRI": _("18:00 on Fridays"),
}
FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31 or L for the last",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT (0 and 7 are Sunday)",
}


class Invalid(Refused):
    """The expression or the zone means nothing; ``field`` is ``cron`` or ``timezone``."""


def checked(cron: str, timezone: str) -> tuple[str, str]:
    """Expression and zone as they are kept, the expression with single blanks. Raises ``Invalid`` with a sentence."""
    cron = " ".join(cron.split())
    next(times(cron, timezone, datetime.now(UTC)))
    return cron, timezone


def times(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Times after a moment, in UTC, each later than the one before it. Raises ``Invalid``.

    It ends when nothing comes for 50 years, which only happens beyond the first.
    """
    found_one = False
    for local in _simulated(cron, after.astimezone(_zone(timezone))):
        at = local.astimezone(UTC)
        if at > after:  # between the two halves of an hour that comes twice, cronsim answers with the first
            yield (after := at)
            found_one = True
    if not found_one:
        raise Invalid("cron", f'"{cron}" never comes in the next 50 years')


def upcoming(cron: str, timezone: str, after: datetime, count: int = 5) -> list[datetime]:
    """The next times in the zone itself, to be shown. Raises ``Invalid``."""
    zone = _zone(timezone)
    return [at.astimezone(zone) for at in islice(times(cron, timezone, after), count)]


def in_words(cron: str) -> str:
    """Description of an expression in English. Raises ``Invalid``."""
    return _simulated(cron, datetime.now(UTC)).explain()


def _simulated(cron: str, start: datetime) -> CronSim:
    parts = cron.split()
    if len(parts) != len(FIELDS):
        raise Invalid(
            "cron",
            f'"{cron[:80]}" has {len(parts)} field{"" if len(parts) == 1 else "s"}: use five, '
            'minute hour day-of-month month day-of-week, as in "0 9 * * MON-FRI"; there are no seconds',
        )
    try:
        return CronSim(cron, start)
    except CronSimError as error:
        raise Invalid("cron", _in_words(parts, str(error).removeprefix("Bad "))) from None


def _in_words(parts: list[str], field: str) -> str:
    part = dict(zip(FIELDS, parts, strict=True))[field]
    if field == "day-of-month" and _is_sound(part):
        return f'"{" ".join(parts)}" never comes: no month that it names has a day {part}'
    return f'the {field} "{part[:40]}" means nothing: use {FIELDS[field]}, lists (1,15), ranges (1-5) or steps (*/10)'


def _is_sound(day_of_month: str) -> bool:
    try:
        CronSim(f"0 0 {day_of_month} * *", datetime.now(UTC))
    except CronSimError:
        return False
    return True


def _zone(name: str) -> ZoneInfo:
    if name not in zones():
        near = get_close_matches(name, zones(), n=1, cutoff=0.7)
        meant = f"did you mean {near[0]}?" if near else "use a name like UTC, Europe/Berlin or America/New_York"
        raise Invalid("timezone", f'"{name[:60]}" is no time zone; {meant}')
    return ZoneInfo(name)


@cache
def zones() -> tuple[str, ...]:
    """The names of the IANA database, in order."""
    return tuple(sorted(available_timezones() - {"localtime", "Factory"}))
