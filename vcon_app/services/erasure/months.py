"""Deletion of what was kept for long enough: sessions made before a day, month by month.

Each session is erased as one that somebody deletes, with its tombstone. Where all sessions of a part of the events go,
its events are left where they are until the last one is erased, and the part is dropped (docs/partitions.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from uuid import UUID

from django.db import OperationalError, connection
from django.db.models import Q, QuerySet

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


def erase_before(
    day: date, *, by: audit.Actor, reason: str, on_progress: Callable[[int], None] | None = None
) -> Erased:
    """Delete the sessions that were made before a day (UTC) and have not changed since."""
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    end, done = _first_id(begin), Erased()
    for name, first, until in _parts(end):
        sessions = _between(first, until)
        all_go = bool(name) and not sessions.filter(updated_at__gte=begin).exists()
        for session in _in_order(sessions.filter(updated_at__lt=begin)):
            try:
                erasing.erase_session(session, by=by, reason=reason, leave_events=all_go)
                done.sessions += 1
            except Session.DoesNotExist:  # it went meanwhile
                continue
            except erasing.CannotErase as refused:
                done.stays[session.pk] = str(refused)
            if on_progress:
                on_progress(done.sessions)
        if name:
            _clear(name, done)
    return done


def sweep() -> int:
    """Finish with the parts that a killed ``erase_before`` left; how many."""
    with connection.cursor() as cursor:
        cursor.execute(LEFT)
        names = [name for (name,) in cursor.fetchall()]
    done = Erased()
    for name in names:
        _clear(name, done, tries=1)
    return len(names) - len(done.held)


def _clear(part: str, done: Erased, tries: int = TRIES) -> None:
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


def _parts(end: UUID) -> Iterator[tuple[str, UUID | None, UUID]]:
    """Parts of the events before an id, and at last what is not in one of them, without a name."""
    with connection.cursor() as cursor:
        cursor.execute(PARTS)
        whole = [part for part in cursor.fetchall() if part[2] <= end]
    yield from whole
    yield "", None, end


def _between(first: UUID | None, end: UUID) -> QuerySet[Session]:
    after = Q(pk__gte=first) if first else Q()
    return Session.objects.filter(after, pk__lt=end)


def _in_order(sessions: QuerySet[Session]) -> Iterator[Session]:
    page = sessions
    while some := list(page.only("id").order_by("pk")[:AT_ONCE]):
        yield from some
        page = sessions.filter(pk__gt=some[-1].pk)


def _first_id(moment: datetime) -> UUID:
    """The least id of what is made from that moment on."""
    return UUID(int=int(moment.timestamp() * 1_000) << 80)
