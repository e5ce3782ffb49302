"""Databases of their own for tests of what an installation makes of one: empty, migrated, or loaded from a dump."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import psycopg
from django.conf import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config.database.cluster import binaries


def url_of(parameters: dict[str, str]) -> str:
    """``DATABASE_URL`` of libpq's parameters."""
    user, password = quote(parameters.get("user", "")), quote(parameters.get("password", ""))
    host, port = quote(parameters.get("host", ""), safe=""), parameters.get("port", "5432")
    return f"postgresql://{user}:{password}@{host}:{port}/{parameters['dbname']}"


@contextmanager
def new_database(template: str = "template1") -> Iterator[dict[str, str]]:
    """A database on the server of the tests, empty or the copy of one that nobody is connected to; libpq's parameters
    of it. It is dropped at the end."""
    name = f"t{uuid4().hex[:20]}"
    server = make_conninfo(**settings.DATABASE_OWNER_PARAMETERS | {"dbname": "postgres"})
    with psycopg.connect(server, autocommit=True) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield settings.DATABASE_OWNER_PARAMETERS | {"dbname": name}
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def load(parameters: dict[str, str], dump: bytes) -> None:
    """Run a plain dump in a database, by the psql of the server's wheel: it holds COPY and psql's own commands."""
    command = [binaries() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", make_conninfo(**parameters)]
    done = subprocess.run(command, input=dump, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()


def unpack(documents: Path, directory: Path) -> None:
    """The documents of an older installation, an archive of ours; before Python 3.11.4 there is no filter to name."""
    with tarfile.open(documents) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(directory)


def rows(connection: psycopg.Connection, table: str, columns: list[str]) -> list[str]:
    """Each row of a table as JSON with these columns, in an order of its own."""
    chosen = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("SELECT row_to_json(found)::text FROM (SELECT {} FROM {}) AS found")
    return sorted(row[0] for row in connection.execute(query.format(chosen, sql.Identifier(table))))


def columns(connection: psycopg.Connection) -> dict[str, list[str]]:
    """The tables of the schema ``public`` with their columns."""
    found: dict[str, list[str]] = {}
    query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
    for table, column in connection.execute(query):
        found.setdefault(table, []).append(column)
    return found
