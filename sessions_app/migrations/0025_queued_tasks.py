from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0024_indexes_of_the_session_list"),
    ]

    operations = [
        migrations.CreateModel(
            name="LastTaken",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "queue", "workspace_id", "person", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("queue", models.TextField()),
                ("workspace_id", models.UUIDField()),
                ("person", models.TextField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="turninflight",
            name="requester",
            field=models.TextField(db_default="", default=""),
        ),
        migrations.CreateModel(
            name="QueuedTask",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "row_id", "task", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("task", models.TextField()),
                ("row_id", models.UUIDField()),
                ("queue", models.TextField()),
                ("workspace_id", models.UUIDField()),
                ("person", models.TextField(default="")),
                ("since", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["queue", "workspace_id", "person", "since", "row_id"], name="queued_task_in_line"
                    )
                ],
            },
        ),
    ]
