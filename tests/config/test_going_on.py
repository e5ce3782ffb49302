"""A real `up` whose parts are killed or frozen one after the other, with work that has to be done all the same.

``python -m bench.drills`` does this to every part, in pairs and under load, and measures it.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import psutil
import psycopg
import pytest

from config import broker
from config.database.cluster import Cluster
from config.database.postgres import wait_until
from config.processes import leadership

from .running import PARTS, Up, serves, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells the parts apart by name")
PATIENCE = 60
"""Seconds; it takes less than 30 on a machine that does nothing else."""


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        running = start(Path(directory))
        assert wait_until(lambda: all(map(running.child, PARTS)), seconds=PATIENCE)
        yield running
        running.process.terminate()
        running.process.wait(timeout=60)


@pytest.fixture(scope="module")
def key(up: Up) -> str:
    import subprocess

    from .running import MANAGE, environment

    command = [*MANAGE, "apikey", "create", "--name", "drills", "--role", "admin"]
    done = subprocess.run(command, env=environment(up.data_dir), check=True, capture_output=True, text=True)
    return done.stdout.split()[-1]


class Caller:
    """Somebody who works with the desk while its parts die."""

    def __init__(self, up: Up, key: str) -> None:
        self.up, self._key = up, key

    def call(self, path: str, body: object = None, content_type: str = "application/json") -> dict:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = Request(self.up.address.rstrip("/") + path, data)
        request.add_header("Authorization", f"Bearer {self._key}")
        request.add_header("Content-Type", content_type)
        with urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def import_file(self) -> str:
        line = {"type": "user", "uuid": str(uuid4()), "sessionId": str(uuid4()), "version": "2.1.0", "cwd": "/srv",
                "timestamp": "2026-04-06T08:15:00Z", "message": {"role": "user", "content": "Hello"}}  # fmt: skip
        head = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        body = head + json.dumps(line).encode() + b"\r\n--edge--\r\n"
        return self.call("/api/v1/imports", body, "multipart/form-data; boundary=edge")["id"]

    def is_done(self, imported: str) -> bool:
        return self.call(f"/api/v1/imports/{imported}")["status"] == "done"

    def ask(self) -> str:
        question = {"agent": "Asker", "tool": {"name": "refund", "arguments": {}}, "expires_in": 1}
        return self.call("/api/v1/approvals", question)["id"]

    def is_expired(self, approval: str) -> bool:
        """By its row: who asks the API about an approval makes it expire."""
        with psycopg.connect(**Cluster(self.up.data_dir).parameters) as database:
            query = "SELECT status FROM sessions_app_approval WHERE id = %s"
            return database.execute(query, [approval]).fetchone() == ("expired",)


@pytest.fixture
def caller(up: Up, key: str) -> Caller:
    return Caller(up, key)


def kill(up: Up, part: str) -> psutil.Process:
    assert wait_until(lambda: up.child(part) is not None, seconds=PATIENCE)
    dead = up.child(part)
    dead.kill()
    return dead


def test_imports_go_on_after_every_worker_was_killed_twice(up, caller):
    """Two killed children of a pool left the queue dead for ever, while every process that is looked at lived."""
    imports = [caller.import_file() for _ in range(4)]
    for _ in range(2):
        for part in ("worker-1", "worker-2"):
            kill(up, part)
        time.sleep(1.5)
    imports += [caller.import_file() for _ in range(4)]
    assert wait_until(lambda: all(map(caller.is_done, imports)), seconds=PATIENCE)


def test_approvals_expire_after_the_scheduler_was_killed(up, caller):
    """Celery's own beat stayed a zombie: nothing expired, fired or was swept any more, and nobody said so."""
    dead = kill(up, "scheduler")
    approval = caller.ask()
    assert wait_until(lambda: caller.is_expired(approval), seconds=PATIENCE)
    assert up.child("scheduler") != dead


def test_a_worker_that_is_frozen_is_killed_and_started_again(up, caller):
    frozen = up.child("worker-1")
    frozen.send_signal(signal.SIGSTOP)
    assert wait_until(lambda: not frozen.is_running(), seconds=PATIENCE)
    assert wait_until(lambda: up.child("worker-1") is not None and serves(up.address + "readyz"), seconds=PATIENCE)
    imported = caller.import_file()
    assert wait_until(lambda: caller.is_done(imported), seconds=PATIENCE)


def test_readyz_names_the_supervisor_that_is_frozen(up, caller):
    """What it asks for their heartbeats is silent then, too, and what dies stays dead; it is the cause."""
    up.process.send_signal(signal.SIGSTOP)
    try:
        up.child("people").kill()

        def named() -> bool:
            try:
                caller.call("/readyz")
            except HTTPError as answer:
                fault = json.load(answer)
                return answer.code == 503 and fault["part"] == "supervisor"
            return False

        assert wait_until(named, seconds=PATIENCE)
    finally:
        up.process.send_signal(signal.SIGCONT)
    assert wait_until(lambda: serves(up.address + "readyz"), seconds=PATIENCE)


