"""Tasks that only a worker of the tests knows."""

import os
import time
from pathlib import Path

from config.celery import app


@app.task
def sign_in_and_stay(book: str) -> None:
    """Write the process's number in a new line of ``book``; who is the first to sign stays for a minute."""
    with Path(book).open("a") as lines:
        lines.write(f"{os.getpid()}\n")
    if len(Path(book).read_text().splitlines()) == 1:
        time.sleep(60)
