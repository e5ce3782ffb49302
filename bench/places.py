"""Where the benchmarks keep things: a cache for what can be used again, installations of their own that go away."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config import env
from config.database import postgres
from config.database.cluster import Cluster

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "countersign-bench"


PREPARE = "import django; django.setup(); from config import prepare; prepare.database(); prepare.static_files()"


@contextmanager
def installation() -> Iterator[dict[str, str]]:
    """An empty installation with its own PostgreSQL, as shipped; the environment of processes that work on it."""
    data_dir = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
    try:
        with kept_installation(data_dir) as environment:
            yield environment
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def kept_installation(data_dir: Path) -> Iterator[dict[str, str]]:
    """The installation in a directory, made or brought up to date; it stays."""
    environment = environment_of(data_dir)
    with postgres.on_demand(Cluster(data_dir)):
        run(environment, "-c", PREPARE)
        yield environment


def environment_of(data_dir: Path) -> dict[str, str]:
    """Variables of a process that works on the installation in a directory, whatever the caller's own are."""
    environment = os.environ | dict.fromkeys((*env.OURS, *env.COMMON), "")
    return environment | {
        "COUNTERSIGN_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": str(ROOT),
    }


def analyze() -> None:
    """What autovacuum would do in the next minute, in the middle of a measurement; the tables are the owner's.

    In a process that has the environment of an installation.
    """
    import psycopg
    from django.conf import settings

    with psycopg.connect(**settings.DATABASE_OWNER_PARAMETERS, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def run(environment: dict[str, str], *arguments: str) -> str:
    """Run Python on an installation; its standard output. Raises ``CalledProcessError``."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
