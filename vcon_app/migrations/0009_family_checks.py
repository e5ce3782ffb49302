import django.contrib.postgres.fields
from django.db import migrations, models

import sessions_app.ids


class Migration(migrations.Migration):
    """Table of imports whose families are to be linked after them. It is empty most of the time."""

    dependencies = [("vcon_app", "0008_spans")]

    operations = [
        migrations.CreateModel(
            name="FamilyCheck",
            fields=[
                ("id", models.UUIDField(default=sessions_app.ids.uuid7, primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("source_format", models.CharField(max_length=40)),
                ("sessions", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                ("agents", django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ("due_at", models.DateTimeField()),
            ],
        ),
    ]
