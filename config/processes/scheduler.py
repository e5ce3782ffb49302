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

import django

django.setup()

from celery.schedules import BaseSchedule  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import DatabaseError, InterfaceError, connections  # noqa: E402

from config.celery import app  # noqa: E402
from config.database import pool  # noqa: E402
from config.processes import heartbeats, part_heartbeat  # noqa: E402
from config.processes.heartbeat_files import BEAT_SECONDS  # noqa: E402
from config.processes.leadership import Leadership  # noqa: E402
from sessions_app.stop_signal import StopSignal  # noqa: E402

log = logging.getLogger(__name__)
TICK_SECONDS = 0.5
CONNECTIONS = 4
"""That looks share, and the copying of heartbeats; the lock has one more."""
LOOK_SECONDS, CALL_SECONDS = 60.0, 1_800.0
"""A look that takes longer hangs, and this process with it: the supervisor starts it again. The second is for looks
that ask other servers: a hundred of them that do not answer are no fault of ours."""


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
        # A clock that was two days ahead and is set right would keep it back for two days.
        self._last = min(self._last, app.now())
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
        self._stop, self._writing = StopSignal(), threading.Lock()
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
