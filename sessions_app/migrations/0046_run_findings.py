import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_runfinding ADD CONSTRAINT runfinding_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_runfinding DROP CONSTRAINT runfinding_session;"
FILL_IN = """
INSERT INTO sessions_app_runsummaryfillin (id) SELECT 1 WHERE EXISTS (SELECT FROM sessions_app_session)
ON CONFLICT (id) DO UPDATE SET before = NULL;
"""


def reference(to):
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to=f"sessions_app.{to}",
    )


class Migration(migrations.Migration):
    """Which rules found something in each session. Sessions that are there are read for it while the desk works, as
    for their run summaries."""

    dependencies = [("sessions_app", "0045_owner_checks")]

    operations = [
        migrations.AddField(
            model_name="workspace",
            name="rules_off",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.CreateModel(
            name="RunFinding",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "rule", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("rule", models.TextField()),
                ("agent", reference("agent")),
                ("session", reference("session")),
                ("workspace", reference("workspace")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace", "rule", "session"], name="run_finding_by_rule"),
                    models.Index(fields=["agent", "rule"], name="run_finding_of_agent"),
                ],
            },
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
        migrations.RunSQL(FILL_IN, migrations.RunSQL.noop),
    ]
