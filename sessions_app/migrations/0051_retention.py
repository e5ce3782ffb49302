import django.db.models.deletion
import sessions_app.ids
from django.db import migrations, models

TABLES = {"sessionretention": "retention", "pruning": "pruning", "hiddenspan": "hidden_span"}
ERASED_WITH_SESSION = "".join(
    f"ALTER TABLE sessions_app_{table} ADD CONSTRAINT {name}_session FOREIGN KEY (session_id)"
    " REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;"
    for table, name in TABLES.items()
)
FORGET = "".join(f"ALTER TABLE sessions_app_{table} DROP CONSTRAINT {name}_session;" for table, name in TABLES.items())


class Migration(migrations.Migration):
    """How long messages of a session are kept in sight: policies, and what was pruned."""

    dependencies = [
        ("sessions_app", "0050_state"),
    ]

    operations = [
        migrations.CreateModel(
            name="HiddenSpan",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "first_seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("first_seq", models.IntegerField()),
                ("last_seq", models.IntegerField()),
                ("messages", models.IntegerField()),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Pruning",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("by_kind", models.CharField(max_length=10)),
                ("by", models.TextField(default="")),
                ("rule", models.TextField()),
                ("method", models.TextField(default="rules")),
                ("messages", models.IntegerField()),
                ("events", models.IntegerField()),
                ("first_seq", models.IntegerField()),
                ("last_seq", models.IntegerField()),
                ("summary", models.TextField(default="")),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["session", "-id"], name="pruning_of_session")],
            },
        ),
        migrations.CreateModel(
            name="SessionRetention",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="retention",
                        serialize=False,
                        to="sessions_app.session",
                    ),
                ),
                ("ttl_days", models.IntegerField(null=True)),
                ("auto_prune", models.BooleanField(default=False)),
                ("prune_strategy", models.TextField(default="")),
                ("max_messages", models.IntegerField(null=True)),
                ("immutable", models.BooleanField(default=False)),
                ("is_set", models.BooleanField(default=False)),
                ("set_by", models.TextField(default="")),
                ("set_at", models.DateTimeField(null=True)),
                ("looked_seq", models.IntegerField(default=-1)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_set", True)), fields=["workspace", "session"], name="retention_set"
                    )
                ],
            },
        ),
        migrations.RunSQL(ERASED_WITH_SESSION, FORGET),
    ]
