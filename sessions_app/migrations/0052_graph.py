import django.db.models.deletion
from django.db import migrations, models

import sessions_app.ids

# A piece of evidence goes with the decision that it is about: both are of one session.
ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_graphnode ADD CONSTRAINT graphnode_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_graphnode DROP CONSTRAINT graphnode_session;"
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


def reference(to, **more):
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to=f"sessions_app.{to}",
        **more,
    )


class Migration(migrations.Migration):
    """Decisions and evidence that sessions led to, with those that events of before tell."""

    dependencies = [("sessions_app", "0051_retention")]

    operations = [
        migrations.CreateModel(
            name="GraphNode",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(choices=[("decision", "Decision"), ("evidence", "Evidence")], max_length=8),
                ),
                ("seq", models.IntegerField(null=True)),
                ("title", models.TextField()),
                ("status", models.TextField(default="")),
                ("told", models.JSONField(default=dict)),
                ("first_seq", models.IntegerField(null=True)),
                ("last_seq", models.IntegerField(null=True)),
                ("by", models.TextField(default="")),
                ("by_kind", models.TextField(default="")),
                ("client_id", models.TextField(default="")),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(null=True)),
                ("is_first", models.BooleanField(default=False)),
                ("about", reference("graphnode", null=True)),
                ("agent", reference("agent")),
                ("session", reference("session")),
                ("workspace", reference("workspace")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "id"], name="graph_node_of_session"),
                    models.Index(
                        condition=models.Q(("is_first", True)), fields=["agent", "-session"], name="graph_node_first"
                    ),
                    models.Index(fields=["workspace", "kind", "-id"], name="graph_node_recent"),
                    models.Index(fields=["agent", "kind", "-id"], name="graph_node_of_agent"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("client_id", ""), _negated=True),
                        fields=("session", "client_id"),
                        name="graph_node_sent_once",
                    )
                ],
            },
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
        migrations.RunSQL(TOLD, migrations.RunSQL.noop),
    ]
