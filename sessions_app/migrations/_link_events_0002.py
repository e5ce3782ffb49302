"""Links for the events that were written before links were kept, and the trigger of the new table.

What these links cannot know they do not claim: ``received_at`` stays NULL. How an event came in can be read from its
key and its document, since only ``append`` wrote events and each caller has keys of its own.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sessions_app import event_chain

BATCH = 2_000
RUNS = """
SELECT min(seq), max(seq), origin, reported_by FROM (
    SELECT seq, origin, reported_by,
           seq - row_number() OVER (PARTITION BY origin, reported_by ORDER BY seq) AS run
    FROM (
        SELECT seq,
               CASE WHEN document IS NOT NULL THEN 'file'
                    WHEN client_key LIKE 'client:%%' OR client_key LIKE 'message:%%' THEN 'api'
                    WHEN kind IN ('approval', 'escalation', 'status', 'handoff') AND depth = 0 THEN 'desk'
                    ELSE 'runtime' END AS origin,
               CASE WHEN client_key LIKE 'message:%%' THEN actor_name ELSE '' END AS reported_by
        FROM sessions_app_event WHERE session_id = %s
    ) each
) numbered GROUP BY origin, reported_by, run ORDER BY 1
"""
ROWS = f"""
COPY (SELECT {", ".join(event_chain.COLUMNS)} FROM sessions_app_event
      WHERE session_id = %s AND seq BETWEEN %s AND %s ORDER BY seq)
TO STDOUT (FORMAT binary)
"""
INSERT = """
INSERT INTO sessions_app_eventlink
    (session_id, first_seq, last_seq, origin, reporter_kind, reporter_id, reported_by, received_at, hash, row_digests)
VALUES (%s, %s, %s, %s, '', '', %s, NULL, %s, %s)
"""
UNSEALED = """
INSERT INTO sessions_app_unsealedhead (kind, chain_id)
SELECT 'session', id FROM sessions_app_session WHERE last_seq > 0
"""
FORWARD = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON sessions_app_eventlink
    FOR EACH ROW EXECUTE FUNCTION countersign_append_only('links of events');
"""
BACKWARD = "DROP TRIGGER append_only ON sessions_app_eventlink;"
COPY_HEADER, COPY_TRAILER = 19, b"\xff\xff"


def link_events(apps: Any, schema_editor: Any) -> None:
    """Chain every session's events, in the order of their ``seq``."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT session_id FROM sessions_app_event")
        for (session_id,) in cursor.fetchall():
            _link_session(cursor, session_id)
        cursor.execute(UNSEALED)


def _link_session(cursor: Any, session_id: UUID) -> None:
    cursor.execute(RUNS, [session_id])
    previous = event_chain.GENESIS
    for first, last, origin, reported_by in cursor.fetchall():
        for start in range(first, last + 1, BATCH):
            end = min(start + BATCH - 1, last)
            header = event_chain.Header(session_id, start, end, origin, "", "", reported_by, None)
            link = event_chain.link(previous, header, _rows(cursor, session_id, start, end))
            cursor.execute(INSERT, [session_id, start, end, origin, reported_by, link.digest, link.row_digests])
            previous = link.digest


def _rows(cursor: Any, session_id: UUID, first: int, last: int) -> list[bytes]:
    with cursor.copy(ROWS, (session_id, first, last)) as copy:
        chunks = [bytes(chunk) for chunk in copy]
    chunks[0] = chunks[0][COPY_HEADER:]
    return [chunk for chunk in chunks if chunk and chunk != COPY_TRAILER]


def forget_links(apps: Any, schema_editor: Any) -> None:
    """Nothing to do: the table goes."""
