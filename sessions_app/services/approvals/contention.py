"""Many who decide one approval at once: who waits holds no connection, and who came too late is told without a lock.

Before, each of them waited for the row of the session with a connection of its own; the pool ran dry, and losers were
told that the database does not answer.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

from django.db import OperationalError, connection, connections, transaction

Result = TypeVar("Result")
LOCK_TIMEOUT = "500ms"
"""Of one try: then the connection goes back, and who waits looks first whether there is still something to decide."""
PATIENCE = 20.0
"""Seconds of tries in all."""
LOST = ("55P03", "40P01")
"""SQLSTATE of a lock that was not given in time, and of a deadlock: both say try again."""


class _Turns:
    """Threads of this process that want the same row, one after the other."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._rows: dict[UUID, tuple[threading.Lock, int]] = {}

    @contextmanager
    def taken(self, row_id: UUID) -> Iterator[None]:
        with self._guard:
            lock, waiting = self._rows.get(row_id, (threading.Lock(), 0))
            self._rows[row_id] = (lock, waiting + 1)
        try:
            if not lock.acquire(blocking=False):
                give_back_connection()
                lock.acquire()
            try:
                yield
            finally:
                lock.release()
        finally:
            with self._guard:
                lock, waiting = self._rows[row_id]
                self._rows[row_id] = (lock, waiting - 1)
                if waiting == 1:
                    del self._rows[row_id]


_turns = _Turns()


def give_back_connection() -> None:
    """Give the connection of this thread back to the pool, unless a transaction of the caller's needs it."""
    if not connection.in_atomic_block:
        connections.close_all()


def attempt(row_id: UUID, still_open: Callable[[], bool], work: Callable[[], Result]) -> Result | None:
    """What ``work`` returns, called in a transaction that waits shortly for its locks; None once it is not open.

    Raises ``OperationalError`` when the locks are not given in 20 s.
    """
    until = time.monotonic() + PATIENCE
    with _turns.taken(row_id):
        while still_open():
            try:
                with transaction.atomic():
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
                    return work()
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", None) not in LOST or time.monotonic() > until:
                    raise
            give_back_connection()
            time.sleep(random.uniform(0.01, 0.06))
    return None
