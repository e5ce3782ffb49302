import django.db.models.deletion
from django.db import migrations, models

from ._append_only import backward, forward


TABLES = {"sessions_app_checkpoint": "checkpoints", "sessions_app_checkpointhead": "heads of checkpoints"}


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0005_append_only_for_owners"),
    ]

    operations = [
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("header", models.TextField()),
                ("hash", models.CharField(max_length=64)),
                ("signature", models.TextField()),
                ("heads_count", models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="CheckpointPublication",
            fields=[
                (
                    "checkpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="publication",
                        serialize=False,
                        to="sessions_app.checkpoint",
                    ),
                ),
                ("stored_at", models.DateTimeField(null=True)),
                ("timestamp_token", models.BinaryField(null=True)),
                ("timestamped_at", models.DateTimeField(null=True)),
                ("witnessed_at", models.DateTimeField(null=True)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("failures", models.IntegerField(default=0)),
                ("fault", models.TextField(default="")),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_try_at__isnull", False)), fields=["next_try_at"], name="unpublished"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointHead",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "checkpoint_id", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.IntegerField()),
                ("kind", models.CharField(max_length=8)),
                ("chain_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                (
                    "checkpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="heads",
                        to="sessions_app.checkpoint",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["kind", "chain_id", "checkpoint"], name="heads_of_chain")],
            },
        ),
        migrations.RunSQL(
            "".join(forward(table, name) for table, name in TABLES.items()), "".join(map(backward, TABLES))
        ),
    ]
