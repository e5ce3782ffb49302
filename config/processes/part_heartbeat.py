"""The heartbeat of a part: a thread that asks whether the part does its work, and says so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from config import env
from config.processes.heartbeat_files import BEAT_SECONDS, SCHEDULER, HeartbeatFile
from sessions_app import counts

log = logging.getLogger(__name__)
_ending, _copying = threading.Event(), threading.Lock()


class Progress:
    """When a loop last went round, and since when it stands still for a reason.

    ``IDLE_SECONDS`` is what a loop that has nothing to do takes at most for one round. ``BUSY_SECONDS`` bounds a job
    that the loop itself does: the largest import that is allowed takes minutes, so after an hour it hangs.
    """

    IDLE_SECONDS, BUSY_SECONDS = 10.0, 3_600.0

    def __init__(self) -> None:
        self._round_at = time.monotonic()
        self._busy_since: float | None = None

    def went_round(self) -> None:
        """The loop is where it looks for work."""
        self._round_at = time.monotonic()

    def begins(self) -> None:
        """The loop does a job itself from now on."""
        self._busy_since = time.monotonic()

    def ends(self) -> None:
        """The job is over."""
        self._busy_since = None
        self.went_round()

    def is_made(self) -> bool:
        """Whether the loop goes round, or is at a job that may take so long."""
        now, busy_since = time.monotonic(), self._busy_since
        if busy_since is not None:
            return now - busy_since < self.BUSY_SECONDS
        return now - self._round_at < self.IDLE_SECONDS


def begin(works: Callable[[], bool]) -> None:
    """Beat as long as ``works()`` is true, if the supervisor has started this process as one of its parts."""
    part = env.read().part
    if part is None:
        return
    logging.getLogger().addHandler(counts.ErrorCounter())
    heartbeat = HeartbeatFile(settings.DATA_DIR, part)
    threading.Thread(target=_beat, args=(heartbeat, works), name="heartbeat", daemon=True).start()
    if part != SCHEDULER:
        threading.Thread(target=_copy_without_scheduler, name="copy", daemon=True).start()


def end() -> None:
    """Forget this host, as its scheduler does, where it has none: its parts are being stopped."""
    _ending.set()
    if env.read().part is None or _has_scheduler():
        return
    with _copying:
        try:
            heartbeats().leave()
        except (DatabaseError, InterfaceError) as fault:
            log.warning("the heartbeats of this host stay for an hour: %s", str(fault).strip())


def _copy_without_scheduler() -> None:
    """Copy the heartbeats of a host that has no scheduler of its own into the database, for the doctor and /metrics.

    All its parts do: the same rows, and none of them has to know whether the others live.
    """
    began = time.monotonic()
    while not _ending.wait(BEAT_SECONDS):
        try:
            if _has_scheduler():
                return
            with _copying:
                if _ending.is_set():  # since it was looked at: the host is forgotten already
                    return
                heartbeats().copy(settings.DATA_DIR, leads=False, up_seconds=time.monotonic() - began)
        except (DatabaseError, InterfaceError) as fault:
            log.warning("the heartbeats of this host wait for the database: %s", str(fault).strip())
        except (OSError, RuntimeError) as fault:  # no file descriptor or thread is free: it passes
            log.warning("the heartbeats of this host wait: %s", fault)
        finally:
            connections.close_all()


def _has_scheduler() -> bool:
    return HeartbeatFile(settings.DATA_DIR, SCHEDULER).beaten_at() is not None


def heartbeats() -> ModuleType:
    """``config.processes.heartbeats``, which needs models: Celery's application is there before them."""
    return import_module("config.processes.heartbeats")


def _beat(heartbeat: HeartbeatFile, works: Callable[[], bool]) -> None:
    while True:
        if works():
            heartbeat.beat(counts.snapshot())
        time.sleep(BEAT_SECONDS)
