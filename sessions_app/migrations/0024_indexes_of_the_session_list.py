from datetime import UTC, datetime

import django.db.models.deletion
from django.contrib.postgres.indexes import HashIndex
from django.db import migrations, models
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Coalesce, Left

from ._concurrently import AddIndexConcurrently, RemoveIndexConcurrently

STARTED = Coalesce(
    models.F("started_at"),
    models.Value(datetime(1, 1, 2, 0, 0, tzinfo=UTC)),
    output_field=models.DateTimeField(),
)


class Migration(migrations.Migration):
    """An index for each order and filter of the session list; those of foreign keys that they begin with go."""

    atomic = False
    dependencies = [("sessions_app", "0023_session_measures")]

    operations = [
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"), models.F("created_at"), models.F("id"), name="session_by_created"
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(models.F("workspace"), STARTED, models.F("id"), name="session_by_started"),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(models.F("workspace"), Left("title", 200), models.F("id"), name="session_by_title"),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"), models.F("status"), STARTED, models.F("id"), name="session_by_status"
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"), models.F("origin"), STARTED, models.F("id"), name="session_by_origin"
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(models.F("agent"), STARTED, models.F("id"), name="session_by_agent"),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("opened_by_key"),
                STARTED,
                models.F("id"),
                condition=models.Q(("opened_by_key__isnull", False)),
                name="session_by_key",
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"),
                STARTED,
                models.F("id"),
                condition=models.Q(("error_count__gt", 0)),
                name="session_with_errors",
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=models.Index(
                models.F("workspace"),
                STARTED,
                models.F("id"),
                condition=models.Q(("pending_approvals__gt", 0)),
                name="session_waiting",
            ),
        ),
        AddIndexConcurrently(
            model_name="session",
            index=HashIndex(
                KeyTransform("parent_external_id", "metadata"),
                condition=models.Q(("metadata__has_key", "parent_external_id"), ("parent", None)),
                name="session_orphans",
            ),
        ),
        RemoveIndexConcurrently(
            model_name="session",
            name="session_recent",
        ),
        RemoveIndexConcurrently(
            model_name="session",
            name="session_waits",
        ),
        RemoveIndexConcurrently(
            model_name="session",
            name="session_of_key",
        ),
        migrations.AlterField(
            model_name="session",
            name="agent",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sessions",
                to="sessions_app.agent",
            ),
        ),
        migrations.AlterField(
            model_name="session",
            name="continues",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="continuations",
                to="sessions_app.session",
            ),
        ),
        migrations.AlterField(
            model_name="session",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="sessions",
                to="sessions_app.workspace",
            ),
        ),
    ]
