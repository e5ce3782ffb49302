"""Indexes that are made and dropped while the table is written: for tables that are large in an installation of years.

``CREATE INDEX CONCURRENTLY`` runs in no transaction. A process that is killed in it leaves an index that is not valid,
and one that is killed after it leaves an index that the migration does not know of: both are mended by running the
migration again. The migration says ``atomic = False``.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres import operations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

STATE = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(quote_ident(%s))"


def is_valid(schema_editor: BaseDatabaseSchemaEditor, name: str) -> bool | None:
    """Whether an index can be used; None where there is none of this name."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(STATE, [name])
        row = cursor.fetchone()
    return row[0] if row else None


class AddIndexConcurrently(operations.AddIndexConcurrently):
    """Add an index; what a killed process left of it is taken away first, and a whole one is kept."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        there = is_valid(schema_editor, self.index.name)
        if there:
            return
        if there is False:
            model = to_state.apps.get_model(app_label, self.model_name)
            schema_editor.remove_index(model, self.index, concurrently=True)
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class RemoveIndexConcurrently(operations.RemoveIndexConcurrently):
    """Remove an index, which may be gone already."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        if is_valid(schema_editor, self.name) is not None:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
