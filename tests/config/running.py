"""A real `up` for tests: started, looked into, and asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil

from config.database.postgres import wait_until
from config.env import BASE_DIR

MANAGE = [sys.executable, str(BASE_DIR / "manage.py")]
COMMANDS = {"postgres": "postgres -D", "web": "config.web.serve", "scheduler": "config.processes.scheduler"}
"""Words of a part's command line, when it was not forked."""
PARTS = ("web", "scheduler", "worker-1", "worker-2", "turns", "people")
READY = re.compile(r"ready (http://127\.0\.0\.1:(\d+)/) sign in: (http://127\.0\.0\.1:\d+/sign-in/[^/ ]+/)\n")


@dataclass
class Up:
    """A running `up`: its process, its address and its sign-in link."""

    process: subprocess.Popen[str]
    address: str
    port: int
    link: str
    data_dir: Path

    def tree(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, part: str) -> psutil.Process | None:
        """The direct child that is ``part``; one that was forked has only a name, one that was not a command line."""
        children = psutil.Process(self.process.pid).children()
        words = COMMANDS.get(part, f"{part}@")
        return next((child for child in children if _is_part(child, part, words)), None)


def _is_part(child: psutil.Process, part: str, words: str) -> bool:
    try:
        line = " ".join(child.cmdline())
        return child.name() == f"desk-{part}" or words in line
    except (psutil.NoSuchProcess, psutil.ZombieProcess):  # it was killed, and not yet waited for
        return False


def environment(data_dir: Path) -> dict[str, str]:
    return os.environ | {"COUNTERSIGN_DATA_DIR": str(data_dir), "DATABASE_URL": "", "DATABASE_OWNER_URL": ""}


def start(data_dir: Path) -> Up:
    process = subprocess.Popen(
        [*MANAGE, "up", "--port", "0"], env=environment(data_dir), stdout=subprocess.PIPE, text=True
    )
    found = READY.fullmatch(line := process.stdout.readline())
    assert found, f"no ready line but {line!r}: {(data_dir / 'logs' / 'web.log').read_text()[-2000:]}"
    return Up(process, found[1], int(found[2]), found[3], data_dir)


def all_gone(processes: list[psutil.Process]) -> bool:
    return wait_until(lambda: not any(process.is_running() for process in processes), seconds=3)


def serves(address: str) -> bool:
    try:
        with urlopen(address, timeout=10) as page:
            return page.status == 200
    except (HTTPError, OSError):
        return False
