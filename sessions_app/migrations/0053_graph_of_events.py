from django.db import migrations

# One walk of the log: as ``services.graph.told`` does for new events.
TOLD = """
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
       row_number() OVER (PARTITION BY e.session_id ORDER BY e.seq) = 1
FROM sessions_app_event e
JOIN sessions_app_session s ON s.id = e.session_id
CROSS JOIN LATERAL (SELECT CASE e.kind WHEN 'note' THEN 'decision' ELSE 'evidence' END AS kind,
                           CASE e.kind WHEN 'note' THEN e.data->'decision' ELSE e.data->'evidence' END AS said) n
LEFT JOIN sessions_app_event p ON p.session_id = e.session_id AND p.seq = e.parent_seq AND p.kind = 'note'
    AND jsonb_typeof(p.data->'decision') = 'object'
LEFT JOIN sessions_app_event q ON q.session_id = e.session_id AND q.client_key = e.data->>'about' AND q.kind = 'note'
    AND jsonb_typeof(q.data->'decision') = 'object'
WHERE e.kind IN ('note', 'artifact') AND jsonb_typeof(n.said) = 'object'
ON CONFLICT (id) DO NOTHING;
"""


class Migration(migrations.Migration):
    """Decisions and evidence that events of before tell: apart from the tables, whose locks do not wait for the log."""

    dependencies = [("sessions_app", "0052_graph")]

    operations = [migrations.RunSQL(TOLD, migrations.RunSQL.noop)]
