"""Which host's scheduler leads: an advisory lock of the database says so, and heartbeats whether its holder hangs."""

from __future__ import annotations

import logging
import time
from typing import Any

import psycopg
from django.db import connection as djangos
from psycopg.conninfo import make_conninfo

from config.prepare import connection_parameters

log = logging.getLogger(__name__)
LOCK = 0x7363686564756C65
"""Of the scheduler that leads: "schedule". The next numbers are for those that lead while a connection that holds one
of these was told to end and does not."""
UNLED_SECONDS = 10.0
"""A holder of the lock that has shown no heartbeat for so long hangs, while its connection lives: it is ended."""
HANGING = 16
"""Connections that hang at most beside the one that leads."""
OTHERS = """
SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint BETWEEN %(lock)s AND %(lock)s + %(most)s
"""
TAKE = "SELECT 1 FROM generate_series(0, %(places)s) place WHERE pg_try_advisory_lock(%(lock)s + place) LIMIT 1"
LEADER_BEATS = "SELECT 1 FROM config_partheartbeat WHERE leads AND beat_at > now() - %s * interval '1 second'"


class Leadership:
    """The right to call what is due, for as long as one connection of ours holds the lock.

    A holder that hangs is told to end. Where not even its process at the server moves, it keeps the lock, and the next
    one is as good: who holds one leads when, after it was taken, nobody else held any but processes that it had told to
    end, whose next question fails. Of two at once each sees the other's, and neither leads.
    """

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self._unled_since: float | None = None
        self._ended: set[int] = set()
        """Processes of the server that were told to end by us, and have not."""
        self.held = False

    def look(self) -> bool:
        """Whether it is ours, by asking the database: a connection that was ended meanwhile raises here."""
        try:
            if self._connection is None:
                self._connection = psycopg.connect(make_conninfo(**connection_parameters()), autocommit=True)
            self.held = self._still_holds(self._connection) if self.held else self._take(self._connection)
        except psycopg.Error as fault:
            if self.held:
                log.warning("no longer the scheduler that leads: %s", str(fault).strip())
            self.release()
        return self.held

    def release(self) -> None:
        """Give it up; another host's scheduler takes it at its next look."""
        self.held = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _still_holds(self, connection: psycopg.Connection[Any]) -> bool:
        connection.execute("SELECT 1")
        return True

    def _take(self, connection: psycopg.Connection[Any]) -> bool:
        if others := self._others(connection):
            self._end_those_that_hang(connection, others)
            return False
        places = {"lock": LOCK, "places": min(len(self._ended), HANGING)}
        taken = connection.execute(TAKE, places).fetchone() is not None
        if taken and self._others(connection):  # who takes another at the same time sees ours
            connection.execute("SELECT pg_advisory_unlock_all()")
            return False
        if taken:
            log.info("this is the scheduler that leads")
            self._unled_since = None
        return taken

    def _others(self, connection: psycopg.Connection[Any]) -> set[int]:
        """Processes of the server that hold a lock for others, and were not told to end."""
        found = {pid for (pid,) in connection.execute(OTHERS, {"lock": LOCK, "most": HANGING}).fetchall()}
        self._ended &= found  # what is gone: its number may come again
        return found - self._ended

    def _end_those_that_hang(self, connection: psycopg.Connection[Any], holders: set[int]) -> None:
        """End the connections of holders that neither beat nor go: a frozen host answers TCP for ever."""
        if connection.execute(LEADER_BEATS, [UNLED_SECONDS]).fetchone():
            self._unled_since = None
            return
        now = time.monotonic()
        self._unled_since = self._unled_since or now
        if now - self._unled_since > UNLED_SECONDS:
            for pid in holders:
                log.warning("the scheduler that leads shows no heartbeat: ending its connection %s", pid)
                connection.execute("SELECT pg_terminate_backend(%s)", [pid])
            self._ended |= holders
            self._unled_since = None


def hanging() -> set[int]:
    """Processes of the server that hold the lead beside each other: all but one were told to end and do not."""
    with djangos.cursor() as cursor:
        cursor.execute(OTHERS, {"lock": LOCK, "most": HANGING})
        found = {pid for (pid,) in cursor.fetchall()}
    return found if len(found) > 1 else set()
