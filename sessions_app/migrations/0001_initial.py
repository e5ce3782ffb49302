import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.utils.timezone
import sessions_app.ids
import sessions_app.models.fields
from django.conf import settings
from django.db import migrations, models

from ._append_only_0001 import BACKWARD, FORWARD


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
                ("description", models.TextField(blank=True, default="")),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                ("instructions", models.TextField(blank=True, default="")),
                ("tools", models.JSONField(default=list)),
                ("policy", models.JSONField(default=dict)),
                ("environment", models.JSONField(default=dict)),
                ("metadata", models.JSONField(default=dict)),
                ("runtime_ref", models.JSONField(default=dict)),
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
                ("copied_tokens", models.BigIntegerField(default=0)),
                ("under_reported", models.IntegerField(default=0)),
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("agent_version", models.PositiveIntegerField(default=1)),
                ("continues_seq", models.IntegerField(null=True)),
                ("runtime_id", models.TextField(blank=True, default="")),
                ("slack_conversation_key", models.TextField(blank=True, default="")),
                ("title", models.TextField(blank=True, default="")),
                ("title_is_prompt", models.BooleanField(default=False)),
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
                ("response_scope", models.CharField(blank=True, default="", max_length=40)),
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
                    "continues",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="continuations",
                        to="sessions_app.session",
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
            name="Schedule",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("cron", models.CharField(max_length=200)),
                ("timezone", models.CharField(default="UTC", max_length=64)),
                ("input_text", models.TextField()),
                ("enabled", models.BooleanField(default=True)),
                (
                    "missed",
                    models.CharField(
                        choices=[("skip", "Skip"), ("once", "Once"), ("all", "All")], default="once", max_length=4
                    ),
                ),
                (
                    "overlap",
                    models.CharField(choices=[("allow", "Allow"), ("skip", "Skip")], default="allow", max_length=5),
                ),
                ("next_run_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="schedules", to="sessions_app.agent"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="schedules",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="QueuedMessage",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("text", models.TextField()),
                ("by_kind", models.CharField(default="person", max_length=10)),
                ("by", models.TextField(default="")),
                ("data", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="queued_messages",
                        to="sessions_app.session",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("event_seq", models.IntegerField(null=True)),
                ("recorded", models.BooleanField(default=False)),
                ("client_id", models.TextField(default="")),
                ("tool_name", models.TextField()),
                ("tool_server", models.TextField(null=True)),
                ("arguments", sessions_app.models.fields.AsWrittenJSON(null=True)),
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
            name="SlackInstallation",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("team_id", models.CharField(max_length=32, unique=True)),
                ("team_name", models.TextField(default="")),
                ("bot_user_id", models.CharField(default="", max_length=32)),
                ("bot_id", models.CharField(default="", max_length=32)),
                ("bot_token", sessions_app.models.fields.EncryptedText(default="")),
                ("signing_secret", sessions_app.models.fields.EncryptedText(default="")),
                ("escalation_channel", models.CharField(blank=True, default="", max_length=32)),
                (
                    "outsiders",
                    models.CharField(
                        choices=[("reject", "Reject"), ("allow_list", "allow-list"), ("all", "All")],
                        default="reject",
                        max_length=10,
                    ),
                ),
                ("allow_list", models.JSONField(default=list)),
                ("desk_url", models.TextField(default="")),
                ("problem", models.TextField(default="")),
                ("installed_by", models.TextField(default="")),
                ("installed_at", models.DateTimeField(auto_now_add=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.agent"),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slack_installations",
                        to="sessions_app.workspace",
                    ),
                ),
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
                ("copied_tokens", models.BigIntegerField(default=0)),
                ("under_reported", models.IntegerField(default=0)),
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
            name="WebhookEndpoint",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=50)),
                ("hook_id", models.CharField(max_length=64, unique=True)),
                (
                    "scheme",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("github", "Github"),
                            ("stripe", "Stripe"),
                            ("slack", "Slack"),
                            ("shopify", "Shopify"),
                            ("twilio", "Twilio"),
                            ("generic", "Generic"),
                        ],
                        default="generic",
                        max_length=10,
                    ),
                ),
                ("secret", sessions_app.models.fields.EncryptedText(default="")),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("refused", models.BigIntegerField(default=0)),
                ("refused_at", models.DateTimeField(null=True)),
                ("refused_why", models.TextField(default="")),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="webhook_endpoints",
                        to="sessions_app.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_endpoints",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("delivery_id", models.TextField()),
                ("topic", models.TextField(default="")),
                ("size", models.IntegerField()),
                ("payload", sessions_app.models.fields.AsWrittenJSON()),
                ("headers", models.JSONField(default=dict)),
                ("source_ip", models.GenericIPAddressField(null=True)),
                ("verified", models.BooleanField(default=False)),
                ("received_at", models.DateTimeField(auto_now_add=True)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("acknowledged_by", models.TextField(default="")),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="sessions_app.webhookendpoint",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_deliveries",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Wallet",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("ai", "AI"), ("data", "Data")], max_length=4)),
                ("limited", models.BooleanField(default=False)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="wallets", to="sessions_app.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TurnUsage",
            fields=[
                ("input_tokens", models.BigIntegerField(null=True)),
                ("cache_read_tokens", models.BigIntegerField(null=True)),
                ("cache_write_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("turn", models.IntegerField()),
                ("runtime_ms", models.BigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("unpriced_tokens", models.BigIntegerField(default=0)),
                ("price_source", models.TextField(default="")),
                ("at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.agent"),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turn_usages",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turn_usages",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TriggerRun",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("schedule", "Schedule"), ("webhook", "Webhook"), ("slack", "Slack")], max_length=8
                    ),
                ),
                ("name", models.TextField(default="")),
                ("cause", models.TextField(default="")),
                ("fire_key", models.TextField()),
                ("due_at", models.DateTimeField(null=True)),
                ("fired_at", models.DateTimeField(auto_now_add=True)),
                (
                    "status",
                    models.CharField(
                        choices=[("started", "Started"), ("skipped", "Skipped"), ("failed", "Failed")], max_length=8
                    ),
                ),
                ("input_text", models.TextField(default="")),
                ("error", models.TextField(default="")),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="trigger_runs",
                        to="sessions_app.agent",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="sessions_app.schedule",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="trigger_runs",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="runs",
                        to="sessions_app.webhookdelivery",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trigger_runs",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="session",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="sessions", to="sessions_app.workspace"
            ),
        ),
        migrations.CreateModel(
            name="Secret",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("origin", models.CharField(max_length=300)),
                ("value", sessions_app.models.fields.EncryptedText()),
                ("changed_by", models.TextField(default="")),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="secrets", to="sessions_app.workspace"
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
            name="CallUsage",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("seq", models.IntegerField()),
                ("provider", models.TextField(default="")),
                ("tool", models.TextField()),
                ("latency_ms", models.BigIntegerField(null=True)),
                ("status", models.CharField(max_length=10)),
                ("cost", models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ("at", models.DateTimeField()),
                (
                    "agent",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.agent"),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="call_usages",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="call_usages",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Budget",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("period", models.CharField(choices=[("day", "Day"), ("all", "All")], default="day", max_length=3)),
                ("amount", models.DecimalField(decimal_places=10, max_digits=20)),
                ("told_for", models.TextField(default="")),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="budgets",
                        to="sessions_app.agent",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="budgets",
                        to="sessions_app.session",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="budgets", to="sessions_app.workspace"
                    ),
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
            name="AgentVersion",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                ("definition", models.JSONField()),
                ("changed_by", models.TextField(default="")),
                ("changed_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="sessions_app.agent"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("agent", "version"), name="agent_version_once")],
            },
        ),
        migrations.CreateModel(
            name="TurnInFlight",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="in_flight",
                        serialize=False,
                        to="sessions_app.session",
                    ),
                ),
                ("turn", models.IntegerField()),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("worker", models.UUIDField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("rung_at", models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ("interrupted_at", models.DateTimeField(null=True)),
                ("retry_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("busy_ms", models.BigIntegerField(default=0)),
                ("said", models.TextField(default="")),
                ("said_request", models.TextField(default="")),
                ("state", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["heartbeat_at"], name="turn_in_flight_stale")],
            },
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
                ("cost_within", models.IntegerField(null=True)),
                ("identity", models.UUIDField(null=True)),
                ("is_copy", models.BooleanField(default=False)),
                (
                    "counted_in",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
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
                    models.Index(
                        condition=models.Q(("identity__isnull", False)),
                        fields=["identity", "at"],
                        name="request_known_as",
                    ),
                    models.Index(
                        condition=models.Q(("counted_in__isnull", False)),
                        fields=["counted_in"],
                        name="request_counted_in",
                    ),
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
                    models.Index(
                        condition=models.Q(("kind", "user_message"), ("parent_seq__isnull", False)),
                        fields=["session", "seq"],
                        name="event_rewinds",
                    ),
                    models.Index(
                        condition=models.Q(("data__has_key", "child_session")),
                        fields=["session"],
                        name="event_names_child",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("session", "key"), name="event_once")],
            },
        ),
        migrations.CreateModel(
            name="SlackEvent",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("retry_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(default="")),
                ("done_at", models.DateTimeField(null=True)),
                ("message", models.TextField()),
                ("conversation_key", models.TextField()),
                ("event_id", models.TextField()),
                ("payload", models.JSONField()),
                ("rejected", models.BooleanField(default=False)),
                (
                    "installation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="sessions_app.slackinstallation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["conversation_key", "id"], name="slack_event_in_order"),
                    models.Index(fields=["done_at"], name="slack_event_done"),
                ],
                "constraints": [models.UniqueConstraint(fields=("installation", "message"), name="slack_event_once")],
            },
        ),
        migrations.CreateModel(
            name="SlackNotice",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("retry_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(default="")),
                ("done_at", models.DateTimeField(null=True)),
                ("subject", models.TextField()),
                ("channel", models.TextField(default="")),
                ("ts", models.TextField(default="")),
                ("shown", models.TextField(default="")),
                (
                    "approval",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slack_notices",
                        to="sessions_app.approval",
                    ),
                ),
                (
                    "installation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="sessions_app.slackinstallation",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("done_at", None)), fields=["created_at"], name="slack_notice_to_do"
                    ),
                    models.Index(
                        condition=models.Q(("shown", "pending")), fields=["approval"], name="slack_notice_asks"
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("installation", "subject"), name="slack_notice_once")],
            },
        ),
        migrations.CreateModel(
            name="SlackReply",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("retry_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(default="")),
                ("done_at", models.DateTimeField(null=True)),
                ("turn", models.IntegerField()),
                ("parts", models.JSONField(default=list)),
                ("posting", models.IntegerField(null=True)),
                (
                    "installation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replies",
                        to="sessions_app.slackinstallation",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slack_replies",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("done_at", None)), fields=["created_at"], name="slack_reply_to_do")
                ],
                "constraints": [models.UniqueConstraint(fields=("session", "turn"), name="slack_reply_once")],
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
        migrations.CreateModel(
            name="LedgerEntry",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "source",
                    models.CharField(
                        choices=[("subscription", "Subscription"), ("purchased", "Purchased"), ("trial", "Trial")],
                        max_length=12,
                    ),
                ),
                ("amount", models.DecimalField(decimal_places=10, max_digits=20)),
                ("event", models.TextField()),
                ("kind", models.CharField(max_length=20)),
                ("note", models.TextField(default="")),
                ("by", models.TextField(default="")),
                ("at", models.DateTimeField()),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="sessions_app.session",
                    ),
                ),
                (
                    "wallet",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="sessions_app.wallet"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["wallet", "id"], include=("source", "amount"), name="ledger_running"),
                    models.Index(
                        fields=["wallet", "event"], name="ledger_of_step", opclasses=["uuid_ops", "text_pattern_ops"]
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("wallet", "event", "kind", "source"), name="booked_once")
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.UniqueConstraint(fields=("workspace", "name"), name="webhook_name_once"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["workspace", "-id"], name="delivery_recent"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("acknowledged_at", None)),
                fields=["endpoint", "-id"],
                name="delivery_not_acknowledged",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.UniqueConstraint(fields=("endpoint", "delivery_id"), name="delivery_once"),
        ),
        migrations.AddConstraint(
            model_name="wallet",
            constraint=models.UniqueConstraint(fields=("workspace", "kind"), name="wallet_once"),
        ),
        migrations.AddIndex(
            model_name="turnusage",
            index=models.Index(fields=["workspace", "at"], name="turn_usage_recent"),
        ),
        migrations.AddConstraint(
            model_name="turnusage",
            constraint=models.UniqueConstraint(fields=("session", "turn"), name="turn_used_once"),
        ),
        migrations.AddIndex(
            model_name="triggerrun",
            index=models.Index(fields=["workspace", "-id"], name="trigger_run_recent"),
        ),
        migrations.AddIndex(
            model_name="triggerrun",
            index=models.Index(fields=["schedule", "-id"], name="trigger_run_of_schedule"),
        ),
        migrations.AddConstraint(
            model_name="triggerrun",
            constraint=models.UniqueConstraint(fields=("workspace", "fire_key"), name="fired_once"),
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
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("continues__isnull", False)), fields=["continues"], name="session_continues"
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                condition=models.Q(("slack_conversation_key", ""), _negated=True),
                fields=("agent", "slack_conversation_key"),
                name="session_of_slack_thread",
            ),
        ),
        migrations.AddConstraint(
            model_name="secret",
            constraint=models.UniqueConstraint(fields=("workspace", "name"), name="secret_name_once"),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(condition=models.Q(("enabled", True)), fields=["next_run_at"], name="schedule_due"),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.UniqueConstraint(fields=("workspace", "name"), name="schedule_name_once"),
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
            model_name="callusage",
            index=models.Index(fields=["workspace", "at"], name="call_usage_recent"),
        ),
        migrations.AddIndex(
            model_name="callusage",
            index=models.Index(fields=["workspace", "-id"], name="call_usage_newest"),
        ),
        migrations.AddConstraint(
            model_name="callusage",
            constraint=models.UniqueConstraint(fields=("session", "seq"), name="call_used_once"),
        ),
        migrations.AddConstraint(
            model_name="budget",
            constraint=models.UniqueConstraint(
                fields=("workspace", "agent", "session", "period"), name="budget_once", nulls_distinct=False
            ),
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
