"""Decisions and evidence that events tell, as rows beside those that were recorded here."""

from __future__ import annotations

from uuid import UUID

from sessions_app.prepared import Statement, run

# Evidence answers its decision, or names it by its key where that comes later. Migration 0053 has the same statement
# for the logs that were there before.
TOLD = Statement("""
INSERT INTO sessions_app_graphnode (
    id, workspace_id, agent_id, session_id, kind, seq, about_id, title, status, told, by, by_kind, client_id, made_at,
    is_first
)
SELECT e.id, s.workspace_id, s.agent_id, e.session_id, n.kind, e.seq, coalesce(p.id, q.id),
       left(coalesce(nullif(n.said->>'title', ''), nullif(n.said->>'intent', ''), nullif(e.data->>'name', ''),
                     nullif(split_part(e.text, E'\\n', 1), ''), n.kind), 200),
       CASE WHEN n.kind <> 'decision' THEN ''
            ELSE left(coalesce(n.said->>'status', CASE n.said->>'resolved' WHEN 'true' THEN 'resolved'
                                                       WHEN 'false' THEN 'not resolved' END, ''), 40) END,
       CASE WHEN octet_length(n.said::text) <= 4000 THEN n.said ELSE '{}' END, '', '', '', coalesce(e.at, now()),
       row_number() OVER (ORDER BY e.seq) = 1
           AND NOT EXISTS (SELECT FROM sessions_app_graphnode g WHERE g.session_id = e.session_id)
FROM sessions_app_event e
JOIN sessions_app_session s ON s.id = e.session_id
CROSS JOIN LATERAL (SELECT CASE e.kind WHEN 'note' THEN 'decision' ELSE 'evidence' END AS kind,
                           CASE e.kind WHEN 'note' THEN e.data->'decision' ELSE e.data->'evidence' END AS said) n
LEFT JOIN sessions_app_event p ON p.session_id = e.session_id AND p.seq = e.parent_seq AND p.kind = 'note'
    AND jsonb_typeof(p.data->'decision') = 'object'
LEFT JOIN sessions_app_event q ON q.session_id = e.session_id AND q.client_key = e.data->>'about' AND q.kind = 'note'
    AND jsonb_typeof(q.data->'decision') = 'object'
WHERE e.session_id = %(session)s AND e.seq > %(since)s AND e.kind IN ('note', 'artifact')
  AND jsonb_typeof(n.said) = 'object'
ON CONFLICT (id) DO NOTHING
""")


def project(session_id: UUID, since: int) -> None:
    """Rows for what the events after ``since`` tell; those that are there stay as they are."""
    run(TOLD, {"session": session_id, "since": since})
