from typing import Any

from django.db import migrations, models

from ._concurrently import AddIndexConcurrently
from ._first_used_0067 import BACKWARD, FILL, FORWARD

BATCH = 2_000


def fill(apps: Any, schema_editor: Any) -> None:
    """Of the sessions that are there, a batch a transaction; one that was killed goes on."""
    after = "00000000-0000-0000-0000-000000000000"
    with schema_editor.connection.cursor() as cursor:
        while after:
            cursor.execute(FILL, [after, BATCH])
            (after,) = cursor.fetchone()


class Migration(migrations.Migration):
    """When a session used something first, beside what it used ever: the dearest of a period without all of it."""

    atomic = False
    dependencies = [("sessions_app", "0066_plans_for_long_sessions")]
    operations = [
        migrations.AddField(
            model_name="sessionmeasures",
            name="first_used",
            field=models.DateField(null=True),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently(
            model_name="sessionmeasures",
            index=models.Index(
                models.F("workspace"),
                models.F("first_used"),
                (models.F("cost") + models.F("data")).desc(),
                models.F("session"),
                name="measures_by_first_used",
            ),
        ),
    ]
