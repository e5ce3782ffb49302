"""An empty database is made at once, and it is the one that the history of the migrations makes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from config.database.cluster import binaries
from config.env import BASE_DIR
from tests import databases

AT_ONCE = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
BY_HISTORY = [
    sys.executable,
    "-c",
    "import django; django.setup()\n"
    "from django.core.management import call_command\n"
    "from django.core.management.commands.migrate import Command\n"
    "call_command(Command(), verbosity=0)",
]
OF_AUTH = ("auth_group_permissions", "auth_user_groups", "auth_user_user_permissions")
"""Tables of Django's own whose ``id`` is bigint in its migrations and integer in its models; nothing refers to it."""


def made_by(command: list[str], parameters: dict[str, str], data_dir: object) -> None:
    environment = os.environ | {"DATABASE_URL": databases.url_of(parameters), "COUNTERSIGN_DATA_DIR": str(data_dir)}
    done = subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def statements(parameters: dict[str, str]) -> list[str]:
    """What ``pg_dump`` writes of the schema, each statement with its lines in order: that of columns may differ."""
    command = [binaries() / "pg_dump", "--schema-only", "--no-owner", "--schema=public", make_conninfo(**parameters)]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = []
    for statement in dump.split(";\n\n"):
        lines = [line.strip().rstrip(",") for line in statement.splitlines() if not line.startswith(("--", "\\"))]
        if any(f"CREATE TABLE public.{table} " in statement for table in OF_AUTH):
            lines = [line.replace("id bigint NOT NULL", "id integer NOT NULL") for line in lines]
        found.append("\n".join(sorted(filter(None, lines))))
    return sorted(found)


def counts(parameters: dict[str, str]) -> dict[str, Any]:
    with psycopg.connect(make_conninfo(**parameters)) as connection:
        tables = databases.columns(connection)
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}  # type: ignore[index]


@pytest.fixture
def two_databases(database_server, tmp_path):
    with databases.new_database() as at_once, databases.new_database() as by_history:
        made_by(AT_ONCE, at_once, tmp_path / "one")
        made_by(BY_HISTORY, by_history, tmp_path / "two")
        yield at_once, by_history


def test_every_table_index_constraint_function_and_row_is_that_of_the_migrations(two_databases):
    at_once, by_history = map(statements, two_databases)
    assert len(by_history) > 400
    assert [one for one in at_once if one not in by_history] == []
    assert [one for one in by_history if one not in at_once] == []
    at_once, by_history = map(counts, two_databases)
    assert at_once == by_history
    assert at_once["django_migrations"] >= 40
    assert at_once["auth_permission"] > 200
