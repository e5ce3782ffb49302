"""Deletion of what was kept for long enough: sessions made before a day, month by month.

Each session is erased as one that somebody deletes, with its tombstone. Where all sessions of a part of the events go,
its events are left where they are until the last one is erased, and the part is dropped (docs/partitions.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection
from django.db.models import Q, QuerySet

from sessions_app.ids import first_id
from sessions_app.models import Session
from sessions_app.services import audit
from sessions_app.services.log import erasure as rows

from . import erasing

AT_ONCE = 500
"""Ids of sessions that are read together."""
TRIES, PAUSE_SECONDS = 5, 2.0
"""To drop a part: an import or a backup may hold the table for a while."""
PARTS = """
SELECT name, first_id, end_id FROM countersign_event_parts()
WHERE end_id <= countersign_first_id(countersign_month(0)) ORDER BY end_id
"""
LEFT = """
SELECT name FROM countersign_event_parts() p WHERE p.end_id <= countersign_first_id(countersign_month(0)) AND EXISTS (
    SELECT FROM sessions_app_tombstone t WHERE t.kind = 'session' AND t.subject_id < p.end_id
    AND (p.first_id IS NULL OR t.subject_id >= p.first_id) AND t.at < now() - interval '1 hour'
    AND EXISTS (SELECT FROM sessions_app_event e WHERE e.session_id = t.subject_id)
) ORDER BY end_id
"""


@dataclass(slots=True)
class Erased:
    """What went, and why something stays."""

    sessions: int = 0
    parts: list[str] = field(default_factory=list)
    """Parts of the events that were dropped whole."""
    stays: dict[UUID, str] = field(default_factory=dict)
    """Sessions that could not go, with the reason."""
    held: list[str] = field(default_factory=list)
    """Parts that somebody holds: their events go with the next look."""

    def erase(
        self, session: Session, *, by: audit.Actor, reason: str, leave_events: bool,
        only_if: Callable[[UUID], bool] = lambda session_id: True,
    ) -> None:  # fmt: skip
        """Delete one more session, or note why it stays."""
        try:
            erasing.erase_session(session, by=by, reason=reason, leave_events=leave_events, only_if=only_if)
            self.sessions += 1
        except Session.DoesNotExist:  # it went meanwhile
            return
        except erasing.CannotErase as refused:
            self.stays[session.pk] = str(refused)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the table of events, whose month is over; without a name: all that lies in no such part."""

    name: str
    first: UUID | None
    end: UUID

    @property
    def is_whole(self) -> bool:
        """Whether it can be dropped."""
        return bool(self.name)

    @property
    def ids(self) -> Q:
        """Of sessions whose events lie in it; of the one without a name those of the others, too."""
        return Q(pk__lt=self.end) & (Q(pk__gte=self.first) if self.first else Q())


def erase_before(
    day: date, *, by: audit.Actor, reason: str, on_progress: Callable[[int], None] | None = None
) -> Erased:
    """Delete the sessions that were made before a day (UTC) and have not changed since."""
    begin, done = datetime(day.year, day.month, day.day, tzinfo=UTC), Erased()
    for part in parts_before(first_id(begin)):
        sessions = Session.objects.filter(part.ids)
        all_go = part.is_whole and not sessions.filter(updated_at__gte=begin).exists()
        for session in in_order(sessions.filter(updated_at__lt=begin)):
            done.erase(session, by=by, reason=reason, leave_events=all_go)
            if on_progress:
                on_progress(done.sessions)
        if part.is_whole:
            clear(part.name, done)
    return done


def sweep() -> int:
    """Finish with the parts that a killed ``erase_before`` left; how many."""
    with connection.cursor() as cursor:
        cursor.execute(LEFT)
        names = [name for (name,) in cursor.fetchall()]
    done = Erased()
    for name in names:
        clear(name, done, tries=1)
    return len(names) - len(done.held)


def clear(part: str, done: Erased, tries: int = TRIES) -> None:
    """Drop a part, or delete what is left in it of erased sessions where others stay."""
    for left in reversed(range(tries)):
        with connection.cursor() as cursor:
            try:
                cursor.execute("SELECT countersign_clear_event_month(%s)", [part])
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", None) not in rows.NOT_NOW:
                    raise
            else:
                done.parts += [part] if cursor.fetchone() == ("dropped",) else []
                return
        if left:
            time.sleep(PAUSE_SECONDS)
    done.held.append(part)


def parts_before(end: UUID) -> Iterator[Part]:
    """Parts of the events before an id, the oldest first, and at last what is not in one of them."""
    with connection.cursor() as cursor:
        cursor.execute(PARTS)
        whole = [Part(*part) for part in cursor.fetchall() if part[2] <= end]
    yield from whole
    yield Part("", None, end)


def in_order(sessions: QuerySet[Session, Any]) -> Iterator[Session]:
    """Sessions in the order of their ids; who deletes them meanwhile disturbs nothing."""
    page = sessions
    while some := list(page.only("id").order_by("pk")[:AT_ONCE]):
        yield from some
        page = sessions.filter(pk__gt=some[-1].pk)
