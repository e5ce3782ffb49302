import django.db.models.deletion
from django.db import migrations, models

from ._usage_0029 import ADDED, DECLARED, _trigger, _upsert

USED_NOTHING = """IF NOT EXISTS (SELECT FROM is_now WHERE began_at IS NOT NULL) THEN
        RETURN NULL;
    END IF;"""


def _turns_added(body: str) -> str:
    return _trigger("turns_added", body, DECLARED).replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


def _without_index(model: str, field: str, index: str, key: models.ForeignKey) -> migrations.SeparateDatabaseAndState:
    """A foreign key without the index of its own. ``AlterField`` would check every row's key anew, under a lock."""
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(
                f"DROP INDEX IF EXISTS {index}", f"CREATE INDEX {index} ON sessions_app_{model} ({field}_id)"
            )
        ],
        [migrations.AlterField(model, field, key)],
    )


def _of_workspace(related: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=related,
        to="sessions_app.workspace",
    )


def _of_session(related: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name=related,
        to="sessions_app.session",
    )


class Migration(migrations.Migration):
    """What writes did for nothing.

    The trigger that adds up what turns used ran its whole statement for turns that have used nothing yet, as all are
    that have just been added or are updated by INSERT ON CONFLICT: half of what it costs to bring a turn up to date
    (0.65 of 1.3 ms). What turns and calls of agents that run here used had indexes that others begin with.
    Changes of usage are a queue, of which vacuum is to come by the rows that went and not by those that were there.
    """

    dependencies = [("sessions_app", "0031_event_partitions")]

    operations = [
        migrations.RunSQL(_turns_added(USED_NOTHING + _upsert(ADDED)), _turns_added(_upsert(ADDED))),
        migrations.RunSQL(
            "ALTER TABLE sessions_app_usagechange"
            " SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);"
            "ANALYZE sessions_app_sessionmeasures;",
            "ALTER TABLE sessions_app_usagechange RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);",
        ),
        _without_index(
            "callusage", "workspace", "sessions_app_callusage_workspace_id_80fb4c67", _of_workspace("call_usages")
        ),
        _without_index(
            "callusage", "session", "sessions_app_callusage_session_id_c85af7cd", _of_session("call_usages")
        ),
        _without_index(
            "turnusage", "workspace", "sessions_app_turnusage_workspace_id_02d6e570", _of_workspace("turn_usages")
        ),
        _without_index(
            "turnusage", "session", "sessions_app_turnusage_session_id_c419c1de", _of_session("turn_usages")
        ),
    ]
