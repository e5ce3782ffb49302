import django.db.models.deletion
from django.db import migrations, models

from ._link_events_0002 import BACKWARD, FORWARD, forget_links, link_events


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="UnsealedHead",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "kind", "chain_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(choices=[("session", "Session"), ("wallet", "Wallet")], max_length=8)),
                ("chain_id", models.UUIDField()),
            ],
        ),
        migrations.AddField(
            model_name="queuedmessage",
            name="sender_id",
            field=models.TextField(default=""),
        ),
        migrations.AddField(
            model_name="queuedmessage",
            name="sender_kind",
            field=models.CharField(default="", max_length=10),
        ),
        migrations.CreateModel(
            name="EventLink",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "last_seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("last_seq", models.IntegerField()),
                ("first_seq", models.IntegerField()),
                (
                    "origin",
                    models.CharField(
                        choices=[("file", "File"), ("runtime", "Runtime"), ("api", "Api"), ("desk", "Desk")],
                        max_length=8,
                    ),
                ),
                ("reporter_kind", models.CharField(default="", max_length=10)),
                ("reporter_id", models.TextField(default="")),
                ("reported_by", models.TextField(default="")),
                ("received_at", models.DateTimeField(null=True)),
                ("hash", models.BinaryField(max_length=32)),
                ("row_digests", models.BinaryField()),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="sessions_app.session",
                    ),
                ),
            ],
        ),
        migrations.RunPython(link_events, forget_links),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
