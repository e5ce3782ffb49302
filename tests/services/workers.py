"""Real Celery workers for tests, and ways to wait for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from config.processes.system import die_with_parent
from tests.places import ROOT

COMMAND = (
    sys.executable, "-m", "celery", "-A", "config.celery", "--quiet", "worker",
    "--hostname", "worker@test", "--pool", "solo",
)  # fmt: skip
WRITING = (
    "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'sessions_app_event'::regclass AND mode = 'RowExclusiveLock'"
)
"""Whether somebody is in the middle of an import: it has written events and not committed them."""


class Worker:
    """A worker process with everything that it starts."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                COMMAND,
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    def kill(self) -> None:
        """``kill -9`` for all of it at once, as a machine that loses its power."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def until(condition: Callable[[], Any], seconds: float, what: str, worker: Worker) -> None:
    """Wait for a condition, looking often; fail with ``what`` and the end of the worker's log after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not {what} within {seconds:g} s; the worker said:\n{worker.log.read_text()[-4_000:]}"
            )
        time.sleep(0.01)
