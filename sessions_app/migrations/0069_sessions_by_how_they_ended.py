import datetime

import django.db.models.functions.comparison
from django.db import migrations, models

from ._concurrently import AddIndexConcurrently

ENDED = models.Case(
    models.When(pending_approvals__gt=0, then=models.Value("waiting")),
    models.When(phase="crashed", then=models.Value("error")),
    models.When(phase="timed_out", then=models.Value("error")),
    models.When(phase="cancelled", then=models.Value("cancelled")),
    models.When(status="idle", phase="completed", ending="", then=models.Value("completed")),
    models.When(status="idle", phase="completed", ending="ended_in_error", then=models.Value("error")),
    models.When(status="idle", phase="completed", then=models.F("ending")),
    default=models.F("status"),
    output_field=models.TextField(),
)


class Migration(migrations.Migration):
    """Sessions by how they ended, in the order of the list.

    Nothing that is in the index changes with an event: it costs an append no more than those by status and approvals
    do. ``ANALYZE``: without it PostgreSQL takes a half of a hundredth of all sessions for each of its words.
    """

    atomic = False
    dependencies = [("sessions_app", "0068_how_files_end")]

    operations = [
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"),
                ENDED,
                django.db.models.functions.comparison.Coalesce(
                    models.F("started_at"),
                    models.Value(datetime.datetime(1, 1, 2, 0, 0, tzinfo=datetime.UTC)),
                    output_field=models.DateTimeField(),
                ),
                models.F("id"),
                name="session_by_ended",
            ),
        ),
        migrations.RunSQL("ANALYZE sessions_app_session", migrations.RunSQL.noop),
    ]
