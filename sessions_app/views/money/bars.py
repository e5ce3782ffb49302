"""The bars of a picture: the days of a period, or the months of one that is too long to tell its days apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, timedelta

from django.utils import timezone

from sessions_app.queries.money.days import month_after
from sessions_app.queries.money.usage import Period, Used

from .usage_filter import Asked

LONG = 92
"""Days: the longest quarter. A bar of each is 8 px wide on a laptop; of two years it would be one."""
MOST_MONTHS = 120
"""Of the picture, the latest: ten years."""
MOST_ROWS = 1_200
"""Days or months that are read at most: a hundred years."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Bars:
    """From the first to the last day of a period; ``part`` is day or month."""

    part: str
    first: date
    last: date

    @classmethod
    def of(cls, part: str, asked: Asked, used: list[Used]) -> Bars:
        """From the beginning of the period, or the first usage, to its end, today or the last usage."""
        days = [date.fromisoformat(each.name) for each in used if each.name]
        last = _last(asked)
        if not asked.until:
            last = max([last, *days])
        first = asked.since.date() if asked.since else min(days, default=last)
        if part == "month":
            months = last.year * 12 + last.month - MOST_MONTHS
            first = max(first, date(max(months // 12, 1), months % 12 + 1, 1))
        return cls(part, min(first, last), last)

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def starts(self) -> list[date]:
        """The first day of each day or month."""
        if self.part == "day":
            return [self.first + number * DAY for number in range(self.days)]
        found = [self.first.replace(day=1)]
        while (following := month_after(found[-1])) <= self.last and following != date.max:
            found.append(following)
        return found

    def start(self, day: date) -> str:
        """The bar that a day is in, as it is named."""
        return f"{day if self.part == 'day' else day.replace(day=1)}"

    def end(self, start: date) -> date:
        """The day after a bar."""
        if self.part == "month":
            return month_after(start)
        return start + DAY if start < date.max else start


def read(asked: Asked, period: Period) -> tuple[Bars, list[Used]]:
    """The bars of a period, and what was used in each, the latest first."""
    is_short = asked.since is not None and (_last(asked) - asked.since.date()).days < LONG
    bars, used = _read("day" if is_short else "month", asked, period)
    if (bars.part == "day") != (bars.days <= LONG):
        return _read("month" if bars.part == "day" else "day", asked, period)
    return bars, used


def _read(part: str, asked: Asked, period: Period) -> tuple[Bars, list[Used]]:
    used, _ = period.ranked(part, limit=MOST_ROWS)
    return Bars.of(part, asked, used), used


def _last(asked: Asked) -> date:
    if asked.until:
        return (asked.until - timedelta(microseconds=1)).date()
    return timezone.now().astimezone(UTC).date()
