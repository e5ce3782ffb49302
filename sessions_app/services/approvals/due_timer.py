"""A timer of this process: calls a service when the moment of a row has come, within milliseconds.

A hint and no promise: a process that is killed forgets its moments, and a look of the scheduler finds the rows.
"""

from __future__ import annotations

import heapq
import logging
import threading
import time
from collections.abc import Callable
from itertools import count
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connections, transaction

log = logging.getLogger(__name__)
Call = Callable[[UUID], object]


class DueTimer:
    """One thread that sleeps until the next moment, and ends when none is left."""

    def __init__(self) -> None:
        self._moments: list[tuple[float, int, Call, UUID]] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, seconds: float, call: Call, row_id: UUID) -> None:
        """Have it called so many seconds from now, by a clock that nobody sets."""
        with self._changed:
            heapq.heappush(self._moments, (time.monotonic() + seconds, next(self._numbers), call, row_id))
            if self._thread is None or not self._thread.is_alive():  # it died, or another process had it before a fork
                thread = threading.Thread(target=self._run, name="due timer", daemon=True)
                thread.start()  # raises where the system has none left: the next moment tries again
                self._thread = thread
            self._changed.notify()

    def _run(self) -> None:
        while moment := self._next():
            call, row_id = moment
            try:
                call(row_id)
            except (DatabaseError, InterfaceError) as fault:
                log.info("the scheduler will see to %s: %s", row_id, str(fault).strip())
            except Exception:
                log.exception("%s failed for %s", call.__name__, row_id)
            finally:
                connections.close_all()

    def _next(self) -> tuple[Call, UUID] | None:
        """The next whose moment has come; None, and the thread ends, when there is none."""
        with self._changed:
            while self._moments:
                left = self._moments[0][0] - time.monotonic()
                if left <= 0:
                    _, _, call, row_id = heapq.heappop(self._moments)
                    return call, row_id
                self._changed.wait(left)
            self._thread = None
            return None


_timer = DueTimer()


def call_in(seconds: float, call: Call, row_id: UUID) -> None:
    """Call it with a row so many seconds after the transaction that changed the row is committed."""
    transaction.on_commit(lambda: _timer.add(seconds, call, row_id), robust=True)
