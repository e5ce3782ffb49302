import django.db.models.deletion
from django.db import migrations, models

import sessions_app.ids


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("sessions_app", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Import",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("progress", models.FloatField(default=0)),
                ("error", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("requested_by", models.TextField(default="")),
                ("filename", models.TextField()),
                ("format_asked", models.CharField(default="auto", max_length=40)),
                ("format", models.CharField(blank=True, default="", max_length=40)),
                ("events", models.IntegerField(default=0)),
                ("findings", models.JSONField(default=list)),
                ("signature", models.JSONField(default=dict)),
                ("checked_against", models.CharField(blank=True, default="", max_length=64)),
                (
                    "agent",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.agent"),
                ),
                (
                    "duplicate_of",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="vcon_app.import"),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="imports", to="sessions_app.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SourceDocument",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.BigIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="documents",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ImportedSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("member", models.TextField(default="")),
                ("events", models.IntegerField(default=0)),
                ("signature", models.JSONField(default=dict)),
                (
                    "imported",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="session_links", to="vcon_app.import"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="import_links",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "document",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="vcon_app.sourcedocument"),
                ),
            ],
        ),
        migrations.AddField(
            model_name="import",
            name="document",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="imports", to="vcon_app.sourcedocument"
            ),
        ),
        migrations.CreateModel(
            name="Companion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source_format", models.CharField(max_length=40)),
                ("kind", models.CharField(max_length=20)),
                ("tail", models.TextField()),
                ("parent", models.TextField(blank=True, default="")),
                ("title", models.TextField(blank=True, default="")),
                ("metadata", models.JSONField(default=dict)),
                (
                    "document",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="vcon_app.sourcedocument"),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="companions",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "source_format", "tail", "parent", "kind"), name="companion_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TrustAnchor",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "kind",
                    models.CharField(
                        choices=[("certificate", "Certificate"), ("public_key", "public key")], max_length=11
                    ),
                ),
                ("pem", models.TextField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("origin", models.CharField(blank=True, default="", max_length=200)),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                ("added_by", models.TextField()),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trust_anchors",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("progress", models.FloatField(default=0)),
                ("error", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("requested_by", models.TextField(default="")),
                ("format", models.CharField(max_length=40)),
                ("options", models.JSONField(default=dict)),
                ("identity", models.JSONField(default=dict)),
                ("filename", models.TextField(default="")),
                ("size", models.BigIntegerField(null=True)),
                ("losses", models.JSONField(default=list)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="sessions_app.session"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="sessions_app.workspace"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["session", "format", "created_at"], name="export_of_session")],
            },
        ),
        migrations.CreateModel(
            name="Redaction",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("type", models.CharField(default="", max_length=200)),
                ("rules", models.JSONField(default=list)),
                ("actor_kind", models.CharField(max_length=20)),
                ("actor_id", models.CharField(blank=True, default="", max_length=64)),
                ("actor_name", models.TextField(blank=True, default="")),
                ("counts", models.JSONField(default=dict)),
                ("leaks", models.JSONField(default=list)),
                ("leak_count", models.IntegerField(default=0)),
                ("unchecked", models.IntegerField(default=0)),
                ("accepted_by", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "export",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="redaction",
                        to="vcon_app.export",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="redactions",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="redactions",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["session", "-id"], name="redaction_of_session")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("export", None)),
                        fields=("session", "actor_kind", "actor_id"),
                        name="redaction_draft_once",
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="sourcedocument",
            constraint=models.UniqueConstraint(fields=("workspace", "sha256"), name="document_once"),
        ),
        migrations.AddConstraint(
            model_name="importedsession",
            constraint=models.UniqueConstraint(
                fields=("imported", "session", "member"), name="session_once_per_member"
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(fields=["workspace", "-created_at"], name="import_recent"),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("status__in", ["queued", "running"])), fields=["status"], name="import_open"
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("checked_against", ""), _negated=True),
                fields=["workspace", "checked_against"],
                name="import_signed",
            ),
        ),
        migrations.AddConstraint(
            model_name="trustanchor",
            constraint=models.UniqueConstraint(fields=("workspace", "fingerprint", "origin"), name="trust_anchor_once"),
        ),
    ]
