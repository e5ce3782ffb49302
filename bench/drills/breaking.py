"""The drills: each breaks something on a desk under load and returns when it leaves it alone.

To add one, write a function of a ``Scene`` here (or in a module that ``__main__`` imports) and decorate it with
``@drill``; its first line of documentation is its name in the table.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import psutil
import psycopg

from config.database import postgres
from config.database.cluster import Cluster

from .desk import PARTS, Desk

END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)
KILL, STOP, CONTINUE = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT


@dataclass
class Scene:
    """What a drill can lay hands on."""

    desk: Desk
    restart_database: Callable[[], tuple[Cluster, postgres.Server]] | None = None
    """Of the operator's own server, on which the drill called ``stop``."""
    server: postgres.Server | None = None
    second: Desk | None = None
    """Another host of the same installation."""


@dataclass(frozen=True)
class Drill:
    """One drill: its name, what it does, and on what."""

    name: str
    run: Callable[[Scene], None]
    stage: str = "embedded"
    """embedded: the database that ships; own: a server that no supervisor starts; hosts: two hosts on such a server."""
    is_long: bool = False


DRILLS: list[Drill] = []


def drill(name: str, stage: str = "embedded", is_long: bool = False) -> Callable[[Callable[[Scene], None]], None]:
    """Add a function to the drills."""

    def add(run: Callable[[Scene], None]) -> None:
        DRILLS.append(Drill(name, run, stage, is_long))

    return add


def _kill(*parts: str) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        for part in parts:
            scene.desk.send(part, KILL)

    return run


def _freeze(part: str) -> Callable[[Scene], None]:
    """It lives and does nothing; nobody wakes it."""

    def run(scene: Scene) -> None:
        scene.desk.send(part, STOP)

    return run


KILLED = (*PARTS, "postgres")
for _part in KILLED:
    drill(f"kill -9 {_part}")(_kill(_part))
for _one, _other in combinations(("web", "worker-1", "turns", "people", "scheduler", "postgres"), 2):
    drill(f"kill -9 {_one} and {_other}")(_kill(_one, _other))
drill("kill -9 worker-1 and worker-2")(_kill("worker-1", "worker-2"))
drill("kill -9 forker and web")(_kill("forker", "web"))
for _part in KILLED:
    drill(f"freeze {_part}")(_freeze(_part))


@drill("kill -9 both workers four times, 1.5 s apart")
def kill_workers_again_and_again(scene: Scene) -> None:
    for _ in range(4):
        for part in ("worker-1", "worker-2"):
            scene.desk.send(part, KILL)
        time.sleep(1.5)


@drill("kill -9 a client's backend of PostgreSQL")
def kill_backend(scene: Scene) -> None:
    [(pid,)] = scene.desk.ask("SELECT pid FROM pg_stat_activity WHERE state IS NOT NULL ORDER BY random() LIMIT 1")
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).kill()


LEAD = 0x7363686564756C65
"""The lock of the scheduler that leads (``config.processes.leadership.LOCK``)."""
LEADS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = %s"
OF_SERVER = "SELECT pid FROM pg_stat_activity WHERE backend_type = %s"


@drill("freeze the backend of PostgreSQL that holds the lead")
def freeze_lead(scene: Scene) -> None:
    _stop(scene, LEADS, LEAD)


@drill("freeze the backend of PostgreSQL that holds the lead, kill -9 scheduler")
def freeze_lead_and_kill(scene: Scene) -> None:
    _stop(scene, LEADS, LEAD)
    scene.desk.send("scheduler", KILL)


@drill("freeze the backend that holds the lead, of a server that nobody watches", stage="own")
def freeze_lead_of_own(scene: Scene) -> None:
    _stop(scene, LEADS, LEAD)


@drill("freeze the checkpointer of PostgreSQL")
def freeze_checkpointer(scene: Scene) -> None:
    _stop(scene, OF_SERVER, "checkpointer")


