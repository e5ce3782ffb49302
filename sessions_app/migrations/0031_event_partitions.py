import django.db.models.deletion
from django.db import migrations, models

from ._partitions_0031 import ANALYZE, FUNCTIONS, KEEP_LOGS, LIMIT, MAKE, SWAP, VALIDATE, RunPatiently


class Migration(migrations.Migration):
    """Events in parts, by the month in which their session was made. There is no way back but a backup."""

    atomic = False
    dependencies = [("sessions_app", "0030_indexes_of_names")]

    operations = [
        migrations.RunSQL(FUNCTIONS),
        RunPatiently(KEEP_LOGS),
        RunPatiently(LIMIT),
        migrations.RunSQL(VALIDATE),
        RunPatiently(
            SWAP,
            state_operations=[
                migrations.AlterField(
                    "event",
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="sessions_app.session",
                    ),
                )
            ],
        ),
        RunPatiently(MAKE),
        migrations.RunSQL(ANALYZE),
    ]
