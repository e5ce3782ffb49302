"""A process that the supervisor keeps running: started in a session of its own, logged, restarted when it dies."""

from __future__ import annotations

import errno
import logging
import logging.handlers
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from config.env import BASE_DIR
from config.processes.heartbeat_files import SILENT_SECONDS, HeartbeatFile
from config.processes.system import die_with_parent

LOG_BYTES = 5_000_000
SETTLED_SECONDS = 60
"""A child that ran this long died of something new: the next start waits no longer than the first."""
LONGEST_WAIT = 10.0
CANNOT_START = (OSError, RuntimeError)
"""What is raised where no process, file descriptor or memory is free (EAGAIN, EMFILE, ENOMEM), and where no thread is.
It passes; a supervisor that died of it would take with it all that still runs."""
STARTING_SECONDS = 45.0
"""A child has so long for its first heartbeat: on a busy machine loading alone takes ten."""


class Process(Protocol):
    """What is used of ``subprocess.Popen``; ``config.processes.fork_client.ForkedProcess`` has it as well."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def send_signal(self, number: int) -> None: ...


Launch = Callable[[str, Sequence[str], Mapping[str, str], int, int], Process]
"""Starts a Python module, in a session of its own, that ends with this process: name, module and its arguments, what
the environment has besides ours, standard output, standard error. Call it from the main thread: Linux watches the
thread that forks, not the process.
"""


def spawn(
    name: str, module: Sequence[str], env: Mapping[str, str], stdout: int, stderr: int, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """``python -m MODULE``: the ``Launch`` that works everywhere."""
    return subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=BASE_DIR,
        env=os.environ | env,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        pass_fds=pass_fds,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )


class Child:
    """One supervised Python module and its log."""

    def __init__(
        self,
        name: str,
        module: Sequence[str],
        env: Mapping[str, str],
        logs: Path,
        launch: Launch = spawn,
        heartbeat: HeartbeatFile | None = None,
    ) -> None:
        self.name, self.module, self.env = name, list(module), dict(env)
        self.restarts = 0
        self.heartbeat = heartbeat
        self._launch = launch
        self._process: Process | None = None
        self._started = self._due = self._judged_from = 0.0
        self._log = _logger(name, logs / f"{name}.log")

    def start(self) -> None:
        """Start it. Call from the main thread: Linux watches the thread that forks, not the process."""
        self._started = self._judged_from = time.monotonic()
        ours, theirs = os.pipe()
        with os.fdopen(theirs, "wb"):  # ours alone: the child has its own
            self._begin_to_read(ours)
            self._process = self._launch(self.name, self.module, self.env, theirs, theirs)

    def _begin_to_read(self, output: int) -> None:
        """In a thread, and before there is a child: a child blocks when nobody reads its pipe."""
        file = os.fdopen(output, "rb")
        try:
            threading.Thread(target=self._copy_lines, args=(file,), daemon=True).start()
        except RuntimeError:
            file.close()
            raise

    def alive(self) -> bool:
        """Whether it runs now."""
        return self._process is not None and self._process.poll() is None

    def is_silent(self) -> bool:
        """Whether it lives and shows no heartbeat: it is stopped, or what it waits for never comes."""
        if self.heartbeat is None:
            return False
        now, beaten_at = time.monotonic(), self.heartbeat.beaten_at() or 0.0
        if beaten_at < self._judged_from:
            return now - self._judged_from > STARTING_SECONDS
        return now - beaten_at > SILENT_SECONDS

    def pardon(self) -> None:
        """Judge its heartbeat as if it had just been started: the supervisor itself was away."""
        self._judged_from = time.monotonic()

    def keep_running(self) -> None:
        """Start it again when it has died or is silent: at once, then after 1, 2, 4, ... 10 s while it keeps dying."""
        if self.alive() and self.is_silent():
            self._log.error("no heartbeat for %d s: killed", SILENT_SECONDS)
            self.kill()
        if self.alive():
            return
        now = time.monotonic()
        if self._process is not None:
            self._clean_up_and_schedule(self._process, now)
        if now < self._due:
            return
        self.restarts += 1
        try:
            self.start()
        except CANNOT_START as fault:
            wait = min(2.0 ** (self.restarts - 1), LONGEST_WAIT)
            self._log.error("cannot be started (%s); trying again in %d s", fault, wait)
            self._due = now + wait

    def _clean_up_and_schedule(self, ended: Process, now: float) -> None:
        self.kill()  # what it had started itself
        if now - self._started > SETTLED_SECONDS:
            self.restarts = 0
        elif ended.returncode == 0 and now - self._started > 1:
            self.restarts -= 1  # it asked for a fresh process (config.celery.note_end)
        wait = min(2.0 ** (self.restarts - 1), LONGEST_WAIT) if self.restarts > 0 else 0.0
        self._log.error("ended with status %s; starting it again in %d s", ended.returncode, wait)
        self._due, self._process = now + wait, None

    def signal(self, number: int) -> None:
        """Send a signal to the process itself, which tells its own children."""
        if self._process is not None and self.alive():
            self._process.send_signal(number)

    def kill(self) -> None:
        """End its whole process group, and leave no zombie."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            # The group, because a pool's children do not end with their parent.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _copy_lines(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._log.info(line.decode(errors="replace").rstrip())


class LogFile(logging.handlers.RotatingFileHandler):
    """Log of one part. A line that finds the disk full is on standard error, too, and is no reason for a traceback."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        if getattr(sys.exc_info()[1], "errno", None) not in (errno.ENOSPC, errno.EDQUOT):
            super().handleError(record)


class StderrIfItDrains(logging.Handler):
    """Writes to our standard error, unless nobody reads it: a full pipe would stop the child, too."""

    def emit(self, record: logging.LogRecord) -> None:
        line = f"{record.name:>8} | {self.format(record)}\n".encode(errors="replace")
        with suppress(OSError, ValueError):  # closed: the file alone goes on
            if select.select([], [sys.stderr], [], 0)[1]:
                os.write(sys.stderr.fileno(), line[: select.PIPE_BUF])


def _logger(name: str, path: Path) -> logging.Logger:
    log = logging.Logger(name)
    log.addHandler(LogFile(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8"))
    log.addHandler(StderrIfItDrains())
    return log
