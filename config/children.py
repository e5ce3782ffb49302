"""A process that the supervisor keeps running: started in a session of its own, logged, restarted when it dies."""

from __future__ import annotations

import logging
import logging.handlers
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from config.env import BASE_DIR
from config.process import die_with_parent

LOG_BYTES = 5_000_000
SETTLED_SECONDS = 60
"""A child that ran this long died of something new: the next start waits no longer than the first."""
LONGEST_WAIT = 30.0


class Child:
    """One supervised process and its log."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str], logs: Path) -> None:
        self.name, self.command, self.env = name, list(command), dict(env)
        self.restarts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._due = 0.0
        self._log = _logger(name, logs / f"{name}.log")

    def start(self) -> None:
        """Start it. Call from the main thread: Linux watches the thread that forks, not the process."""
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            self.command,
            cwd=BASE_DIR,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )
        threading.Thread(target=self._copy_lines, args=(self._process.stdout,), daemon=True).start()

    def alive(self) -> bool:
        """Whether it runs now."""
        return self._process is not None and self._process.poll() is None

    def keep_running(self) -> None:
        """Start it again when it has died: at once, then after 1, 2, 4, ... 30 seconds while it keeps dying."""
        if self.alive():
            return
        now = time.monotonic()
        if self._process is not None:
            self._bury(now)
        if now >= self._due:
            self.restarts += 1
            self.start()

    def _bury(self, now: float) -> None:
        self.kill()  # what it had started itself
        if now - self._started > SETTLED_SECONDS:
            self.restarts = 0
        wait = min(2.0 ** (self.restarts - 1), LONGEST_WAIT) if self.restarts else 0.0
        self._log.error("ended with status %s; starting it again in %d s", self._process.returncode, wait)
        self._due, self._process = now + wait, None

    def signal(self, number: int) -> None:
        """Send a signal to the process itself, which tells its own children."""
        if self.alive():
            self._process.send_signal(number)

    def kill(self) -> None:
        """End its whole process group, and leave no zombie."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _copy_lines(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._log.info(line.decode(errors="replace").rstrip())


class StderrIfItDrains(logging.Handler):
    """Writes to our standard error, unless nobody reads it: a full pipe would stop the child, too."""

    def emit(self, record: logging.LogRecord) -> None:
        line = f"{record.name:>8} | {self.format(record)}\n".encode(errors="replace")
        with suppress(OSError, ValueError):  # closed: the file alone goes on
            if select.select([], [sys.stderr], [], 0)[1]:
                os.write(sys.stderr.fileno(), line[: select.PIPE_BUF])


def _logger(name: str, path: Path) -> logging.Logger:
    log = logging.Logger(name)
    log.addHandler(logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8"))
    log.addHandler(StderrIfItDrains())
    return log
