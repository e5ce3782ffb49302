"""Whether a database is one that this code can work on: its PostgreSQL, its migrations, and the columns it really has.

``django_migrations`` alone does not tell: a database that another history of the same names has made counts as up to
date there, and every page fails. So the columns are compared as well, by one query of the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState
from django.db.models import Model

from config.database.cluster import MAJOR

OUR_APPS = ("sessions_app", "vcon_app")
SHOWN = 3

Columns = dict[str, set[str]]
"""Table to the names of its columns."""

# Not information_schema: that shows a role only what it has rights on.
COLUMNS_SQL = """
SELECT class.relname, attribute.attname,
       attribute.attnotnull AND NOT attribute.atthasdef AND attribute.attidentity = '' AS has_to_be_given
FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
WHERE class.relnamespace = current_schema()::regnamespace AND class.relkind IN ('r', 'p')
      AND attribute.attnum > 0 AND NOT attribute.attisdropped
"""


def version_fault() -> str | None:
    """Whether the server is older than the PostgreSQL that everything was tested on."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, current_setting('server_version')")
        number, name = cursor.fetchone()
    if number >= MAJOR * 10_000:
        return None
    return f"the server is PostgreSQL {name.split()[0]}, and Countersign needs {MAJOR} or later"


def fault(executor: MigrationExecutor) -> str | None:
    """Why this code cannot work on the database, or None. Migrations that are only missing are no such fault."""
    unknown = sorted(set(executor.loader.applied_migrations) - set(executor.loader.graph.nodes))
    unknown = [name for name in unknown if name[0] in OUR_APPS]
    if unknown:
        newest = ".".join(unknown[-1])
        return f"a newer Countersign has changed this database ({newest}): start that version, or restore a backup"
    differing = _differences(executor)
    if not differing:
        return None
    more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    return (
        f"the tables are not those of its migrations, so another version has made them ({', '.join(differing[:SHOWN])}"
        f"{more}): start the version that made it, or use another database or data directory; nothing was changed"
    )


def _differences(executor: MigrationExecutor) -> list[str]:
    """What is missing or too much in our tables, against the state that the applied migrations lead to."""
    applied = [name for name in executor.loader.applied_migrations if name in executor.loader.graph.nodes]
    expected = _columns_of(executor.loader.project_state(applied) if applied else ProjectState())
    found, needed = _columns_found()
    differing: list[str] = []
    for table, columns in sorted(expected.items()):
        if table not in found:
            differing.append(f"no table {table}")
            continue
        differing += [f"no column {table}.{column}" for column in sorted(columns - found[table])]
        differing += [f"an unknown column {table}.{column}" for column in sorted(needed[table] - columns)]
    to_be_made = {model._meta.db_table for model in _our_models()} - expected.keys()
    return differing + [f"an unknown table {table}" for table in sorted(to_be_made & found.keys())]


def _our_models() -> Iterable[type[Model]]:
    return [model for app in OUR_APPS for model in apps.get_app_config(app).get_models(include_auto_created=True)]


def _columns_of(state: ProjectState) -> Columns:
    """Tables of our apps in a state of the migrations. Its models are not rendered, which would take 0.3 s."""
    expected: Columns = {}
    for (app, name), model in state.models.items():
        if app not in OUR_APPS or model.options.get("proxy") or not model.options.get("managed", True):
            continue
        table = expected.setdefault(model.options.get("db_table") or f"{app}_{name}", set())
        for field_name, field in model.fields.items():
            own = field.clone()
            own.set_attributes_from_name(field_name)
            if own.column is not None and not own.many_to_many:
                table.add(own.column)
    return expected


def _columns_found() -> tuple[Columns, Columns]:
    """All columns of the database, and of these the ones that every insert has to give a value."""
    found: Columns = {}
    needed: Columns = {}
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS_SQL)
        for table, column, has_to_be_given in cursor.fetchall():
            found.setdefault(table, set()).add(column)
            needed.setdefault(table, set())
            if has_to_be_given:
                needed[table].add(column)
    return found, needed
