"""A web server of its own process, as `up` runs it: pages that stay connected need one that is asynchronous."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

from config.env import BASE_DIR

PATIENCE = 60
UVICORN = (
    "-m", "uvicorn", "config.asgi:application", "--host", "127.0.0.1", "--lifespan", "off", "--no-access-log",
    "--log-level", "warning", "--timeout-graceful-shutdown", "1",
)  # fmt: skip


@contextmanager
def running(environment: dict[str, str], port: int = 0) -> Iterator[str]:
    """The address of a server that works with this environment; it is stopped at the end. Port 0: a free one."""
    port = port or free_port()
    command = [sys.executable, *UVICORN, "--port", str(port)]
    process = subprocess.Popen(command, cwd=BASE_DIR, env=environment | {"DEBUG": "True"})
    try:
        _wait_for(f"http://127.0.0.1:{port}/healthz", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(PATIENCE * 10):
        try:
            with urlopen(url, timeout=2):
                return
        except (URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, "the server did not start"
            time.sleep(0.1)
    raise AssertionError(f"{url} did not answer within {PATIENCE} s")
