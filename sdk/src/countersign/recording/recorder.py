"""One of each process, desk and key: puts events into the spool, and has a thread that sends them."""

from __future__ import annotations

import atexit
import hashlib
import itertools
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .. import wire
from .delivery import Delivery, Stopped
from .spool import Spool, dead_runs, events_in

LINGER = 0.1
"""Seconds that a first event waits for others."""
FULL = 256 << 10
"""Bytes that are sent at once."""
LOOK = 60.0
"""Seconds between two looks at what processes that ended have left."""
AT_EXIT = 5.0
"""Seconds that the end of a process waits."""
LIMIT = 64 << 20
logger = logging.getLogger("countersign")


@dataclass(frozen=True)
class Progress:
    """What became of events: bytes that wait, numbers of events, and what keeps them from being sent now."""

    waiting: int
    sent: int
    repeated: int
    refused: int
    fault: str


class Recorder:
    """Raises ``OSError`` where the spool cannot be written."""

    def __init__(self, desk: wire.Address, api_key: str, folder: Path, limit: int) -> None:
        self._place, self._limit = _folder_of(desk, api_key, folder), limit
        self._desk, self._key = desk, api_key
        self._begin()
        if self._spool.left_by_others:
            self._start()

    def _begin(self) -> None:
        self._spool = Spool(self._place, self._limit)
        self.run = self._spool.run
        self.numbers = itertools.count(1)
        self._delivery = Delivery(self._desk, self._key, self._pause, self._note_fault)
        self._wake, self._hurry, self._urgent = threading.Event(), threading.Event(), threading.Event()
        self._fault, self._faults = "", 0
        self._is_awake = False
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._has_looked = False  # at what others left
        self.is_over = False

    def put(self, key: int, session: bytes, event: bytes, *, wait: bool) -> bool:
        """Keep an event; it survives this process from here on. False where there is no room.

        ``wait`` until there is. Raises ``OSError`` where the disk takes nothing.
        """
        if self.is_over:
            return False
        spool = self._spool
        while not spool.put(key, session, event):
            if not wait or self.is_over:
                return False
            self._start()
            self._wake.set()
            self._hurry.set()
            with spool.changed:
                spool.changed.wait(1.0)
        if self._thread is None:
            self._start()
        if not self._is_awake:
            self._is_awake = True
            self._wake.set()
        if spool.waiting >= FULL and not self._hurry.is_set():
            self._hurry.set()
        return True

    def flush(self, timeout: float, *, patient: bool = True) -> bool:
        """Send what waits now, also of processes that ended, and wait so many seconds for it; whether that is done.

        Not ``patient``: no longer than until an attempt fails.
        """
        until, before = time.monotonic() + timeout, self._faults
        for event in (self._urgent, self._hurry, self._wake):
            event.set()
        with self._spool.changed:
            end = self._spool.taken + self._spool.waiting  # a busy program records more meanwhile
            while not self._is_done(end) and (left := until - time.monotonic()) > 0:
                if not patient and self._faults > before:
                    break
                self._spool.changed.wait(left)
            return self._is_done(end)

    def unsent_of(self, session: bytes) -> int:
        """Events of a session that the desk is not known to have, of this run and of ended ones that wait."""
        files = self._spool.unsent()
        if not self._has_looked:
            files += [(path, 0) for path in self._place.glob("*/*.jsonl") if path.parent.name != self.run]
        return sum(events_in(path, after, session) for path, after in files)

    def progress(self) -> Progress:
        """What became of what was put."""
        counts = self._delivery.counts
        return Progress(self._spool.waiting, counts.sent, counts.repeated, counts.refused, self._fault)

    def close(self, timeout: float = AT_EXIT) -> bool:
        """Send what waits while the desk answers; the next process sends what is left."""
        done = self.flush(timeout, patient=False)
        self.is_over = True
        for event in (self._urgent, self._hurry, self._wake):
            event.set()
        return self._spool.remove() and done

    def after_fork(self) -> None:
        """In the child: the spool and the thread are its parent's."""
        self.is_over = True  # until there is a spool of its own
        self._spool.forget()
        self._begin()

    def _is_done(self, end: int) -> bool:
        return self._spool.taken >= end and (self._thread is None or self._has_looked)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="countersign-recorder", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the interpreter ends
                    logger.debug("countersign: events wait for the next process: %s", error)
                    return
                self._thread = thread

    def _work(self) -> None:
        looked = float("-inf")
        while not self.is_over:
            try:
                if time.monotonic() - looked >= LOOK:
                    looked = time.monotonic()
                    self._send_others()
                self._wake.clear()
                self._is_awake = False  # before it looks: who puts something from here on wakes it
                if not self._spool.waiting:
                    self._wake.wait(LOOK)
                    continue
                if self._spool.waiting < FULL:
                    self._hurry.wait(LINGER)
                self._hurry.clear()
                self._send_own()
            except Stopped:
                return
            except Exception as error:
                # Whatever it is, what lies in the spool is still there, and a thread that dies would never send it.
                logger.exception("countersign: sending failed, and is tried again")
                self._note_fault(f"{type(error).__name__}: {error}")
                time.sleep(1.0)

    def _send_own(self) -> None:
        if self._spool.is_first():
            self._sessions: dict[int, bytes] = {}
        data = self._spool.read()
        self._delivery.deliver(data.split(b"\n")[:-1], self._sessions)
        self._spool.note_sent(len(data))

    def _send_others(self) -> None:
        for files in dead_runs(self._place, self.run):
            for path in files:
                sessions: dict[int, bytes] = {}
                with path.open("rb") as file:
                    while lines := file.readlines(FULL):
                        # A process that was killed in the middle of a line had not been told that it is kept.
                        self._delivery.deliver([line[:-1] for line in lines if line.endswith(b"\n")], sessions)
                path.unlink(missing_ok=True)
        with self._spool.changed:
            self._spool.look_at_others()
            self._has_looked = True
            self._spool.changed.notify_all()

    def _pause(self, seconds: float) -> None:
        if self.is_over:
            raise Stopped
        self._urgent.wait(seconds)
        self._urgent.clear()
        if self.is_over:
            raise Stopped

    def _note_fault(self, fault: str) -> None:
        if fault and fault != self._fault:
            logger.warning("countersign: the desk takes no events now, they are kept and sent later: %s", fault)
        self._fault = fault
        if fault:
            self._faults += 1
            with self._spool.changed:
                self._spool.changed.notify_all()


