import django.db.models.deletion
from django.db import migrations, models

import sessions_app.ids

ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_statevalue ADD CONSTRAINT statevalue_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_statevalue DROP CONSTRAINT statevalue_session;"


class Migration(migrations.Migration):
    """What agents keep under keys: of a session, of a user, and of all their sessions."""

    dependencies = [("sessions_app", "0049_readers_of_numbers")]

    operations = [
        migrations.CreateModel(
            name="StateValue",
            fields=[
                (
                    "id",
                    models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False),
                ),
                (
                    "scope",
                    models.CharField(choices=[("session", "Session"), ("user", "User"), ("app", "App")], max_length=7),
                ),
                ("user_id", models.TextField(default="")),
                ("key", models.TextField()),
                ("value", models.JSONField(null=True)),
                ("version", models.IntegerField(default=0)),
                ("is_deleted", models.BooleanField(default=False)),
                ("by", models.TextField(default="")),
                ("at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="sessions_app.agent",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "scope", "user_id", "session", "key"),
                        name="state_value_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
    ]
