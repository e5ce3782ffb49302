import django.db.models.deletion
from django.db import migrations, models

ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_filetext ADD CONSTRAINT filetext_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_filetext DROP CONSTRAINT filetext_session;"


class Migration(migrations.Migration):
    """What files say beside their events is in the search over all sessions, too."""

    dependencies = [("sessions_app", "0058_mentions_in_browsers")]

    operations = [
        migrations.CreateModel(
            name="FileText",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="sessions_app.session",
                    ),
                ),
                ("text", models.TextField(default="")),
                ("due_at", models.DateTimeField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="file_text_due")
                ],
            },
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
    ]
