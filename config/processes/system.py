"""Functions of the operating system that keep processes together: locks, and a signal when the parent dies."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Ask Linux to send this process ``number`` when its parent dies, also by ``kill -9`` (prctl(2)).

    ``parent`` is its process id: one that died before we could ask has left us to another already. Elsewhere
    nothing does that; there a killed supervisor leaves children that the next `up` meets on the port.
    """
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)


@contextmanager
def as_subreaper() -> Iterator[None]:
    """For a block, this process and not init becomes the parent of orphans among its descendants (Linux alone).

    For no longer than that: a subreaper also has to wait for every orphan that ends. Raises OSError where the system
    does not offer it.
    """
    if _libc is None or _libc.prctl(PR_SET_CHILD_SUBREAPER, 1):
        raise OSError("this system has no PR_SET_CHILD_SUBREAPER")
    try:
        yield
    finally:
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def name_process(name: str) -> None:
    """Name of this process in ``ps -e`` and ``top``: the first 15 bytes of ``name`` (Linux alone)."""
    # Not by setproctitle, which would take 36 kB and 0.6 ms: its setproctitle() also overwrites the command line in
    # ``ps -f``, its setthreadtitle() is this very call, and prctl is needed anyway for what else is in this module.
    if _libc is not None:
        _libc.prctl(PR_SET_NAME, name.encode())


def open_lock(path: Path) -> IO[str]:
    """A file to lock, closed to other users; the lock ends with the process, whatever ends it."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")


def try_lock(file: IO[str]) -> bool:
    """Take the file for this process alone; False when somebody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on ``path`` for a block, waiting for it if need be."""
    with open_lock(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
