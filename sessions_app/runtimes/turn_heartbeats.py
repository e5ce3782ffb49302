"""Heartbeats of the turns that this process is at: one thread and one connection for all of them.

A thread for each turn took a connection every second, and 32 of them those that the turns themselves waited for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, connections

from sessions_app.services.turns import in_flight

from .run import TurnRun

log = logging.getLogger(__name__)
BEAT_SECONDS = 1.0


class TurnHeartbeats:
    """The thread, which lives while there are turns, and the turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: list[TurnRun] = []
        self._thread: threading.Thread | None = None
        self._changed = threading.Event()

    @contextmanager
    def during(self, turn: TurnRun) -> Iterator[None]:
        """For a block, write the heartbeat of a turn every second and note what it finds."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._changed.clear()
                thread = threading.Thread(target=self._beat, name="turn-heartbeats", daemon=True)
                thread.start()  # raises where the system has none left: this turn goes to another worker, no other does
                self._thread = thread
            self._turns.append(turn)
        try:
            yield
        finally:
            self._leave(turn)

    def _leave(self, turn: TurnRun) -> None:
        """A thread without turns ends, and is waited for: it would keep a connection, and in tests the database."""
        with self._lock:
            self._turns.remove(turn)
            if self._turns or self._thread is None:
                return
            last, self._thread = self._thread, None
            self._changed.set()
            last.join()

    def _beat(self) -> None:
        ended = self._changed
        try:
            while not ended.wait(BEAT_SECONDS):
                self._beat_once()
        finally:
            connections.close_all()

    def _beat_once(self) -> None:
        # Without the lock: who leaves last holds it while this thread ends.
        turns = list(self._turns)
        try:
            found = in_flight.beat(turn.flight for turn in turns)
        except (DatabaseError, InterfaceError) as error:
            log.warning("the heartbeats of %d turns were not written: %s", len(turns), error)
            connections.close_all()
            return
        for turn in turns:
            turn.note_beat(found.get(turn.session_id))


turn_heartbeats = TurnHeartbeats()
