"""Tests work with the rights of the desk's role; what only an owner can do (tampering, emptying tables) says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.backends.utils import CursorWrapper

from config.database import roles

_sql_flush = DatabaseOperations.sql_flush


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


def _flush_as_owner(operations: DatabaseOperations, *args: Any, **options: Any) -> list[str]:
    """Empty all tables after a test that committed: TRUNCATE is the owner's, who has to say that it is erasure."""
    statements = _sql_flush(operations, *args, **options)
    return ["SET LOCAL ROLE none", "SET LOCAL countersign.erase = 'on'", *statements] if statements else []


DatabaseOperations.sql_flush = _flush_as_owner  # type: ignore[method-assign]
