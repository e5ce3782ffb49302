"""The tables of an empty database, made at once from today's models.

The migrations lead to the same tables, function for function (a test compares them), and took 6 of the 8 CPU seconds of
a first start: Django builds the models of the whole project anew around every operation of the history.
"""

from __future__ import annotations

from django.apps import apps
from django.db import connection
from django.db.migrations import RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

NO_STATE = ProjectState()
"""SQL is run as it stands, whatever the models are."""


def is_empty() -> bool:
    """Whether the database has no table yet."""
    return not connection.introspection.table_names()


def create() -> None:
    """Make all tables, run the SQL of the migrations (functions and triggers), and record every migration as applied:
    all in one transaction.

    What migrations do to rows by Python is left out: there are none.
    """
    executor = MigrationExecutor(connection)
    migrations = [migration for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
    recorder = MigrationRecorder(connection)
    with connection.schema_editor() as editor:
        for model in apps.get_models():
            if model._meta.can_migrate(connection):
                editor.create_model(model)
        for statement in editor.deferred_sql:  # foreign keys, some of which the SQL of a migration changes
            editor.execute(statement, None)
        editor.deferred_sql.clear()
        for migration in migrations:
            for operation in migration.operations:
                if isinstance(operation, RunSQL):
                    operation.database_forwards(migration.app_label, editor, NO_STATE, NO_STATE)
        recorder.ensure_schema()
        recorder.migration_qs.bulk_create(
            recorder.Migration(app=migration.app_label, name=migration.name) for migration in migrations
        )
