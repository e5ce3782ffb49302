import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    """Table of sessions whose shared responses are to be looked at once more. It is empty most of the time."""

    dependencies = [("sessions_app", "0044_a_cancelled_session")]

    operations = [
        migrations.CreateModel(
            name="OwnerCheck",
            fields=[
                ("session_id", models.UUIDField(primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("since", models.IntegerField()),
                ("waits_for", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("due_at", models.DateTimeField()),
            ],
        ),
    ]
