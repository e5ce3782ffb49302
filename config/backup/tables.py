"""Content of the tables: counted and hashed, once from the database and once from a dump of it.

The hash of a table is the sum of its rows' hashes, so the order does not matter, over the lines that COPY writes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config.database import vectors
from config.database.cluster import binaries, last_line

QUEUES = "pgmq"
"""Schema of the queues, which are left out: their messages are hints, and the rows say what is to be done."""
BITS = 128


class Failed(Exception):
    """A backup or a restore cannot be done, or is not what it should be; the message is one sentence."""


@dataclass(slots=True)
class Content:
    """Number of rows of a table, and the sum of their hashes."""

    rows: int = 0
    total: int = 0

    def add(self, line: bytes | bytearray | memoryview) -> None:
        self.rows += 1
        digest = hashlib.blake2b(line, digest_size=BITS // 8).digest()
        self.total = (self.total + int.from_bytes(digest)) % 2**BITS

    def as_json(self) -> dict[str, object]:
        return {"rows": self.rows, "hash": f"{self.total:0{BITS // 4}x}"}


Tables = dict[str, Content]


def connect(parameters: Mapping[str, str]) -> psycopg.Connection:
    """Connection whose dates COPY writes as pg_dump does."""
    connection = psycopg.connect(make_conninfo(**parameters), autocommit=True)
    for setting in (
        "TimeZone TO 'UTC'",
        "DateStyle TO 'ISO'",
        "IntervalStyle TO 'postgres'",
        "extra_float_digits TO 3",
    ):
        connection.execute(f"SET {setting}")
    return connection


def has_table(connection: psycopg.Connection, name: str) -> bool:
    """Whether a table is there: a backup may be of an earlier version."""
    return connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,)


def in_database(connection: psycopg.Connection) -> Tables:
    """Tables of the schema with what is in them."""
    columns: dict[str, list[str]] = {}
    query = """
        SELECT class.relname, attribute.attname FROM pg_attribute AS attribute
        JOIN pg_class AS class ON class.oid = attribute.attrelid
        WHERE class.relnamespace = current_schema()::regnamespace AND class.relkind = 'r'
              AND attribute.attnum > 0 AND NOT attribute.attisdropped AND attribute.attgenerated = ''
        ORDER BY class.relname, attribute.attnum
    """
    for table, column in connection.execute(query).fetchall():
        columns.setdefault(table, []).append(column)
    return {table: _copied(connection, table, names) for table, names in columns.items()}


def _copied(connection: psycopg.Connection, table: str, columns: list[str]) -> Content:
    content = Content()
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with connection.cursor() as cursor, cursor.copy(
        sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table), names)
    ) as rows:  # fmt: skip
        for row in rows:
            content.add(row)
    return content


def dump(parameters: Mapping[str, str], snapshot: str, path: Path) -> None:
    """Write a dump of one snapshot to a file. Raises ``Failed``."""
    options = [
        "--format=custom",
        "--no-owner",
        "--no-privileges",
        f"--exclude-schema={QUEUES}",
        f"--exclude-extension={vectors.EXTENSION}",  # no table needs it, and where it is restored it may lack
        f"--snapshot={snapshot}",
    ]
    _run(["pg_dump", *options, f"--file={path}"], parameters)


def load(parameters: Mapping[str, str], path: Path) -> None:
    """Load a dump into an empty database, all of it or nothing. Raises ``Failed``."""
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    name = parameters["dbname"]
    _run(["pg_restore", *options, f"--dbname={name}", str(path)], parameters)


def in_dump(path: Path) -> Tables:
    """Tables of a dump with what is in them. Raises ``Failed`` for a file that cannot be read to its end."""
    command = [str(binaries() / "pg_restore"), "--data-only", "--file=-", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reading:
        assert reading.stdout is not None and reading.stderr is not None
        found = _tables_in(reading.stdout)
        told = reading.stderr.read()
    if reading.returncode:
        raise Failed(f"{path} cannot be read: {last_line(told)}")
    return found


def _tables_in(lines: Iterable[bytes]) -> Tables:
    found: Tables = {}
    content: Content | None = None
    for line in lines:
        if content is not None:
            if line == b"\\.\n":
                content = None
            else:
                content.add(line)
        elif line.startswith(b"COPY ") and line.endswith(b" FROM stdin;\n"):
            name = line[5:].partition(b" (")[0].partition(b".")[2].strip(b'"').decode()
            content = found[name] = Content()
    return found


def _run(command: list[str], parameters: Mapping[str, str]) -> None:
    """One of the wheel's programs on a database. The password goes through the environment, where ``ps`` shows none."""
    names = {"host": "PGHOST", "port": "PGPORT", "dbname": "PGDATABASE", "user": "PGUSER", "password": "PGPASSWORD"}
    names |= {name: f"PG{name.upper().replace('_', '')}" for name in ("sslmode", "sslrootcert", "sslcert", "sslkey")}
    place = {names[name]: value for name, value in parameters.items() if name in names}
    environment = {"PATH": os.environ.get("PATH", ""), "PGTZ": "UTC", "LC_ALL": "C", **place}
    done = subprocess.run([binaries() / command[0], *command[1:]], env=environment, capture_output=True)
    if done.returncode:
        raise Failed(f"{command[0]} failed: {last_line(done.stderr)}")
