import django.contrib.postgres.indexes
from django.db import migrations, models

import sessions_app.models.usage

from ._concurrently import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    """Sessions that go on from before a period, or a month, and those of an agent that wait, are found one by one."""

    atomic = False
    dependencies = [("sessions_app", "0059_file_texts")]

    operations = [
        AddIndexConcurrently(
            model_name="sessionusage",
            index=django.contrib.postgres.indexes.GistIndex(
                sessions_app.models.usage.GoesOn("first_day", "day"),
                condition=models.Q(("first_day__lt", models.F("day"))),
                name="session_usage_goes_on",
            ),
        ),
        AddIndexConcurrently(
            model_name="sessionusage",
            index=models.Index(
                fields=["workspace", "kind", "day"],
                condition=models.Q(("first_day__lt", sessions_app.models.usage.MonthOf("day"))),
                name="session_usage_months",
            ),
        ),
        RemoveIndexConcurrently(model_name="sessionusage", name="session_usage_later"),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                condition=models.Q(("pending_approvals__gt", 0)), fields=["agent"], name="session_waiting_of_agent"
            ),
        ),
    ]
