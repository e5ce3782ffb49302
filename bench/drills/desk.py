"""An installation that is broken on purpose: its processes, its database, its API."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

from config import env
from config.database import postgres
from config.database.cluster import Cluster, make_directories
from config.processes.system import die_with_parent

from ..places import ROOT

PARTS = ("web", "worker-1", "worker-2", "turns", "people", "scheduler", "forker")
SECRET = "a secret key that hosts of one installation share"


class Refused(Exception):
    """An answer that is no 2xx: its status, 0 while nobody answers."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        super().__init__(f"{status} {body[:200]!r}")
        self.status = status


class Desk:
    """One running host of an installation, with an admin's API key."""

    def __init__(
        self, data_dir: Path, own_database: Cluster | None = None, more: dict[str, str] | None = None, port: int = 0
    ) -> None:
        self.data_dir, self.own_database, self._listens_at = data_dir, own_database, port
        self.database = own_database or Cluster(data_dir)
        self.environment = os.environ | dict.fromkeys((*env.OURS, *env.COMMON), "") | (more or {})
        self.environment |= {"COUNTERSIGN_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}
        if own_database:
            url = f"postgresql://countersign@/countersign?host={quote(str(own_database.sockets), safe='')}"
            self.environment |= {"DATABASE_URL": url, "SECRET_KEY": SECRET}
        self.key = ""
        self.start()

    def start(self) -> None:
        """`up`, until its ready line."""
        command = [sys.executable, "manage.py", "up", "--port", str(self._listens_at)]
        with (self.data_dir / "up.log").open("ab") as said:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=said, text=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )  # fmt: skip
        assert self.process.stdout
        line = next((line for line in self.process.stdout if line.startswith("ready ")), None)
        assert line, f"no ready line: {(self.data_dir / 'up.log').read_text()[-2000:]}"
        self.port, self.sign_in_link = int(line.split()[1].split(":")[2].strip("/")), line.split()[-1]
        self.key = self.key or self.manage("apikey", "create", "--name", "drills", "--role", "admin").split()[-1]

    def stop(self) -> None:
        """SIGTERM, and the end of what is left."""
        family = self.family()
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=20)
        for left in family:
            with suppress(psutil.NoSuchProcess):
                left.kill()
        self.process.wait()

    def manage(self, *arguments: str) -> str:
        """What a command says. Raises ``CalledProcessError``."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    # --- processes ---

    def family(self) -> list[psutil.Process]:
        """`up` and everything below it."""
        try:
            supervisor = psutil.Process(self.process.pid)
            return [supervisor, *supervisor.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def part(self, name: str) -> list[psutil.Process]:
        """Processes of one part; none while it is being started."""
        if name == "supervisor":
            return self.family()[:1]
        if name == "postgres":
            return [one for one in self.family() if _name(one) == "postgres"]
        # A part that was forked has a name, one that was started by itself a command line.
        return [one for one in self.family()[1:] if _name(one) == f"desk-{name}"[:15] or _is_spawned(one, name)]

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to every process of a part; waits until there is one."""
        deadline = time.monotonic() + 30
        while not (found := self.part(name)):
            assert time.monotonic() < deadline, f"there is no {name}"
            time.sleep(0.05)
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    # --- API ---

    def call(
        self, path: str, body: Any = None, *, headers: dict[str, str] | None = None, seconds: float = 15,
        method: str = "POST",
    ) -> Any:  # fmt: skip
        """What the server answers, as JSON; ``method`` is that of a request with a body. Raises ``Refused``.

        An empty header is left out: ``Authorization`` for somebody who is signed in.
        """
        given = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"} | (headers or {})
        given = {name: value for name, value in given.items() if value}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method if data is not None else "GET", path, data, given)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as fault:
            raise Refused(0, str(fault).encode()) from fault
        finally:
            connection.close()
        if answer.status // 100 != 2:
            raise Refused(answer.status, said)
        return json.loads(said) if said[:1] in (b"{", b"[") else said

    def upload(self, name: str, content: bytes) -> str:
        """Import a file; the id. Raises ``Refused``."""
        edge = "drills-boundary"
        head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        return self.call("/api/v1/imports", body, headers=kind)["id"]

    def ready(self) -> bool:
        """Whether ``/readyz`` finds no fault."""
        try:
            return self.call("/readyz", seconds=5)["status"] == "ok"
        except Refused:
            return False

    # --- database ---

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a query, also while the database cuts the statements of others short."""
        own = self.database.parameters | {"connect_timeout": 10, "options": "-c statement_timeout=0"}
        with psycopg.connect(**own, autocommit=True) as connection:
            found = connection.execute(query, values or None)
            return found.fetchall() if found.description else []


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _is_spawned(process: psutil.Process, part: str) -> bool:
    words = {"web": "config.web.serve", "scheduler": "config.processes.scheduler"}.get(part, f"{part}@countersign")
    try:
        return words in process.cmdline()
    except psutil.NoSuchProcess:
        return False


@contextmanager
def own_database(data_dir: Path) -> Iterator[Callable[[], tuple[Cluster, postgres.Server]]]:
    """A PostgreSQL of the operator's, which no supervisor restarts; the function starts it (again)."""
    cluster = Cluster(data_dir)
    make_directories(cluster)
    servers: list[postgres.Server] = []

    def start() -> tuple[Cluster, postgres.Server]:
        servers.append(postgres.start(cluster, with_parent=True))
        return cluster, servers[-1]

    try:
        yield start
    finally:
        for server in servers:
            if server.alive():
                server.stop()


@contextmanager
def folder() -> Iterator[Path]:
    """A directory that goes away; not below one that the database's user may not enter."""
    path = Path(tempfile.mkdtemp(prefix="countersign-drills-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