def _folder_of(desk: wire.Address, api_key: str, folder: Path) -> Path:
    """One for each desk and key: another key may be of another workspace, which must not be sent this one's events."""
    said = json.dumps([desk.secure, desk.host, desk.port, desk.prefix, api_key]).encode()
    return folder / hashlib.sha256(said).hexdigest()[:24]


def default_folder() -> Path:
    """``~/.local/state/countersign/spool``, or where ``COUNTERSIGN_SPOOL`` says."""
    if said := os.environ.get("COUNTERSIGN_SPOOL"):
        return Path(said)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "countersign" / "spool"


_recorders: dict[tuple[Path, int], Recorder] = {}
_making = threading.Lock()


def recorder_for(desk: wire.Address, api_key: str, folder: Path | None = None, limit: int = LIMIT) -> Recorder:
    """The recorder of this process; sessions with the same desk, key, folder and limit share it."""
    folder = folder or default_folder()
    name = (_folder_of(desk, api_key, folder), limit)
    with _making:
        found = _recorders.get(name)
        if found is None or found.is_over:
            found = _recorders[name] = Recorder(desk, api_key, folder, limit)
        return found


def _close_all() -> None:
    until = time.monotonic() + AT_EXIT
    for recorder in list(_recorders.values()):
        try:
            if not recorder.is_over and not recorder.close(max(until - time.monotonic(), 0.0)):
                logger.warning("countersign: not all events were sent; the next process sends them")
        except Exception:
            logger.exception("countersign: events are left for the next process")


def _after_fork() -> None:
    global _making
    _making = threading.Lock()
    for recorder in list(_recorders.values()):
        try:
            recorder.after_fork()
        except OSError:
            logger.exception("countersign: this process records nothing")


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
