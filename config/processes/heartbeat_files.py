"""Heartbeats of the parts on this host: a file each, which the part renews and the supervisor looks at.

Files, because the supervisor must tell a dead part from a living one while the database is away. The scheduler copies
them into the database for the other hosts (``config.processes.heartbeats``).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

FOLDER = "heartbeats"
"""Below the data directory."""
SCHEDULER, SUPERVISOR = "scheduler", "supervisor"
SILENT_SECONDS = 15.0
"""A part that is silent for so long is taken for dead: seven beats are missing. With its start and what waits meanwhile
that is less than the 30 s after which everything has to run again."""
BEAT_SECONDS = 2.0


class HeartbeatFile:
    """The heartbeat of one part: when it last did its work, and what it has counted."""

    def __init__(self, data_dir: Path, part: str) -> None:
        self.part, self.path = part, data_dir / FOLDER / part

    def beat(self, counters: Mapping[str, float] | None = None) -> None:
        """Say that the part does its work now."""
        now = time.monotonic_ns()
        aside = self.path.with_name(f".{self.part}.{os.getpid()}")
        try:
            aside.write_text(json.dumps(counters or {}))
            os.utime(aside, ns=(now, now))
            aside.replace(self.path)
        except OSError:  # the disk is full: the part lives all the same, and a time needs no room
            with suppress(OSError):
                aside.unlink(missing_ok=True)
                os.utime(self.path, ns=(now, now))

    def beaten_at(self) -> float | None:
        """Monotonic time of the last beat in seconds; None when there was none.

        The file's time is a monotonic clock's, which all processes of a host share: it stands still while a laptop
        sleeps, and nobody sets it.
        """
        try:
            return self.path.stat().st_mtime_ns / 1e9
        except FileNotFoundError:
            return None

    def age(self) -> float:
        """Seconds since the last beat; infinite when there was none."""
        at = self.beaten_at()
        return float("inf") if at is None else max(time.monotonic() - at, 0.0)

    def counters(self) -> dict[str, float]:
        """What the part has counted since it began."""
        try:
            return json.loads(self.path.read_text())
        except (FileNotFoundError, ValueError):
            return {}


def make_folder(data_dir: Path) -> None:
    """The folder, without what an earlier start has left."""
    open_folder(data_dir)
    for path in (data_dir / FOLDER).iterdir():
        path.unlink(missing_ok=True)


def open_folder(data_dir: Path) -> None:
    """The folder, with what is in it: others beat there."""
    (data_dir / FOLDER).mkdir(exist_ok=True, mode=0o700)


def all_of(data_dir: Path) -> list[HeartbeatFile]:
    """The heartbeats of every part that was started on this data directory."""
    folder = data_dir / FOLDER
    if not folder.is_dir():
        return []
    return [HeartbeatFile(data_dir, path.name) for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
