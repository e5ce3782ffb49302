"""A database that does not fit the code is refused in one sentence, by `up`, the doctor and ``/readyz``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from psycopg.conninfo import make_conninfo

from config import health, prepare
from config.database import schema
from config.env import BASE_DIR, ConfigError
from tests import databases
from tests.database_roles import as_owner

MANAGE = [sys.executable, str(BASE_DIR / "manage.py")]
OTHER_HISTORY = [
    ("DROP TABLE sessions_app_schedule CASCADE", "no table sessions_app_schedule"),
    ("ALTER TABLE sessions_app_session DROP COLUMN summary", "no column sessions_app_session.summary"),
    ("ALTER TABLE sessions_app_agent ADD COLUMN colour text NOT NULL", "an unknown column sessions_app_agent.colour"),
    ("DELETE FROM django_migrations WHERE app = 'vcon_app'", "an unknown table vcon_app_"),
]


def fault() -> str | None:
    return schema.fault(MigrationExecutor(connection))


@pytest.mark.django_db
def test_the_tables_of_the_migrations_fit():
    assert (fault(), schema.version_fault(), health.migrations_fault()) == (None, None, None)


@pytest.mark.django_db
@pytest.mark.parametrize(("change", "named"), OTHER_HISTORY)
def test_tables_of_another_history_are_named(client, change, named):
    with as_owner() as cursor:
        if "DROP" not in change and "DELETE" not in change:
            cursor.execute("DELETE FROM sessions_app_agent")
        cursor.execute(change)
    assert named in fault()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["part"]) == (503, "migrations")
    assert named in answer.json()["detail"]


@pytest.mark.django_db
def test_columns_that_somebody_added_for_themselves_are_no_fault():
    with as_owner() as cursor:
        cursor.execute("ALTER TABLE sessions_app_agent ADD COLUMN colour text")
    assert fault() is None


@pytest.mark.django_db
def test_a_database_of_a_newer_version_is_named():
    with as_owner() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('vcon_app', '9999_later', now())")
    assert "a newer Countersign has changed this database (vcon_app.9999_later)" in fault()


@pytest.mark.django_db(transaction=True)
def test_a_server_that_is_too_old_is_named(monkeypatch):
    monkeypatch.setattr(schema, "MAJOR", 99)
    assert "and Countersign needs 99 or later" in health.database_fault()
    with pytest.raises(ConfigError, match="the server is PostgreSQL 1[89].* needs 99"):
        prepare.database()


@pytest.fixture
def other_database(database_server: None) -> Iterator[dict[str, str]]:
    with databases.new_database() as parameters:
        yield parameters


def run(parameters: dict[str, str], data_dir: object, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DATABASE_URL": databases.url_of(parameters), "COUNTERSIGN_DATA_DIR": str(data_dir)}
    environment |= {"DEBUG": "True"}  # no static files are compressed, which is most of what a start takes
    return subprocess.run([*MANAGE, *arguments], env=environment, capture_output=True, text=True, timeout=150)


def test_up_refuses_a_database_that_does_not_fit(migrated_database, tmp_path):
    with databases.new_database(migrated_database) as parameters:
        assert run(parameters, tmp_path, "prepare").returncode == 0
        with psycopg.connect(make_conninfo(**parameters)) as database:
            database.execute(OTHER_HISTORY[0][0])
        done = run(parameters, tmp_path, "up", "--port", "0")
        doctor = run(parameters, tmp_path, "doctor")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert doctor.returncode == 1
    assert "fault  migrations" in doctor.stdout


def test_up_refuses_tables_that_no_migration_made(other_database, tmp_path):
    with psycopg.connect(make_conninfo(**other_database)) as database:
        database.execute("CREATE TABLE sessions_app_session (id uuid)")
    done = run(other_database, tmp_path, "up", "--port", "0")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    with psycopg.connect(make_conninfo(**other_database)) as database:
        assert list(databases.columns(database)) in (
            ["sessions_app_session"],
            ["django_migrations", "sessions_app_session"],
        )


def test_two_hosts_that_start_on_an_empty_database_both_find_it_ready(other_database, tmp_path):
    environment = os.environ | {
        "DATABASE_URL": databases.url_of(other_database),
        "DEBUG": "True",
        "SECRET_KEY": "an invented key that both of them have",
        "STORAGE_URL": f"file://{tmp_path}/shared",
    }
    hosts = [
        subprocess.Popen([*MANAGE, "prepare"], env=environment | {"COUNTERSIGN_DATA_DIR": str(tmp_path / name)})
        for name in ("one", "two")
    ]
    assert [host.wait(150) for host in hosts] == [0, 0]
