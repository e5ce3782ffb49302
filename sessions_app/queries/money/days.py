"""The whole days and months of a period, and its first and last day where it begins or ends within one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

MONTH = timedelta(days=32)


@dataclass(frozen=True, slots=True)
class Days:
    """The whole days of a period, from ``first`` to before ``end`` (None: no limit), and its parts of days."""

    first: date | None
    end: date | None
    edges: tuple[tuple[datetime, datetime | None], ...]

    @classmethod
    def of(cls, since: datetime | None, until: datetime | None) -> Days:
        since, until = (moment and moment.astimezone(UTC) for moment in (since, until))
        try:
            first = since and (since.date() if _is_midnight(since) else since.date() + timedelta(days=1))
        except OverflowError:  # within the last day of the calendar
            first = None
        end = until.date() if until else None
        if since and (first is None or (end and first > end)):
            return cls(date.min, date.min, ((since, until),))
        left = [(since, _midnight(first))] if since and first and not _is_midnight(since) else []
        right = [(_midnight(end), until)] if until and end and not _is_midnight(until) else []
        return cls(first, end, (*left, *right))

    @property
    def is_empty(self) -> bool:
        return self.first is not None and self.end is not None and self.first >= self.end

    def spans(self, part: str = "", *, by_tag: bool = False) -> list[tuple[str, date | None, date | None]]:
        """Spans of totals (day, month or ever) with their bounds, which together are the whole days.

        ``part``: day or month, where each of them is wanted by itself.
        """
        if self.is_empty:
            return []
        if self.first is None and self.end is None and not part and not by_tag:
            return [("ever", None, None)]
        month = self.first if self.first is None or self.first.day == 1 else month_after(self.first)
        last = self.end and self.end.replace(day=1)
        if part == "day" or (month and last and month >= last):
            return [("day", self.first, self.end)]
        days = [("day", self.first, month), ("day", last, self.end)]
        return [("month", month, last), *(span for span in days if span[1] != span[2])]


def _is_midnight(moment: datetime) -> bool:
    return moment.time() == time()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def month_after(day: date) -> date:
    """The first day of the next month."""
    try:
        return (day.replace(day=1) + MONTH).replace(day=1)
    except OverflowError:  # there is none: all that is left are days
        return date.max
