"""Where the benchmarks keep things: a cache for what can be used again, installations of their own that go away."""

from __future__ import annotations

import os
import shutil
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


@contextmanager
def installation() -> Iterator[dict[str, str]]:
    """An empty installation with its own PostgreSQL, as shipped; the environment of processes that work on it."""
    data_dir = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
    cluster = Cluster(data_dir)
    environment = os.environ | dict.fromkeys((*env.OURS, *env.COMMON), "")
    environment |= {
        "COUNTERSIGN_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": str(ROOT),
    }
    try:
        with postgres.on_demand(cluster):
            run(
                environment,
                "-c",
                "import django; django.setup(); from config import prepare; prepare.database(); prepare.static_files()",
            )
            yield environment
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


def analyze() -> None:
    """What autovacuum would do in the next minute, in the middle of a measurement; the tables are the owner's.

    In a process that has the environment of an installation.
    """
    import psycopg
    from django.conf import settings

    with psycopg.connect(**settings.DATABASE_OWNER_PARAMETERS, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")


def run(environment: dict[str, str], *arguments: str) -> str:
    """Run Python on an installation; its standard output. Raises ``CalledProcessError``."""
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
