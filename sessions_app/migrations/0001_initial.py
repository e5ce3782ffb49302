import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import sessions_app.ids
import sessions_app.models.fields

from ._append_only import BACKWARD, FORWARD


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("slug", models.SlugField(max_length=120)),
                (
                    "runtime",
                    models.CharField(
                        choices=[
                            ("managed", "Managed"),
                            ("local", "Local"),
                            ("scripted", "Scripted"),
                            ("external", "External"),
                        ],
                        default="external",
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("paused", "Paused"), ("archived", "Archived")],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("instructions", models.TextField(blank=True, default="")),
                ("tools", models.JSONField(default=list)),
                ("policy", models.JSONField(default=dict)),
                ("metadata", models.JSONField(default=dict)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("reviewer", "Reviewer"), ("admin", "Admin")], max_length=10
                    ),
                ),
                ("prefix", models.CharField(max_length=12)),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("slug", models.SlugField(unique=True)),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("reviewer", "Reviewer"), ("admin", "Admin")], max_length=10
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="sessions_app.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("input_tokens", models.BigIntegerField(null=True)),
                ("cache_read_tokens", models.BigIntegerField(null=True)),
                ("cache_write_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                ("cost_recorded", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("cost_priced", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("unpriced_tokens", models.BigIntegerField(default=0)),
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("title", models.TextField(blank=True, default="")),
                (
                    "status",
                    models.CharField(
                        choices=[("idle", "Idle"), ("running", "Running"), ("archived", "Archived")],
                        default="idle",
                        max_length=10,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("chat", "Chat"),
                            ("slack", "Slack"),
                            ("schedule", "Schedule"),
                            ("webhook", "Webhook"),
                            ("import", "Import"),
                            ("api", "Api"),
                            ("otlp", "Otlp"),
                        ],
                        default="api",
                        max_length=10,
                    ),
                ),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("completed", "Completed"),
                            ("crashed", "Crashed"),
                            ("timed_out", "Timed Out"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("summary", models.TextField(blank=True, default="")),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("metadata", models.JSONField(default=dict)),
                ("user_id", models.TextField(blank=True, default="")),
                ("external_id", models.TextField(blank=True, default="")),
                ("source_format", models.CharField(blank=True, default="", max_length=40)),
                ("source_record", models.JSONField(default=dict)),
                ("last_seq", models.IntegerField(default=0)),
                ("last_turn", models.IntegerField(default=0)),
                ("indexed_seq", models.IntegerField(default=0)),
                ("turn_count", models.IntegerField(default=0)),
                ("event_count", models.IntegerField(default=0)),
                ("tool_call_count", models.IntegerField(default=0)),
                ("error_count", models.IntegerField(default=0)),
                ("pending_approvals", models.IntegerField(default=0)),
                (
                    "tools_invoked",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                (
                    "model_names",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sessions", to="sessions_app.agent"
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("event_seq", models.IntegerField(null=True)),
                ("client_id", models.TextField(default="")),
                ("tool_name", models.TextField()),
                ("tool_server", models.TextField(null=True)),
                ("arguments", sessions_app.models.fields.AsWrittenJSON()),
                ("context", models.TextField(default="")),
                ("digest", models.CharField(max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("approved_edited", "Approved Edited"),
                            ("denied", "Denied"),
                            ("answered", "Answered"),
                            ("expired", "Expired"),
                            ("cancelled", "Cancelled"),
                            ("auto_allowed", "Auto Allowed"),
                            ("auto_denied", "Auto Denied"),
                            ("settled_elsewhere", "Settled Elsewhere"),
                        ],
                        default="pending",
                        max_length=20,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("risk", models.CharField(default="", max_length=40)),
                ("rule", models.TextField(null=True)),
                ("requested_by", models.TextField(default="")),
                ("requested_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decision", models.JSONField(null=True)),
                ("delivery", models.CharField(default="none", max_length=12)),
                ("execution", models.CharField(default="none", max_length=12)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="approvals", to="sessions_app.session"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignInLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("input_tokens", models.BigIntegerField(null=True)),
                ("cache_read_tokens", models.BigIntegerField(null=True)),
                ("cache_write_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                ("cost_recorded", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("cost_priced", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("unpriced_tokens", models.BigIntegerField(default=0)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "index", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("index", models.IntegerField()),
                ("first_seq", models.IntegerField()),
                ("last_seq", models.IntegerField()),
                ("event_count", models.IntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("prompt", models.TextField(blank=True, default="")),
                (
                    "model_names",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("tool_calls", models.IntegerField(default=0)),
                ("errors", models.IntegerField(default=0)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("by", models.TextField()),
                ("verdict", models.CharField(max_length=10)),
                ("arguments", models.JSONField(null=True)),
                ("answer", models.TextField(default="")),
                ("reason", models.TextField(default="")),
                ("channel", models.CharField(max_length=10)),
                ("at", models.DateTimeField()),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.apikey"
                    ),
                ),
                (
                    "approval",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="votes", to="sessions_app.approval"
                    ),
                ),
                (
                    "member",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.member"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IdempotentAnswer",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("key", models.TextField()),
                ("route", models.TextField()),
                ("body_sha256", models.CharField(max_length=64)),
                ("status", models.IntegerField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "workspace",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="sessions_app.workspace"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "workspace_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("actor_kind", models.CharField(max_length=10)),
                ("actor_id", models.TextField(default="")),
                ("actor_name", models.TextField(default="")),
                ("action", models.TextField()),
                ("subject_kind", models.TextField(default="")),
                ("subject_id", models.TextField(default="")),
                ("details", models.JSONField(default=dict)),
                ("previous_hash", models.CharField(max_length=64)),
                ("hash", models.CharField(max_length=64)),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="audit",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="apikey",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="api_keys", to="sessions_app.workspace"
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="agents", to="sessions_app.workspace"
            ),
        ),
        migrations.CreateModel(
            name="ModelRequest",
            fields=[
                ("input_tokens", models.BigIntegerField(null=True)),
                ("cache_read_tokens", models.BigIntegerField(null=True)),
                ("cache_write_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "key", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.TextField()),
                ("seq", models.IntegerField()),
                ("turn", models.IntegerField()),
                ("at", models.DateTimeField(null=True)),
                ("model", models.TextField(null=True)),
                ("cache_write_1h_tokens", models.BigIntegerField(null=True)),
                ("quality", models.TextField(default="final")),
                ("cost_recorded", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("cost_priced", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("price_source", models.TextField(default="")),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="requests",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "turn"], name="request_by_turn"),
                    models.Index(fields=["session", "seq"], name="request_by_seq"),
                ],
            },
        ),
        migrations.CreateModel(
            name="EventText",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.IntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField()),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [django.contrib.postgres.indexes.GinIndex(fields=["words"], name="event_words")],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("input_tokens", models.BigIntegerField(null=True)),
                ("cache_read_tokens", models.BigIntegerField(null=True)),
                ("cache_write_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.IntegerField()),
                ("id", models.UUIDField()),
                ("key", models.UUIDField()),
                ("kind", models.TextField()),
                ("at", models.DateTimeField(null=True)),
                ("turn", models.IntegerField()),
                ("depth", models.SmallIntegerField(default=0)),
                ("parent_seq", models.IntegerField(null=True)),
                ("actor_kind", models.TextField(default="unknown")),
                ("actor_name", models.TextField(default="")),
                ("text", models.TextField(default="")),
                ("call_id", models.TextField(null=True)),
                ("tool_name", models.TextField(null=True)),
                ("tool_server", models.TextField(null=True)),
                ("tool_status", models.TextField(null=True)),
                ("arguments", models.JSONField(null=True)),
                ("result", models.JSONField(null=True)),
                ("model", models.TextField(null=True)),
                ("request", models.TextField(null=True)),
                ("cache_write_1h_tokens", models.BigIntegerField(null=True)),
                ("quality", models.TextField(null=True)),
                ("cost", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("data", models.JSONField(default=dict)),
                ("client_key", models.TextField(default="")),
                ("document", models.TextField(null=True)),
                ("pointer", models.TextField(default="")),
                ("offset", models.BigIntegerField(null=True)),
                ("length", models.BigIntegerField(null=True)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "turn", "seq"], name="event_by_turn"),
                    models.Index(
                        condition=models.Q(("depth__gt", 0)),
                        fields=["session", "parent_seq", "seq"],
                        name="event_nested",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("session", "key"), name="event_once")],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.IntegerField()),
                ("result_seq", models.IntegerField(null=True)),
                ("call_id", models.TextField(null=True)),
                ("name", models.TextField(default="")),
                ("server", models.TextField(null=True)),
                ("status", models.TextField(null=True)),
                ("turn", models.IntegerField()),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_calls",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "call_id"], name="tool_call_by_id"),
                    models.Index(fields=["session", "turn"], name="tool_call_by_turn"),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["workspace", "-created_at"], name="session_recent"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["agent", "-created_at"], name="session_of_agent"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["workspace", "external_id"], name="session_external"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("pending_approvals__gt", 0)), fields=["workspace"], name="session_waits"
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="session_tags"),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.UniqueConstraint(fields=("workspace", "user"), name="one_membership_each"),
        ),
        migrations.AddConstraint(
            model_name="idempotentanswer",
            constraint=models.UniqueConstraint(fields=("workspace", "route", "key"), name="one_answer_per_key"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["workspace", "subject_id"], name="audit_of_subject"),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["workspace", "requested_at"], name="approval_waits"
            ),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["expires_at"], name="approval_expires"
            ),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(fields=["session", "event_seq"], name="approval_of_event"),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.UniqueConstraint(
                condition=models.Q(("client_id", ""), _negated=True),
                fields=("session", "client_id"),
                name="approval_asked_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(fields=("workspace", "slug"), name="agent_slug_in_workspace"),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
