"""Parts that a supervisor starts: their names, the modules that they are, and how many of them a machine may run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from config import broker
from config.errors import ConfigError

UNCHECKED = {"CELERY_SKIP_CHECKS": "1"}
"""Django's checks would take each worker time and memory; the tests run them."""
WEB, WORKERS = 1, 2
"""How many there are unless told. Of workers for imports and exports two, so that one can be at a large file. Each does
one thing at a time: with a pool of children, one that is killed between taking a task and starting it keeps its place
in the queue for ever."""
A_CORE = 4
"""Web servers, and workers, that there may be for each core: more only wait for each other."""
THREADS = {"turns": 16, "people": 32}
"""Turns that are run at once: of webhooks, and of people."""
CONNECTIONS = 8
"""That the threads of one process share; a thread has one only while it reads or writes."""
CONNECTIONS_OF_WEB, CONNECTIONS_OF_WORKER, CONNECTIONS_OF_THE_REST = 18, 4, 26
"""Most connections to PostgreSQL: of a web server, of a worker, of both processes for turns and the scheduler."""
CONNECTIONS_OF_COMMANDS = 28
"""For commands beside the parts."""


@dataclass(frozen=True, slots=True)
class Part:
    """A process to keep running: a Python module with its arguments, and what its environment has besides ours."""

    name: str
    module: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


def web(host: str, port: int, data_dir: Path, count: int = WEB) -> list[Part]:
    """Web servers on one port, which the kernel shares out when there are several."""
    module = ["config.web.serve", host, str(port), *(["--shared"] if count > 1 else [])]
    # Django spools bodies to the temporary directory, which elsewhere may be small or in memory.
    return [Part(name, module, {"TMPDIR": str(data_dir / "uploads")}) for name in _names("web", count)]


def workers(count: int = WORKERS) -> list[Part]:
    """Workers for imports, exports and search rows: one thing at a time each.

    All but the last of several also take what is big: while they are at it, small imports and exports get on.
    """
    every, small = f"{broker.QUEUE},{broker.BIG}", broker.QUEUE
    queues = {f"worker-{number}": every for number in range(1, count + 1)}
    if count > 1:
        queues[f"worker-{count}"] = small
    return [Part(name, _celery(name, read, "solo", 1), UNCHECKED) for name, read in queues.items()]


def turns() -> list[Part]:
    """Turns that webhooks began."""
    return [_threads("turns", broker.TURNS)]


def people() -> list[Part]:
    """Turns of people and schedules, and notices to people."""
    return [_threads("people", broker.PEOPLE)]


def scheduler() -> list[Part]:
    """The scheduler of this host."""
    return [Part("scheduler", ["config.processes.scheduler"])]


def check_count(option: str, count: int) -> None:
    """Raise ConfigError for a number of processes that this machine cannot use."""
    cores = usable_cores()
    if not 1 <= count <= A_CORE * cores:
        counted = f"{cores} cores" if cores > 1 else "one core"
        raise ConfigError(f"{option} {count}: use 1 to {A_CORE * cores} ({A_CORE} for each core; {counted} here)")


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def connections(web_count: int, worker_count: int) -> int:
    """Connections that the embedded PostgreSQL has to allow for so many parts, with those of commands."""
    parts = CONNECTIONS_OF_WEB * web_count + CONNECTIONS_OF_WORKER * worker_count + CONNECTIONS_OF_THE_REST
    return parts + CONNECTIONS_OF_COMMANDS


def _names(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def _threads(name: str, queue: str) -> Part:
    """Turns of agents are threads: each mostly waits for a model."""
    pool = {"COUNTERSIGN_DATABASE_POOL": str(CONNECTIONS)} | UNCHECKED
    return Part(name, _celery(name, queue, "threads", THREADS[name]), pool)


def _celery(name: str, queue: str, pool: str, concurrency: int) -> list[str]:
    return [
        "celery",
        "-A",
        "config.celery",
        "--quiet",
        "worker",
        "--queues",
        queue,
        "--hostname",
        f"{name}@countersign",
        "--pool",
        pool,
        "--concurrency",
        str(concurrency),
        "--loglevel",
        "WARNING",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]
