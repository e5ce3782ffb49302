"""Work that one process of the installation does at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def one_at_a_time(work: str) -> Iterator[bool]:
    """Whether nobody else is at this work, until the end of the block.

    A lock of the connection, not of a transaction, since none may be open that long; a process that dies lets go.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtext(%s), 0)", [work])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        if is_alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s), 0)", [work])