@drill("freeze the WAL writer of PostgreSQL")
def freeze_wal_writer(scene: Scene) -> None:
    _stop(scene, OF_SERVER, "walwriter")


def _stop(scene: Scene, which: str, value: object) -> None:
    """Stop a process of the database server; nobody of the drill wakes it."""
    [(pid,)] = scene.desk.ask(which, value)
    psutil.Process(pid).suspend()


@drill("kill -9 the supervisor, start again")
def kill_supervisor(scene: Scene) -> None:
    family = scene.desk.family()
    scene.desk.process.kill()
    scene.desk.process.wait()
    _, left = psutil.wait_procs(family, timeout=5)
    assert not left, f"orphans of the supervisor: {left}"
    scene.desk.start()


@drill("freeze the supervisor for 40 s")
def freeze_supervisor(scene: Scene) -> None:
    scene.desk.process.send_signal(STOP)
    time.sleep(40)
    scene.desk.process.send_signal(CONTINUE)


@drill("every connection taken for 25 s")
def take_connections(scene: Scene) -> None:
    with ExitStack() as stack:
        until = time.monotonic() + 25
        while time.monotonic() < until:
            with suppress(psycopg.OperationalError):
                stack.enter_context(psycopg.connect(**scene.desk.database.parameters, connect_timeout=2))
                continue
            time.sleep(0.2)


@drill("database stopped for 20 s", stage="own")
def stop_database(scene: Scene) -> None:
    _stop_database(scene, 20)


@drill("database stopped for 3 min", stage="own", is_long=True)
def stop_database_for_long(scene: Scene) -> None:
    _stop_database(scene, 180)


def _stop_database(scene: Scene, seconds: float) -> None:
    assert scene.server and scene.restart_database
    scene.server.stop()
    time.sleep(seconds)
    _, scene.server = scene.restart_database()


@drill("database frozen for 30 s", stage="own")
def freeze_database(scene: Scene) -> None:
    assert scene.server
    frozen = [psutil.Process(scene.server.pid), *psutil.Process(scene.server.pid).children()]
    for process in frozen:
        process.suspend()
    time.sleep(30)
    for process in frozen:
        with suppress(psutil.NoSuchProcess):
            process.resume()


@drill("statements time out after 30 ms, for 25 s", stage="own")
def time_out(scene: Scene) -> None:
    alter = "ALTER DATABASE countersign SET statement_timeout = "
    scene.desk.ask(alter + "'30ms'")
    scene.desk.ask(END_OTHERS)
    time.sleep(25)
    with psycopg.connect(**scene.desk.database.parameters, autocommit=True, options="-c statement_timeout=0") as own:
        own.execute(alter + "0")
        own.execute(END_OTHERS)


@drill("kill -9 the host whose scheduler leads", stage="hosts")
def kill_leading_host(scene: Scene) -> None:
    leader = _leading(scene)
    leader.process.kill()
    leader.process.wait()
    scene.desk, scene.second = _other(scene, leader), None


@drill("freeze supervisor and scheduler of the host that leads", stage="hosts")
def freeze_leading_host(scene: Scene) -> None:
    leader = _leading(scene)
    leader.process.send_signal(STOP)
    leader.send("scheduler", STOP)
    scene.desk, scene.second = _other(scene, leader), leader


def _leading(scene: Scene) -> Desk:
    assert scene.second
    until = time.monotonic() + 30
    while time.monotonic() < until:
        hosts = [host for (host,) in scene.desk.ask("SELECT host FROM config_partheartbeat WHERE leads")]
        for desk in (scene.desk, scene.second):
            if any(host.endswith(f":{_resolved(desk.data_dir)}") for host in hosts):
                return desk
        time.sleep(0.5)
    raise AssertionError("no scheduler leads")


def _resolved(path: Path) -> Path:
    return path.resolve()


def _other(scene: Scene, one: Desk) -> Desk:
    assert scene.second
    return scene.second if one is scene.desk else scene.desk
