from typing import Any

from django.db import migrations, models

from ._agent_days_0033 import seen
from ._concurrently import AddIndexConcurrently

BATCH = 2_000
FILL = f"""
WITH batch AS (
    SELECT session_id FROM sessions_app_sessionmeasures WHERE session_id > %s ORDER BY session_id LIMIT %s
), written AS (
    UPDATE sessions_app_sessionmeasures m SET agent_id = s.agent_id, seen = {seen("s")}
    FROM sessions_app_session s WHERE s.id = m.session_id AND m.seen IS NULL AND m.session_id IN (SELECT * FROM batch)
)
SELECT max(session_id::text) FROM batch
"""


def fill(apps: Any, schema_editor: Any) -> None:
    """Measure the sessions that nothing has written since, a batch a transaction; one that was killed goes on."""
    after = "00000000-0000-0000-0000-000000000000"
    with schema_editor.connection.cursor() as cursor:
        while after:
            cursor.execute(FILL, [after, BATCH])
            (after,) = cursor.fetchone()


class Migration(migrations.Migration):
    """The agent of a session and when it was last seen, and what it spent in all, with their indexes."""

    atomic = False
    dependencies = [("sessions_app", "0033_agent_days")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexConcurrently(
            model_name="sessionmeasures",
            index=models.Index(fields=["agent", "seen"], name="measures_seen"),
        ),
        AddIndexConcurrently(
            model_name="sessionmeasures",
            index=models.Index(
                models.F("workspace"),
                models.F("cost") + models.F("data"),
                models.F("session"),
                name="measures_by_spent",
            ),
        ),
    ]
