"""Changes of files are read from a session's log when somebody asks for them, a bounded piece at a time.

So an import pays nothing, an upgrade fills nothing in, and a session that is asked again reads only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sessions_app.changes.paths import stored
from sessions_app.models import FileChange, FileScan
from sessions_app.queries.log.file_calls import TOOLS, Told, told

EVENTS_AT_ONCE = 4_000
"""Events of which one request reads the changes: about 0.5 s of those of a coding agent."""

# Key share: an append is neither waited for (it may be a long import) nor held up longer than a piece takes.
SESSION = """
SELECT last_seq, coalesce(metadata #>> '{environment,cwd}', ''), status = 'running' OR pending_approvals > 0
FROM sessions_app_session WHERE id = %s FOR KEY SHARE SKIP LOCKED
"""
SEQS = """
SELECT seq FROM sessions_app_event
WHERE session_id = %(session)s AND seq > %(since)s AND seq <= %(until)s
    AND (kind = 'file_change' OR kind = 'tool_call' AND tool_name ~* %(tools)s)
"""
# Calls that were read before their result came in, by the event that they belong to or by their id.
LATE = """
WITH came AS (
    SELECT seq, parent_seq, call_id FROM sessions_app_event
    WHERE session_id = %(session)s AND seq > %(since)s AND seq <= %(until)s AND kind = 'tool_result'
)
SELECT t.seq FROM came JOIN sessions_app_toolcall t
    ON t.session_id = %(session)s AND t.seq = came.parent_seq AND t.result_seq = came.seq
WHERE t.seq <= %(since)s
UNION
SELECT t.seq FROM came JOIN sessions_app_toolcall t
    ON t.session_id = %(session)s AND t.call_id = came.call_id AND t.result_seq = came.seq
WHERE t.seq <= %(since)s
"""
FORGET = "DELETE FROM sessions_app_changedfile WHERE session_id = %(session)s AND path = ANY(%(paths)s)"
SUM = """
INSERT INTO sessions_app_changedfile
    (session_id, path, was, kind, edits, failed, shell, added, removed, last_seq, shell_last)
SELECT %(session)s, path, coalesce(last_was, ''),
    CASE WHEN edits = 0 THEN CASE WHEN shell > 0 THEN 'shell' WHEN stated > 0 THEN 'stated' ELSE 'failed' END
        WHEN last_kind = 'deleted' THEN 'deleted' WHEN first_kind = 'created' THEN 'created'
        WHEN renamed > 0 THEN 'renamed' WHEN first_kind = 'written' THEN 'written' ELSE 'edited' END,
    edits, failed, shell, coalesce(added, 0), coalesce(removed, 0), last_seq, coalesce(last_of_all = 'shell', false)
FROM (
    SELECT path, count(*) FILTER (WHERE made AND known) AS edits,
        count(*) FILTER (WHERE outcome = 'failed' AND known) AS failed,
        count(*) FILTER (WHERE made AND kind = 'shell') AS shell,
        count(*) FILTER (WHERE made AND kind = 'stated') AS stated,
        count(*) FILTER (WHERE made AND kind = 'renamed') AS renamed,
        sum(added) FILTER (WHERE made AND known) AS added, sum(removed) FILTER (WHERE made AND known) AS removed,
        max(seq) AS last_seq,
        (array_agg(kind ORDER BY seq, number) FILTER (WHERE made AND known))[1] AS first_kind,
        (array_agg(kind ORDER BY seq DESC, number DESC) FILTER (WHERE made AND known))[1] AS last_kind,
        (array_agg(kind ORDER BY seq DESC, number DESC) FILTER (WHERE made))[1] AS last_of_all,
        (array_agg(was ORDER BY seq DESC, number DESC) FILTER (WHERE made AND was <> ''))[1] AS last_was
    FROM (
        SELECT *, outcome IN ('done', 'unknown') AS made, kind NOT IN ('shell', 'stated') AS known
        FROM sessions_app_filechange
        WHERE session_id = %(session)s AND path = ANY(%(paths)s) AND kind <> 'seen'
    ) changes GROUP BY path
) files WHERE edits + failed + shell + stated > 0
"""
MOVE_ON = """
UPDATE sessions_app_filescan SET seq = %(until)s, files = found.files, edits = found.edits, added = found.added,
    removed = found.removed, shell = found.shell
FROM (
    SELECT count(*) FILTER (WHERE kind <> 'failed') AS files, coalesce(sum(edits), 0) AS edits,
        coalesce(sum(added), 0) AS added, coalesce(sum(removed), 0) AS removed,
        count(*) FILTER (WHERE kind IN ('shell', 'stated')) AS shell
    FROM sessions_app_changedfile WHERE session_id = %(session)s
) found WHERE session_id = %(session)s
"""


@transaction.atomic
def read_on(session_id: UUID) -> bool:
    """Read the next piece of a session's log for changes of files. Returns whether all of it is read now.

    False also where somebody else writes to the session or reads it just then: ask again.
    """
    with connection.cursor() as cursor:
        cursor.execute(SESSION, [session_id])
        session = cursor.fetchone()
        if session is None:
            return False
    last_seq, cwd, is_at_work = session
    FileScan.objects.bulk_create([FileScan(session_id=session_id)], ignore_conflicts=True)
    scan = FileScan.objects.select_for_update(skip_locked=True).filter(pk=session_id).first()
    if scan is None:
        return False
    if scan.seq >= last_seq:
        return True
    until = min(last_seq, scan.seq + EVENTS_AT_ONCE)
    seqs = _seqs(session_id, scan.seq, until)
    touched = _forget(session_id, [seq for seq in seqs if seq <= scan.seq])
    rows = _rows(session_id, told(session_id, seqs, cwd), pending=is_at_work)
    FileChange.objects.bulk_create(rows, batch_size=1_000)
    _sum(session_id, touched | {row.path for row in rows if row.kind != "seen"}, until)
    return until == last_seq


def _seqs(session_id: UUID, since: int, until: int) -> list[int]:
    """Events to be read: those that are new, and older calls whose results are new."""
    asked: dict[str, Any] = {"session": session_id, "since": since, "until": until, "tools": TOOLS}
    with connection.cursor() as cursor:
        cursor.execute(SEQS, asked)
        found = {seq for (seq,) in cursor.fetchall()}
        if since:
            cursor.execute(LATE, asked)
            found |= {seq for (seq,) in cursor.fetchall()}
    return sorted(found)


def _forget(session_id: UUID, seqs: list[int]) -> set[str]:
    """Delete the changes of events that are read once more. Returns the files they were of."""
    before = FileChange.objects.filter(session_id=session_id, seq__in=seqs)
    touched = set(before.values_list("path", flat=True)) if seqs else set()
    if touched:
        before.delete()
    return touched


def _rows(session_id: UUID, events: Iterable[Told], *, pending: bool) -> list[FileChange]:
    """Rows of changes. What a recorder states beside a call that says the same is left out.

    ``pending``: a call without a result may still be made; it counts when the result comes.
    """
    rows: list[FileChange] = []
    told_by_calls: set[int] = set()
    for event in events:
        if any(change.kind not in ("shell", "seen") for change in event.changes) and event.is_call:
            told_by_calls.add(event.seq)
        if not event.is_call and event.parent_seq in told_by_calls:
            continue
        outcome = "pending" if pending and event.outcome == "unknown" else event.outcome
        for number, change in enumerate(event.changes):
            added, removed = change.counts()
            rows.append(
                FileChange(
                    session_id=session_id, seq=event.seq, number=number, path=stored(change.path), outcome=outcome,
                    was=stored(change.was), kind=change.kind, how=change.how[:100], added=added, removed=removed,
                )
            )  # fmt: skip
    return rows


def _sum(session_id: UUID, paths: set[str], until: int) -> None:
    """Bring the files, and the sums over all of them, up to date."""
    asked: dict[str, Any] = {"session": session_id, "paths": sorted(paths), "until": until}
    with connection.cursor() as cursor:
        if paths:
            cursor.execute(FORGET, asked)
            cursor.execute(SUM, asked)
        cursor.execute(MOVE_ON, asked)
