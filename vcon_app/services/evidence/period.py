"""A period of a workspace, and its audit entries: page by page, so that a month of them takes no memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Max, Min

from sessions_app.models import AuditEntry

PAGE = 1_000
LONG_AGO, FAR_AHEAD = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


class NoPeriod(ValueError):
    """Two moments make no period; the message says why."""


@dataclass(frozen=True, slots=True)
class Period:
    """From a moment to another, which does not belong to it any more."""

    start: datetime = LONG_AGO
    end: datetime = FAR_AHEAD

    def __post_init__(self) -> None:
        if self.start >= self.end:
            first, last = f"{self.start:%Y-%m-%d %H:%M}", f"{self.end:%Y-%m-%d %H:%M}"
            raise NoPeriod(f"the period ends ({last}) before it begins ({first})")


def of_days(first: date, last: date) -> Period:
    """Whole days in UTC, the last one as well. Raises ``NoPeriod``."""
    if first > last:
        raise NoPeriod(f"the period ends on {last}, before it begins on {first}")
    midnight = datetime.combine(first, time(), UTC)
    return Period(midnight, datetime.combine(last, time(), UTC) + timedelta(days=1))


def bounds(workspace_id: UUID, period: Period) -> tuple[int, int] | None:
    """Numbers of the first and the last audit entry of a period; None without any.

    What lies between them belongs to it, whatever its clock says: a chain has no holes.
    """
    found = AuditEntry.objects.filter(workspace_id=workspace_id, at__gte=period.start, at__lt=period.end)
    numbers = found.aggregate(first=Min("seq"), last=Max("seq"))
    return None if numbers["first"] is None else (numbers["first"], numbers["last"])


def entries(workspace_id: UUID, period: Period) -> Iterator[AuditEntry]:
    """The audit entries of a period, in order."""
    for page in pages(workspace_id, bounds(workspace_id, period)):
        yield from page


def pages(workspace_id: UUID, between: tuple[int, int] | None) -> Iterator[list[AuditEntry]]:
    """The same, a thousand at a time. Each page is a query of its own: a stream may read them in several threads."""
    if between is None:
        return
    after, last = between[0] - 1, between[1]
    found = AuditEntry.objects.filter(workspace_id=workspace_id, seq__lte=last).order_by("seq")
    while page := list(found.filter(seq__gt=after)[:PAGE]):
        yield page
        after = page[-1].seq
