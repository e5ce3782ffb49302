"""``python -m config.processes.scheduler``: the part that calls what time brings about, on one host at a time.

Each host has one. The one that holds an advisory lock of the database leads; the others wait for the lock, which ends
with the connection of its holder. Each copies the heartbeats of its host into the database, too.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from typing import Any

import django

django.setup()

import psycopg  # noqa: E402
from celery.schedules import BaseSchedule  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import DatabaseError, InterfaceError, connections  # noqa: E402
from psycopg.conninfo import make_conninfo  # noqa: E402

from config.celery import app  # noqa: E402
from config.database import pool  # noqa: E402
from config.prepare import connection_parameters  # noqa: E402
from config.processes import heartbeats, part_heartbeat  # noqa: E402
from config.processes.heartbeat_files import BEAT_SECONDS  # noqa: E402

log = logging.getLogger(__name__)
LOCK = 0x7363686564756C65
"""Of the scheduler that leads: "schedule". The next numbers are for those that lead while a connection that holds one of
these was told to end and does not."""
TICK_SECONDS = 0.5
CONNECTIONS = 4
"""That looks share, and the copying of heartbeats; the lock has one more."""
UNLED_SECONDS = 10.0
"""A holder of the lock that has shown no heartbeat for so long hangs, while its connection lives: it is ended."""
LOOK_SECONDS, CALL_SECONDS = 60.0, 1_800.0
"""A look that takes longer hangs, and this process with it: the supervisor starts it again. The second is for looks
that ask other servers: a hundred of them that do not answer are no fault of ours."""
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

    A holder that hangs is told to end; where not even its process at the server moves, it keeps the lock. Then the next
    lock is as good: of who holds any of them nobody leads but who, holding one, has told all other holders to end.
    Those end at their next question, so of two the one that looked first is told, or seen by the other.
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


class Look:
    """A short task that is called here, in a thread of its own, never twice at once."""

    def __init__(self, name: str, call: Callable[[], object], seconds: float, most_seconds: float) -> None:
        self.name, self._call, self._seconds, self._most_seconds = name, call, seconds, most_seconds
        self._due = 0.0
        self._began = 0.0
        self._running: Future[None] | None = None

    def start_if_due(self, threads: ThreadPoolExecutor) -> None:
        """Call it, unless it is not time or the last call still runs."""
        now = time.monotonic()
        if now >= self._due and not self.runs():
            self._due, self._began = now + self._seconds, now
            self._running = threads.submit(self._run)

    def runs(self) -> bool:
        """Whether it is being called now."""
        return self._running is not None and not self._running.done()

    def hangs(self) -> bool:
        """Whether it has been running for too long."""
        return self.runs() and time.monotonic() - self._began > self._most_seconds

    def _run(self) -> None:
        try:
            self._call()
        except (DatabaseError, InterfaceError) as fault:
            log.warning("%s waits for the database: %s", self.name, str(fault).strip())
        except Exception:  # the next look comes in any case
            log.exception("%s failed", self.name)
        finally:
            connections.close_all()


class Message:
    """A task that is sent to a worker when it is time."""

    def __init__(self, name: str, when: BaseSchedule) -> None:
        self.name, self._when = name, when
        self._last: datetime = app.now()

    def send_if_due(self) -> None:
        """Send it. With a broker that is away it is tried again at the next look."""
        due, seconds = self._when.is_due(self._last)
        if not due:
            return
        try:
            app.send_task(self.name, expires=seconds, retry=False)
        except Exception as fault:  # of any broker's client
            log.warning("%s waits for the broker: %s", self.name, str(fault).strip())
        else:
            self._last = app.now()


class Scheduler:
    """The scheduler of this host."""

    def __init__(self) -> None:
        app.loader.import_default_modules()
        self.leadership = Leadership()
        self.looks = [
            Look(name, app.tasks[name], seconds, CALL_SECONDS if name in settings.CALL_OTHERS else LOOK_SECONDS)
            for name, seconds in settings.LOOKS.items()
        ]
        self.messages: list[Message] = []
        self._progress, self._copying = part_heartbeat.Progress(), part_heartbeat.Progress()
        self._stop, self._writing = threading.Event(), threading.Lock()
        self._began = time.monotonic()

    def run(self) -> None:
        """Go on until SIGTERM."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        threading.Thread(target=self._copy_heartbeats, name="copy", daemon=True).start()
        part_heartbeat.begin(self.works)
        threads = ThreadPoolExecutor(len(self.looks), "look")
        while not self._stop.wait(TICK_SECONDS):
            self._tick(threads)
            self._progress.went_round()
        self.leadership.release()  # before the looks that still run are waited for: they may run twice at once
        try:
            with self._writing:  # what is being copied comes before, and nothing after
                heartbeats.leave()
        except (DatabaseError, InterfaceError) as fault:
            log.warning("the heartbeats of this host stay for an hour: %s", str(fault).strip())

    def works(self) -> bool:
        """Whether both loops go round, and no look hangs."""
        return self._progress.is_made() and self._copying.is_made() and not any(look.hangs() for look in self.looks)

    def _tick(self, threads: ThreadPoolExecutor) -> None:
        led = self.leadership.held
        if not self.leadership.look():
            return
        if not led:  # a new leader: what the one before has sent is not known
            self.messages = [Message(name, when) for name, when in settings.SENT.items()]
        for look in self.looks:
            look.start_if_due(threads)
        for message in self.messages:
            message.send_if_due()

    def _copy_heartbeats(self) -> None:
        while True:
            try:
                with self._writing:
                    self._copy()
            except (DatabaseError, InterfaceError) as fault:
                log.warning("the heartbeats of this host wait for the database: %s", str(fault).strip())
                connections.close_all()
            self._copying.went_round()
            if self._stop.wait(BEAT_SECONDS):
                return

    def _copy(self) -> None:
        if not self._stop.is_set():
            up_seconds = time.monotonic() - self._began
            heartbeats.copy(settings.DATA_DIR, leads=self.leadership.held, up_seconds=up_seconds)


def main() -> None:
    """Run the scheduler of this host."""
    pool.share(CONNECTIONS, patience=pool.WORKER_PATIENCE)
    Scheduler().run()


if __name__ == "__main__":
    main()
