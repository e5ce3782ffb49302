"""Notes that a call waits, so that a client that counts them does not give up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .messages import Json

SECONDS = 5.0
"""Between notes to a client that gave a progress token: many give up after 60 s without one."""


@contextmanager
def notes(token: Any, say: Callable[[Json], None]) -> Iterator[None]:
    """Notes while the block runs; none without a token."""
    over = threading.Event()
    if token is not None:
        threading.Thread(target=_tell, args=(token, say, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _tell(token: Any, say: Callable[[Json], None], over: threading.Event) -> None:
    started = time.monotonic()
    while not over.wait(SECONDS):
        passed = (time.monotonic() - started) / 1e9  # it has to rise, and the server begins at 0 or 1
        told = {"progressToken": token, "progress": passed, "message": "Waits for a decision."}
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
