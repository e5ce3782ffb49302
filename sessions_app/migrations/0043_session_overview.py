import django.db.models.deletion
from django.db import migrations, models

ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_sessionoverview ADD CONSTRAINT sessionoverview_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_sessionoverview DROP CONSTRAINT sessionoverview_session;"


class Migration(migrations.Migration):
    """Table of the runs of sessions in one band. It is filled when somebody first asks for one."""

    dependencies = [("sessions_app", "0042_lenses")]

    operations = [
        migrations.CreateModel(
            name="SessionOverview",
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
                ("seq", models.IntegerField(default=0)),
                ("version", models.SmallIntegerField(default=0)),
                ("totals", models.TextField(default="")),
                ("buckets", models.JSONField(default=dict)),
                ("pictures", models.JSONField(default=dict)),
            ],
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
    ]
