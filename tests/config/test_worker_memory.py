"""A worker that grew large starts afresh; one that a large process started has not grown."""

from __future__ import annotations

import subprocess
import sys

import pytest

from config.celery import peak_bytes
from config.env import BASE_DIR

LARGE = 300_000_000
CHILD = "from config.celery import peak_bytes; print(peak_bytes())"
STARTS_A_CHILD = f"""
import subprocess, sys
large = b"x" * {LARGE}
print(subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True, check=True).stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system counts from the start of the program")
def test_what_started_a_worker_may_be_large(process_environment):
    """Linux hands ``ru_maxrss`` on through exec: a worker of a large process stopped after every task."""
    done = subprocess.run(
        [sys.executable, "-c", STARTS_A_CHILD], cwd=BASE_DIR, env=process_environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert 10_000_000 < int(done.stdout) < LARGE


def test_what_a_process_has_had_is_counted():
    large = b"x" * LARGE
    assert peak_bytes() > len(large)
