"""Tests work with the rights of the desk's role; what only an owner can do (tampering, emptying tables) says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase

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


WITH_PAGES = """
SELECT c.oid::regclass::text FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE coalesce(i.inhparent, c.oid) = ANY(%s::regclass[]) AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0
"""
"""Of some tables, those in which something was written since they were made, and such parts of them."""


@cache
def _tables() -> list[str]:
    found = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [connection.ops.quote_name(table) for table in found if table not in KEPT]


def _empty_tables(_: TransactionTestCase) -> None:
    """Empty all tables after a test that committed: the owner's right, who has to say that it is erasure.

    In place of Django's own, which looks for the rows of each model and permission afterwards, as if there had been a
    migration. Rows are deleted, with triggers and foreign keys off: TRUNCATE writes new files for 80 tables and their
    indexes, of which a test has used a few, and takes ten times as long.
    """
    for _ in range(TRIES - 1):
        with suppress(OperationalError):  # a process of the test holds some tables and waits for others
            return _delete_rows()
    _delete_rows()


def _delete_rows() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL ROLE none; SET LOCAL countersign.erase = 'on'; SET LOCAL session_replication_role = replica; "
            # what a process of the test still writes is emptied too
            f"LOCK TABLE {', '.join(_tables())} IN EXCLUSIVE MODE"
        )
        cursor.execute(WITH_PAGES, [_tables()])
        if written := [table for (table,) in cursor.fetchall()]:
            cursor.execute("; ".join(f"DELETE FROM {table}" for table in written))


TransactionTestCase._fixture_teardown = _empty_tables  # type: ignore[method-assign]
