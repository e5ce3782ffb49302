import django.db.models.deletion
from django.db import migrations, models

import sessions_app.ids

# A piece of evidence goes with the decision that it is about: both are of one session.
ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_graphnode ADD CONSTRAINT graphnode_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_graphnode DROP CONSTRAINT graphnode_session;"


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
    """Decisions and evidence that sessions led to."""

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
    ]
