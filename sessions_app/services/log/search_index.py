"""The search rows of a session: one ``tsvector`` per event that says anything."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import Session

from .. import task_queue
from ..fair_queue import Line

SMALL = 500
"""Up to so many new events are indexed in the transaction that appends them; more are left to a task."""
# Events of one transaction, so that a long import becomes searchable piece by piece.
CHUNK = 2_000
MESSAGE_LOST_AFTER = timedelta(seconds=15)
"""So long after its last event a session that is not searchable is indexed once more."""
MAX_WORDS = 20_000
"""Characters of one field that are indexed: a tsvector may hold 1 MB, and nobody looks for the middle of a dump."""

# `simple`: transcripts are code and many languages; stemming would find the wrong things and miss identifiers.
INDEX = f"""
INSERT INTO sessions_app_eventtext (session_id, seq, words)
SELECT session_id, seq, to_tsvector('simple', concat_ws(' ',
    left(text, {MAX_WORDS}), tool_name, left(arguments #>> '{{}}', {MAX_WORDS}), left(result #>> '{{}}', {MAX_WORDS})))
FROM sessions_app_event
WHERE session_id = %(session)s AND seq > %(after)s AND seq <= %(until)s
  AND (text <> '' OR arguments IS NOT NULL OR result IS NOT NULL)
ON CONFLICT (session_id, seq) DO NOTHING
"""


def index_if_small(session_id: UUID) -> None:
    """Index now when little is new; a bulk import enqueues ``tasks.index_session`` after its commit instead."""
    indexed, last = _watermark(session_id)
    if indexed < last <= indexed + SMALL:
        _index(session_id, indexed, last)


def index(session_id: UUID) -> None:
    """Index every event that is not yet, in chunks of their own transactions when not inside one."""
    indexed, last = _watermark(session_id)
    while indexed < last:
        until = min(indexed + CHUNK, last)
        with transaction.atomic():
            _index(session_id, indexed, until)
        indexed = until


def _index(session_id: UUID, after: int, until: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(INDEX, {"session": session_id, "after": after, "until": until})
        cursor.execute(
            "UPDATE sessions_app_session SET indexed_seq = greatest(indexed_seq, %s) WHERE id = %s",
            [until, session_id],
        )


def _watermark(session_id: UUID) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexed_seq, last_seq FROM sessions_app_session WHERE id = %s", [session_id])
        return cursor.fetchone() or (0, 0)  # the session was erased meanwhile: there is nothing to index


def sessions_behind() -> list[UUID]:
    """Sessions with events that are not searchable yet."""
    return list(Session.objects.filter(indexed_seq__lt=F("last_seq")).values_list("id", flat=True))


def sweep() -> int:
    """Enqueue the indexing of sessions whose message was lost; of how many."""
    behind = Session.objects.filter(indexed_seq__lt=F("last_seq"), updated_at__lt=timezone.now() - MESSAGE_LOST_AFTER)
    rows = list(behind.values_list("id", "updated_at", "workspace_id"))
    lines = {id_: Line(workspace_id) for id_, _, workspace_id in rows}
    return task_queue.requeue(task_queue.INDEX_SESSION, {id_: at for id_, at, _ in rows}, lines)
