import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

from . import _search_in_order_0047 as sql
from ._concurrently import AddIndexConcurrently, RemoveIndexConcurrently


class Migration(migrations.Migration):
    """Search rows say when their session began, so that a search reads the newest first and stops early. Rows that are
    there get it while the desk works, the newest first; until then searches read as before."""

    atomic = False
    dependencies = [("sessions_app", "0046_run_findings")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(sql.COLUMN, sql.NO_COLUMN)],
            state_operations=[
                migrations.AddField(
                    model_name="searchblock",
                    name="spans",
                    field=django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), null=True, size=None
                    ),
                )
            ],
        ),
        migrations.RunSQL(sql.FORWARD, sql.BACKWARD),
        AddIndexConcurrently(
            model_name="searchblock",
            index=models.Index(fields=["session"], condition=models.Q(("spans", None)), name="search_block_unplaced"),
        ),
        AddIndexConcurrently(
            model_name="searchblock",
            index=django.contrib.postgres.indexes.GinIndex(
                fastupdate=True, fields=["words", "spans"], gin_pending_list_limit=1024, name="search_block_in_order"
            ),
        ),
        RemoveIndexConcurrently(model_name="searchblock", name="search_block_words"),
    ]
