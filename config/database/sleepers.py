"""Processes of the PostgreSQL that ships which were stopped (SIGSTOP): told to go on, so that nothing waits for ever.

A checkpointer that is stopped lets the log grow until the disk is full, and a client's process keeps its locks whatever
it is told. To kill one would end all others with it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

PATIENCE = 15.0
"""Seconds: as long as a part of the desk may show no heartbeat."""


class Sleepers:
    """Which processes of a server are stopped, and since when."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def wake(self, server: int, now: float, patience: float = PATIENCE) -> list[str]:
        """Tell those that have been stopped for ``patience`` seconds to go on; their names. Linux alone knows them."""
        self._since = {pid: self._since.get(pid, now) for pid in _children(server) if _is_stopped(pid)}
        woken = [pid for pid, since in self._since.items() if now - since >= patience]
        names = [_name(pid) for pid in woken]
        for pid in woken:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        return names


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _is_stopped(pid: int) -> bool:
    """By its state (proc_pid_stat(5)), which stands behind its name in parentheses; one with a debugger is another."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _name(pid: int) -> str:
    """What the server calls it: "postgres: checkpointer"."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return f"process {pid}"
