import datetime

import django.db.models.functions.comparison
from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Sessions by what reviewers say of them, and by who is to review them, in the order of the list."""

    atomic = False
    dependencies = [("sessions_app", "0039_reviews")]

    operations = [
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"),
                models.F("verdict"),
                django.db.models.functions.comparison.Coalesce(
                    models.F("started_at"),
                    models.Value(datetime.datetime(1, 1, 2, 0, 0, tzinfo=datetime.UTC)),
                    output_field=models.DateTimeField(),
                ),
                models.F("id"),
                name="session_by_verdict",
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("assignee"),
                django.db.models.functions.comparison.Coalesce(
                    models.F("started_at"),
                    models.Value(datetime.datetime(1, 1, 2, 0, 0, tzinfo=datetime.UTC)),
                    output_field=models.DateTimeField(),
                ),
                models.F("id"),
                condition=models.Q(("assignee__isnull", False)),
                name="session_by_assignee",
            ),
        ),
    ]
