"""Events on disk until the desk has them: append-only files that survive a killed process, sent by the next one.

A run of a process has a folder of its own, ``DESK/RUN/``, and holds a lock in it that its end releases, however it
ends: whoever gets the lock of another folder sends what lies there. Written without fsync: what was recorded survives
the process, and not the machine.

Lines: ``KEY={session}`` says which session a key is, once in each file and before its events; ``KEY {event}``.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
import uuid
from collections import deque
from collections.abc import Iterator
from pathlib import Path

SEGMENT = 4 << 20
"""Bytes of a file; a new one is begun then, and one that was sent is deleted."""
CHUNK = 4 << 20
"""Bytes that are read at once; longer than any line."""
LOCK = "lock"


class Spool:
    """The folder of this run. ``limit``: bytes in the whole folder of the desk that wait to be sent."""

    def __init__(self, desk: Path, limit: int) -> None:
        """Raises ``OSError`` where it cannot be written."""
        self.desk, self.limit = desk, limit
        self._room = threading.RLock()
        self.changed = threading.Condition(self._room)
        self.waiting = 0
        """Bytes that the desk has not got."""
        self.taken = 0
        """Bytes of this run that it has."""
        self.run, self.folder, self._lock = _own_folder(desk)
        self.left_by_others = left_by_others(desk, self.run)
        self._segments: deque[list[int]] = deque()  # number, bytes of each; the last is written to
        self._sent = 0  # bytes of the first that were sent
        self._numbers = 0
        self._file = -1
        self._said: set[int] = set()

    def put(self, key: int, session: bytes, event: bytes) -> bool:
        """Append an event. False where there is no room. Raises ``OSError`` where the disk takes nothing."""
        with self._room:  # the lock alone: a condition is Python, which a caller's thread would go through
            if self._file < 0 or self._segments[-1][1] >= SEGMENT:
                self._begin_segment()
            line = b"%d %b\n" % (key, event)
            if key not in self._said:
                line = b"%d=%b\n" % (key, session) + line
            if self.waiting + self.left_by_others + len(line) > self.limit:
                return False
            last = self._segments[-1]
            written = os.write(self._file, line)
            if written != len(line):
                os.ftruncate(self._file, last[1])  # half a line would spoil the next one
                raise OSError(f"the disk of {self.folder} took {written} of {len(line)} bytes")
            self._said.add(key)
            last[1] += written
            self.waiting += written
            return True

    def read(self) -> bytes:
        """Whole lines that come next; nothing where all are sent."""
        with self.changed:
            if not self._segments:
                return b""
            number, size = self._segments[0]
        with self._path(number).open("rb") as file:
            file.seek(self._sent)
            data = file.read(min(CHUNK, size - self._sent))
        return data[: data.rfind(b"\n") + 1]

    def is_first(self) -> bool:
        """Whether what comes next begins a file, in which keys have new meanings."""
        return self._sent == 0

    def note_sent(self, size: int) -> None:
        """The desk has the next ``size`` bytes."""
        with self.changed:
            self._sent += size
            self.taken += size
            self.waiting -= size
            if self._sent == self._segments[0][1]:
                if len(self._segments) > 1:
                    self._path(self._segments.popleft()[0]).unlink(missing_ok=True)
                else:
                    os.ftruncate(self._file, 0)
                    self._segments[0][1] = 0
                    self._said.clear()
                self._sent = 0
            self.changed.notify_all()

    def unsent(self) -> list[tuple[Path, int]]:
        """The files of this run, each with the bytes of it that the desk has."""
        with self.changed:
            return [(self._path(number), 0 if n else self._sent) for n, (number, _) in enumerate(self._segments)]

    def look_at_others(self) -> None:
        """Measure again what other runs have left."""
        self.left_by_others = left_by_others(self.desk, self.run)

    def remove(self) -> bool:
        """Leave nothing behind; False where something is still to be sent."""
        with self.changed:
            if self.waiting:
                return False
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            self._segments.clear()
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            return True

    def forget(self) -> None:
        """In a forked child: these are its parent's."""
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)

    def _begin_segment(self) -> None:
        number = self._numbers + 1
        file = os.open(self._path(number), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._numbers = file, number
        self._segments.append([number, 0])
        self._said.clear()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.jsonl"


def _own_folder(desk: Path) -> tuple[str, Path, int]:
    """Name and folder of a new run, with its lock."""
    desk.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        run = uuid.uuid4().hex
        folder = desk / run
        folder.mkdir(mode=0o700)
        lock = _locked(folder)
        if lock is not None:
            return run, folder, lock
        # Somebody took it for one that a killed process had left, between the two lines above.


def _locked(folder: Path) -> int | None:
    """The lock of a folder; None where its process lives, or the folder is gone."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if (folder / LOCK).stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass  # it is another's, or was deleted meanwhile
    os.close(lock)
    return None


def left_by_others(desk: Path, run: str) -> int:
    """Bytes in the folders of other runs, living and dead."""
    size = 0
    for path in desk.glob("*/*.jsonl"):
        if path.parent.name != run:
            try:
                size += path.stat().st_size
            except FileNotFoundError:
                continue  # sent meanwhile
    return size


def dead_runs(desk: Path, run: str) -> Iterator[Iterator[Path]]:
    """Of each run that ended without sending all: its files, oldest first. It is deleted when all were taken."""
    for folder in sorted((path for path in desk.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime):
        if folder.name == run:
            continue
        lock = _locked(folder)
        if lock is None:
            continue
        try:
            yield iter(sorted(folder.glob("*.jsonl")))
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def events_in(path: Path, after: int, session: bytes) -> int:
    """Lines behind ``after`` bytes of a file that are events of the session that ``session`` opens."""
    wanted, keys = _named(session), set()
    found = at = 0
    try:
        with path.open("rb") as file:
            for line in file:
                at += len(line)
                head, brace, said = line.partition(b"{")
                if head[-1:] == b"=":
                    keys |= {head[:-1]} if _named(brace + said) == wanted else set()
                elif at > after and head[:-1] in keys:
                    found += 1
    except FileNotFoundError:
        return 0  # sent meanwhile
    return found


def _named(session: bytes) -> tuple[str, str]:
    """Agent and id: what else a program says of a session may differ from one of its objects to the next."""
    try:
        said = json.loads(session)
        return said["agent"], said["external_id"]
    except (ValueError, KeyError, TypeError):  # half a line of a killed process
        return "", ""
