"""Who asked, who opened, whose key, whose link: what rights need to know, and links that say what they are for."""

import django.db.models.deletion
import django.utils.timezone
import sessions_app.ids
from django.conf import settings
from django.db import migrations, models


# Links of before say neither what they are for nor who made them, and one could open another workspace. They live a
# day; `up` prints a new one for the first admin.
END_OLD_LINKS = "DELETE FROM sessions_app_signinlink WHERE used_at IS NULL"
# Who asked what still waits stands in the audit log.
WHO_ASKED = """
UPDATE sessions_app_approval a SET asked_by_key_id = k.id
FROM sessions_app_auditentry e JOIN sessions_app_apikey k ON k.id::text = e.actor_id
WHERE a.status = 'pending' AND e.workspace_id = a.workspace_id AND e.subject_id = a.id::text
  AND e.action = 'approval.requested' AND e.actor_kind = 'api_key';
UPDATE sessions_app_approval a SET asked_by_user_id = m.user_id
FROM sessions_app_auditentry e JOIN sessions_app_member m ON m.id::text = e.actor_id
WHERE a.status = 'pending' AND e.workspace_id = a.workspace_id AND e.subject_id = a.id::text
  AND e.action = 'approval.requested' AND e.actor_kind = 'member';
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0003_ledger_chain"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(END_OLD_LINKS, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("reviewer", "Reviewer"), ("admin", "Admin")], max_length=10
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("emailed", models.BooleanField(default=False)),
                ("invited_by", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                (
                    "answer",
                    models.CharField(
                        choices=[
                            ("waits", "Waits"),
                            ("accepted", "Accepted"),
                            ("declined", "Declined"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="waits",
                        max_length=10,
                    ),
                ),
                ("answered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="PasswordOrigin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("made_by", models.TextField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="idempotentanswer",
            name="one_answer_per_key",
        ),
        migrations.AddField(
            model_name="apikey",
            name="agent",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="api_keys", to="sessions_app.agent"
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="expires_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="made_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="approval",
            name="asked_by_key",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="sessions_app.apikey",
            ),
        ),
        migrations.AddField(
            model_name="approval",
            name="asked_by_user",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="idempotentanswer",
            name="caller",
            field=models.TextField(default=""),
        ),
        migrations.AddField(
            model_name="session",
            name="opened_by_key",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="sessions_app.apikey",
            ),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="created_at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="emailed",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="made_by",
            field=models.TextField(default=""),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="purpose",
            field=models.CharField(
                choices=[("operator", "Operator"), ("first", "First"), ("reset", "Reset")],
                default="operator",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="told_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="signinlink",
            name="workspace",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, to="sessions_app.workspace"
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="role",
            field=models.CharField(
                choices=[("viewer", "Viewer"), ("agent", "Agent"), ("reviewer", "Reviewer"), ("admin", "Admin")],
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("opened_by_key__isnull", False)),
                fields=["opened_by_key", "-created_at"],
                name="session_of_key",
            ),
        ),
        migrations.AddConstraint(
            model_name="idempotentanswer",
            constraint=models.UniqueConstraint(
                fields=("workspace", "caller", "route", "key"), name="one_answer_per_caller_key"
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(("role", "agent"), _negated=True), name="member_is_no_agent"
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="sessions_app.workspace"
            ),
        ),
        migrations.AddField(
            model_name="passwordorigin",
            name="user",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="password_origin", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("answer", "waits")), fields=("workspace", "user"), name="one_open_invitation_each"
            ),
        ),
        migrations.RunSQL(WHO_ASKED, migrations.RunSQL.noop),
    ]
