"""Indexes of big tables are made while these are written; what a killed migration left of one is mended by the next."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.state import ProjectState

from sessions_app.models import Session
from tests import database_roles

concurrently = importlib.import_module("sessions_app.migrations._concurrently")
NAME = "session_by_title"
DEFINITION = """
SELECT indexdef, indisvalid FROM pg_indexes JOIN pg_index ON indexrelid = to_regclass(indexname) WHERE indexname = %s
"""


def definition(cursor) -> tuple[str, bool] | None:
    cursor.execute(DEFINITION, [NAME])
    return cursor.fetchone()


def run(operation) -> None:
    state = ProjectState.from_apps(apps)
    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("sessions_app", editor, state, state)


@pytest.mark.django_db(transaction=True)
def test_an_index_is_made_again_where_a_killed_migration_left_half_of_it():
    index = next(index for index in Session._meta.indexes if index.name == NAME)
    add = concurrently.AddIndexConcurrently("session", index)
    with database_roles.as_owner() as cursor:
        whole = definition(cursor)
        assert whole and whole[1]
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)", [NAME])
        run(add)
        assert definition(cursor) == whole
        run(add)  # killed after it was made and before the migration was written down
        assert definition(cursor) == whole
        run(concurrently.RemoveIndexConcurrently("session", NAME))
        assert definition(cursor) is None
        run(concurrently.RemoveIndexConcurrently("session", NAME))
        run(add)
        assert definition(cursor) == whole
