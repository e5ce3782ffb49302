import django.db.models.deletion
import sessions_app.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    """Links that show a session to people without an account, and the switch of each workspace: off."""

    dependencies = [
        ("sessions_app", "0046_run_findings"),
        ("vcon_app", "0009_family_checks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Sharing",
            fields=[
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sharing",
                        serialize=False,
                        to="sessions_app.workspace",
                    ),
                ),
                ("is_on", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                ("changed_by", models.TextField(blank=True, default="")),
            ],
        ),
        migrations.CreateModel(
            name="ShareLink",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("last_seq", models.IntegerField()),
                ("as_of", models.DateTimeField()),
                ("redaction", models.TextField(blank=True, default="")),
                ("rules", models.JSONField(default=list)),
                ("actor_kind", models.CharField(max_length=20)),
                ("actor_id", models.CharField(blank=True, default="", max_length=64)),
                ("actor_name", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("counts", models.JSONField(default=dict)),
                ("leaks", models.JSONField(default=list)),
                ("leak_count", models.IntegerField(default=0)),
                ("unchecked", models.IntegerField(default=0)),
                ("accepted_by", models.TextField(blank=True, default="")),
                ("opened", models.PositiveIntegerField(default=0)),
                ("last_opened_at", models.DateTimeField(null=True)),
                ("told_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("withdrawn_by", models.TextField(blank=True, default="")),
                (
                    "export",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_link",
                        to="vcon_app.export",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_links",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "-id"], name="share_link_of_session"),
                    models.Index(fields=["workspace", "-id"], name="share_link_newest"),
                    models.Index(
                        condition=models.Q(("withdrawn_at__isnull", True)),
                        fields=["expires_at"],
                        name="share_link_in_force",
                    ),
                ],
            },
        ),
    ]
