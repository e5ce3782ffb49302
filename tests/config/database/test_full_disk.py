"""An installation on a disk that fills up: refusals with a sentence, jobs that wait, and all goes on afterwards."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import psutil
import pytest

from config import env
from config.database import postgres
from config.database.cluster import Cluster, line_that_says_why
from config.env import BASE_DIR, ConfigError
from config.processes import supervisor
from tests.services.files import transcript

MANAGE = [sys.executable, str(BASE_DIR / "manage.py")]
READY = re.compile(r"ready (http://[^/]+)/ sign in: ")
MIB = 1024 * 1024
pytestmark = pytest.mark.timeout(400)


@dataclass
class Small:
    """An installation whose data directory is a disk of its own, of 400 MiB."""

    data_dir: Path
    environment: dict[str, str]
    address: str
    key: str
    said: Path

    @property
    def ballast(self) -> Path:
        return self.data_dir / "ballast"

    def leave(self, free: int) -> None:
        """Fill the disk up to ``free`` bytes."""
        with self.ballast.open("ab") as file:
            while (left := shutil.disk_usage(self.data_dir).free - free) > 0:
                file.write(b"\0" * min(left, 4 * MIB))
                file.flush()

    def upload(self, content: bytes) -> tuple[int, dict[str, Any]]:
        boundary = uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'.encode()
        body = head + content + f"\r\n--{boundary}--\r\n".encode()
        return self.call("/api/v1/imports", body, **{"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def call(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, dict[str, Any]]:
        request = Request(self.address + path, body, {"Authorization": f"Bearer {self.key}", **headers})
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as refused:
            return refused.code, json.loads(refused.read())

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*MANAGE, *arguments], env=self.environment, capture_output=True, text=True, timeout=120)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        place = Path(directory)
        place.chmod(0o711)
        command = ["mount", "-t", "tmpfs", "-o", "size=400m,mode=0711", "none", directory]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a disk of its own can be mounted by root alone")
        try:
            yield place
        finally:
            subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.fixture(scope="module")
def small(disk: Path, tmp_path_factory) -> Iterator[Small]:
    data_dir = disk / "data"
    environment = os.environ | {"COUNTERSIGN_DATA_DIR": str(data_dir), "DATABASE_URL": "", "DATABASE_OWNER_URL": ""}
    said = tmp_path_factory.mktemp("up") / "said"
    with said.open("wb") as errors, subprocess.Popen(
        [*MANAGE, "up", "--port", "0"], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:  # fmt: skip
        try:
            found = READY.match(line := process.stdout.readline())
            assert found, f"no ready line but {line!r}: {said.read_text()[-2000:]}"
            running = Small(data_dir, environment, found[1], "", said)
            done = running.manage("apikey", "create", "--name", "k", "--role", "reviewer")
            running.key = next(word for word in done.stdout.split() if word.startswith("cs_"))
            yield running
        finally:
            process.terminate()


def test_with_little_room_large_files_are_refused_and_jobs_wait(small):
    small.leave(40 * MIB)
    status, problem = small.upload(b"x" * (30 * MIB))
    assert (status, "the disk of the server is full" in problem["detail"]) == (507, True)
    status, imported = small.upload(transcript(20))
    assert status == 202
    path = f"/api/v1/imports/{imported['id']}"
    assert until(lambda: small.call(path)[1]["waiting_for"] is not None, 60)
    _, waiting = small.call(path)
    assert (waiting["status"], waiting["error"]) == ("queued", None)
    assert "The disk of the server is full" in waiting["waiting_for"]
    doctor = small.manage("doctor").stdout.splitlines()
    assert [line for line in doctor if not line.startswith(("ok ", "fault ", "note "))] == []
    assert any(line.startswith("fault  storage: only ") for line in doctor)

    small.ballast.unlink()
    assert until(lambda: small.call(path)[1]["status"] == "done", 90)
    assert small.call(path)[1]["events"] == 20


def test_a_database_without_room_comes_back_when_there_is_some(small):
    before = small.call("/api/v1/sessions")[1]["items"]
    small.leave(0)
    status, _ = small.upload(transcript(6, session=str(uuid4())) + b" " * MIB)
    assert status in (503, 507)
    postmaster = int((small.data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    psutil.Process(postmaster).kill()
    time.sleep(8)
    said = small.said.read_text(errors="replace")
    assert "PostgreSQL has ended" in said
    assert "--- Logging error ---" not in said

    small.ballast.unlink()
    assert until(lambda: small.call("/api/v1/sessions")[0] == 200, 90)
    assert small.call("/api/v1/sessions")[1]["items"] == before
    assert small.manage("audit", "verify").returncode == 0
    status, imported = small.upload(transcript(8, session=str(uuid4())))
    assert status == 202
    assert until(lambda: small.call(f"/api/v1/imports/{imported['id']}")[1]["status"] == "done", 90)


LOG = b"""\
2026-11-22 13:47:01.004 UTC [812] LOG:  database system was interrupted
2026-11-22 13:47:01.101 UTC [815] FATAL:  could not write to file "pg_wal/xlogtemp.815": No space left on device
2026-11-22 13:47:01.104 UTC [812] LOG:  shutting down due to startup process failure
2026-11-22 13:47:01.107 UTC [812] LOG:  database system is shut down
"""


def test_why_postgresql_does_not_start_is_the_line_that_says_so(tmp_path):
    cluster = Cluster(tmp_path)
    cluster.log.parent.mkdir()
    cluster.log.write_bytes(b"FATAL:  of an earlier start\n" + LOG)
    told = postgres._reason(cluster, len(b"FATAL:  of an earlier start\n"))
    assert told == 'FATAL:  could not write to file "pg_wal/xlogtemp.815": No space left on device'


INITDB = b"""\
creating configuration files ... ok
running bootstrap script ... 2026-11-28 08:45 UTC [126] FATAL:  could not write to file "x": No space left on device
child process exited with exit code 1
initdb: removing contents of data directory "/srv/postgres.new"
"""


def test_why_a_database_cannot_be_made_is_the_line_that_says_so():
    assert line_that_says_why(INITDB) == 'FATAL:  could not write to file "x": No space left on device'
    assert line_that_says_why(b"initdb: error: no\ninitdb: hint: x\n") == "error: no"
    assert line_that_says_why(b"one\nkilled\n") == "killed"


def test_on_a_full_disk_the_log_may_have_no_line(tmp_path, monkeypatch):
    cluster = Cluster(tmp_path)
    cluster.log.parent.mkdir()
    cluster.log.write_bytes(b"")
    monkeypatch.setattr(postgres, "FULL_BYTES", 2**60)
    assert postgres._reason(cluster, 0) == f"FATAL: No space left on device in {tmp_path}"


@pytest.mark.parametrize(
    "fault",
    [
        ConfigError("PostgreSQL does not start: FATAL: No space left on device"),
        OSError(errno.ENOSPC, "No space left on device"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
    ],
    ids=["no room", "no lock file", "no process"],
)
def test_why_postgresql_does_not_start_is_told_once(tmp_path, monkeypatch, capsys, fault):
    tries = []

    def revive(cluster: Cluster) -> None:
        tries.append(cluster)
        raise fault

    monkeypatch.setattr(postgres, "revive", revive)
    up = supervisor.Supervisor(env.read({"COUNTERSIGN_DATA_DIR": str(tmp_path)}), "127.0.0.1", 1, False)
    monkeypatch.setattr(up, "_pause", lambda seconds: None)
    for _ in range(3):
        up._revive(Cluster(tmp_path))
    assert (len(tries), capsys.readouterr().err.count(str(fault))) == (3, 1)
