"""``manage.py web``, ``worker``, ``scheduler``: some parts of `up` alone, for containers and for hosts with one task.

Each is a supervisor of its own: what dies or does nothing is started again, SIGTERM stops it gracefully. They work on a
database that somebody else keeps (``DATABASE_URL``) and that `prepare` has got ready.
"""

from __future__ import annotations

import argparse
import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from config import env
from config.database.cluster import make_data_dir
from config.env import ConfigError
from config.processes import heartbeat_files, parts, supervisor
from config.processes.heartbeat_files import SUPERVISOR, HeartbeatFile
from config.processes.parts import Part
from config.processes.supervisor import Supervisor
from config.processes.system import open_lock, try_lock

KINDS = ("web", "worker", "scheduler")
HELP = {
    "web": "Runs web servers alone: pages, API, streams.",
    "worker": "Runs workers alone: for imports and exports, for turns of webhooks, for turns of people.",
    "scheduler": "Runs a scheduler alone. Of several one leads; another takes over within 30 seconds.",
}
WORKERS: dict[str, Callable[[int], list[Part]]] = {
    "imports": parts.workers,
    "turns": lambda _: parts.turns(),
    "people": lambda _: parts.people(),
}
"""What a worker can be for; unless told, for all."""


def add_arguments(kind: str, parser: argparse.ArgumentParser) -> None:
    """The options of one kind of part."""
    if kind == "web":
        supervisor.add_address(parser)
        parser.add_argument("--processes", type=int, default=parts.WEB, help="web servers (default %(default)s)")
    elif kind == "worker":
        parser.add_argument(
            "--processes", type=int, default=parts.WORKERS, help="workers for imports (default %(default)s)"
        )
        parser.add_argument("--only", choices=sorted(WORKERS), help="workers for this alone (default: for all three)")
    parser.add_argument("--data-dir", help="where keys, logs and heartbeats lie (COUNTERSIGN_DATA_DIR)")


def main(kind: str, arguments: Sequence[str]) -> int:
    """`manage.py KIND ARGUMENTS`; the exit status. Raises ConfigError before anything has been started."""
    parser = argparse.ArgumentParser(prog=f"manage.py {kind}", description=HELP[kind])
    add_arguments(kind, parser)
    return run(kind, **vars(parser.parse_args(arguments)))


def run(
    kind: str,
    *,
    data_dir: str | None,
    host: str | None = None,
    port: int | None = None,
    processes: int = 1,
    only: str | None = None,
) -> int:
    """Start the parts of a kind and stay until a signal; the exit status as of `up`."""
    if kind == "web":
        supervisor.check_web_count("--processes", processes)
    parts.check_count("--processes", processes)
    environment = supervisor.environment_of(host, data_dir)
    host, port = supervisor.address(environment, port)
    if not environment.database_url:
        raise ConfigError(f"`{kind}` alone needs DATABASE_URL: the database that ships is started by `up`")
    make_data_dir(environment.data_dir)
    with open_lock(environment.data_dir / f"{kind}.lock") as own, open_lock(environment.data_dir / "up.lock") as shared:
        if not try_lock(own):
            raise ConfigError(f"another `{kind}` runs on {environment.data_dir}: stop it, or choose another --data-dir")
        share_folder(shared, environment.data_dir)
        port = supervisor.free_port(host, port) if kind == "web" else 0
        return Alone(kind, parts_of(kind, environment, host, port, processes, only), environment, host, port).run()


def share_folder(lock: IO[str], data_dir: Path) -> None:
    """Hold the data directory with the other kinds, against `up`; the first of them clears what is left of others."""
    if try_lock(lock):
        heartbeat_files.make_folder(data_dir)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"`up` runs on {data_dir}: stop it, or choose another --data-dir") from None
    heartbeat_files.open_folder(data_dir)


def parts_of(
    kind: str, environment: env.Environment, host: str, port: int, processes: int, only: str | None
) -> list[Part]:
    """The parts of a kind."""
    if kind == "web":
        return parts.web(host, port, environment.data_dir, processes)
    if kind == "scheduler":
        return parts.scheduler()
    return [part for name, made in WORKERS.items() if only in (None, name) for part in made(processes)]


class Alone(Supervisor):
    """The processes of one kind of part."""

    def __init__(self, kind: str, own: list[Part], environment: env.Environment, host: str, port: int) -> None:
        super().__init__(environment, host, port, demo=False)
        self.kind = kind
        self.web, self.others = (own, []) if kind == "web" else ([], own)
        self.name = f"{SUPERVISOR}-{kind}"
        self.preparation = ["--part", kind]

    def _clear(self) -> None:
        """What an earlier start of the same parts has left: other kinds may beat in the same folder."""
        for name in (self.name, f"forker-{self.kind}", *(part.name for part in [*self.web, *self.others])):
            with suppress(FileNotFoundError):
                HeartbeatFile(self.environment.data_dir, name).path.unlink()

    def _announce(self, said: str) -> None:
        names = ", ".join(child.name for child in self.children)
        at = f" {self.address}/" if self.web else ""
        print(f"{said}{at} {self.kind}: {names} (process {os.getpid()})", flush=True)
