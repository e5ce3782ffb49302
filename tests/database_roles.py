"""Tests work with the rights of the desk's role; what only an owner can do (tampering, emptying tables) says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.backends.utils import CursorWrapper

from config.database import roles

KEPT = {"django_content_type", "auth_permission"}
"""Tables of Django's own with one row a model and permission."""

TRIES = 5


def work_as_the_desk(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """For Django's signal: a new connection of the tests gives up the owner's rights."""
    if roles.are_two():
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {settings.DATABASE_PARAMETERS['user']}")


@contextmanager
def as_owner() -> Iterator[CursorWrapper]:
    """A cursor with the owner's rights, in the transaction of the test; a statement that fails ends both."""
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        yield cursor
    work_as_the_desk(connection)


def _flush_as_owner(operations: DatabaseOperations, style: Any, tables: list[str], **_: Any) -> list[str]:
    """Empty all tables after a test that committed: the owner's right, who has to say that it is erasure.

    Rows are deleted, with triggers and foreign keys off: TRUNCATE writes new files for 80 tables and their indexes, of
    which a test has used a few, and takes ten times as long. What Django keeps of its own code stays: it would write
    the same rows again after each test.
    """
    if not tables:
        return []
    names = [operations.quote_name(table) for table in tables if table not in KEPT]
    return [
        "SET LOCAL ROLE none", "SET LOCAL countersign.erase = 'on'", "SET LOCAL session_replication_role = replica",
        f"LOCK TABLE {', '.join(names)} IN EXCLUSIVE MODE",  # what a process of the test still writes is emptied too
        "; ".join(f"DELETE FROM {name}" for name in names),
    ]  # fmt: skip


def _flush_until_it_succeeds(operations: DatabaseOperations, statements: list[str]) -> None:
    """Where a process of the test holds some tables and waits for others, PostgreSQL breaks off one of the two."""
    for _ in range(TRIES - 1):
        with suppress(OperationalError):
            return _execute_flush(operations, statements)
    _execute_flush(operations, statements)


_execute_flush = DatabaseOperations.execute_sql_flush
DatabaseOperations.sql_flush = _flush_as_owner  # type: ignore[method-assign]
DatabaseOperations.execute_sql_flush = _flush_until_it_succeeds  # type: ignore[method-assign]