def test_the_forker_is_started_again_and_forks(up):
    dead = kill(up, "forker")
    assert wait_until(lambda: up.child("forker") not in (None, dead), seconds=PATIENCE)
    forker = up.child("forker")
    time.sleep(8)  # it loads what parts share; until then they are started each by itself
    web = kill(up, "web")
    assert wait_until(lambda: up.child("web") not in (None, web) and serves(up.address + "readyz"), seconds=PATIENCE)
    assert up.child("forker") == forker


def test_a_frozen_database_server_is_killed_and_started_again(up, caller):
    server = up.child("postgres")
    server.suspend()
    assert wait_until(lambda: not server.is_running(), seconds=PATIENCE)
    assert wait_until(lambda: serves(up.address + "readyz"), seconds=PATIENCE)
    imported = caller.import_file()
    assert wait_until(lambda: caller.is_done(imported), seconds=PATIENCE)


def test_processes_of_the_database_that_are_frozen_go_on(up, caller):
    """The one that holds the lead of the schedulers kept it, dead or alive, and nobody led any more."""
    held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = %s"
    with psycopg.connect(**Cluster(up.data_dir).parameters) as database:
        pids = [*database.execute(held, [leadership.LOCK]).fetchall()]
        pids += database.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'").fetchall()
    assert len(pids) == 2
    frozen = [psutil.Process(pid) for (pid,) in pids]
    for process in frozen:
        process.suspend()
    up.child("scheduler").kill()
    assert wait_until(lambda: not any(map(is_stopped, frozen)), seconds=PATIENCE)
    approval = caller.ask()
    assert wait_until(lambda: caller.is_expired(approval), seconds=PATIENCE)
    assert wait_until(lambda: serves(up.address + "readyz"), seconds=PATIENCE)
    server = up.child("postgres")
    assert frozen[1].is_running() and frozen[1].ppid() == server.pid, "nothing was killed for it"


def is_stopped(process: psutil.Process) -> bool:
    return process.is_running() and process.status() == psutil.STATUS_STOPPED


def test_a_decision_is_made_once_and_executed_once_while_the_database_is_killed(up, caller):
    """``python -m bench.gate.killed`` does this at every step, to every part."""
    agent = caller.call("/api/v1/agents", {"name": "Refunds", "runtime": "scripted"})["id"]
    session = caller.call(f"/dashboard/agents/{agent}/sessions", {"message": '/tool refund {"amount": 40}'})["id"]
    asked = f"/api/v1/approvals?session_id={session}"
    assert wait_until(lambda: caller.call(asked)["items"], seconds=PATIENCE)
    [approval] = caller.call(asked)["items"]
    body = {"verdict": "approve", "version": approval["version"], "digest": approval["digest"]}
    server = up.child("postgres")

    def decided() -> bool:
        try:
            return caller.call(f"/api/v1/approvals/{approval['id']}/decision", body)["status"] == "approved"
        except (HTTPError, OSError) as fault:  # a client sends it again: the same decision is the same answer
            assert not isinstance(fault, HTTPError) or fault.code in (500, 503), fault.read()
            return False

    with ThreadPoolExecutor(1) as other:
        first = other.submit(decided)
        server.kill()
        first.result()
    assert wait_until(decided, seconds=PATIENCE)

    def ended() -> bool:
        try:
            return caller.call(f"/api/v1/sessions/{session}")["status"] == "idle"
        except (HTTPError, OSError):
            return False

    assert wait_until(ended, seconds=PATIENCE)
    results = caller.call(f"/api/v1/sessions/{session}/events?kind=tool_result")["items"]
    assert [one["tool"]["status"] for one in results] == ["ok"]
    [approval] = caller.call(asked)["items"]
    assert (approval["delivery"], approval["execution"]) == ("delivered", "succeeded")
    assert len(approval["votes"]) == 1 and up.child("postgres") != server


def test_everything_that_waits_was_done_in_the_end(up, caller):
    def waiting() -> int:
        total = " + ".join(f"(SELECT count(*) FROM pgmq.q_{queue})" for queue in broker.QUEUES)
        with psycopg.connect(**Cluster(up.data_dir).parameters) as database:
            return database.execute(f"SELECT {total}").fetchone()[0]

    # A message whose worker was killed comes again after two minutes, when its row is long done.
    with psycopg.connect(**Cluster(up.data_dir).parameters, autocommit=True) as database:
        for queue in broker.QUEUES:
            database.execute(f"UPDATE pgmq.q_{queue} SET vt = now()")
    assert wait_until(lambda: waiting() == 0, seconds=PATIENCE)
