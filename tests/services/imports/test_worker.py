"""Imports with a real Celery worker on the real broker, also when it is killed or the database goes away."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from config.broker import QUEUE
from config.celery import app
from config.database import postgres
from config.database.cluster import Cluster, make_directories
from sessions_app.models import Event, QueuedTask, Session, Workspace
from tests.database_roles import as_owner
from vcon_app.models import Import
from vcon_app.services import task_names
from vcon_app.services.documents import jobs
from vcon_app.services.imports import import_jobs

from ..files import transcript
from ..workers import ROOT, WRITING, Worker, until
from .test_imports import start

LINES = 8_000
AWAY_SECONDS = 5


@pytest.fixture
def workers(transactional_db, process_environment, document_storage, tmp_path) -> Iterator[Callable[[], Worker]]:
    """Starts workers on the test database; all are gone before it is emptied."""
    environment = process_environment | {"STORAGE_URL": f"file://{document_storage}"}
    with as_owner() as cursor:
        cursor.execute("SELECT pgmq.purge_queue(%s)", [QUEUE])
    started: list[Worker] = []

    def begin() -> Worker:
        started.append(Worker(environment, tmp_path / "worker.log"))
        return started[-1]

    yield begin
    for worker in started:
        worker.kill()


def status(imported: Import) -> str:
    return Import.objects.values_list("status", flat=True).get(pk=imported.pk)


def in_the_middle() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WRITING)
        return cursor.fetchone()[0]


def test_a_worker_imports_a_file_and_makes_its_text_searchable(workers, workspace):
    worker = workers()
    waiting = start(workspace, transcript(600))
    until(lambda: status(waiting) == Import.Status.DONE, 40, "done", worker)
    until(lambda: Session.objects.get().indexed_seq == 600, 30, "searchable", worker)


def test_another_workspaces_file_is_read_between_the_many_that_came_before_it(workers, workspace):
    """And what an older version has enqueued by the id of its row is done as before."""
    old = start(workspace, transcript(2))
    QueuedTask.objects.all().delete()
    with as_owner() as cursor:
        cursor.execute("SELECT pgmq.purge_queue(%s)", [QUEUE])
    app.send_task(task_names.RUN_IMPORT, args=[str(old.pk)])
    for number in range(3, 9):
        start(workspace, transcript(number))
    other = start(Workspace.objects.create(name="Other"), transcript(2))
    worker = workers()
    until(lambda: not Import.objects.exclude(status=Import.Status.DONE).exists(), 60, "done", worker)
    assert other in Import.objects.order_by("started_at")[:3]
    until(lambda: not QueuedTask.objects.exists(), 20, "nobody left in line", worker)


def test_an_import_whose_worker_gets_kill_9_finishes_with_the_next_and_has_every_event_once(workers, workspace):
    waiting = start(workspace, transcript(LINES))
    worker = workers()
    until(in_the_middle, 40, "begun", worker)
    worker.kill()
    assert (status(waiting), Session.objects.count()) == (Import.Status.RUNNING, 0)

    Import.objects.update(heartbeat_at=timezone.now() - jobs.SILENT_AFTER - timedelta(seconds=1))  # 20 s pass
    until(lambda: not in_the_middle(), 20, "rolled back", worker)
    assert import_jobs.sweep() == 1
    worker = workers()
    until(lambda: status(waiting) == Import.Status.DONE, 60, "done", worker)
    done = Import.objects.get()
    assert (done.attempt, done.events) == (2, LINES)
    assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == list(range(1, LINES + 1))
    assert Event.objects.values("key").distinct().count() == LINES


def manage(code: str, environment: dict[str, str], given: bytes = b"") -> str:
    """Run a piece of Python in a process of its own with Django set up."""
    script = f"import django; django.setup()\n{code}"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, input=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


START = """
import sys
from sessions_app.services import audit, workspaces
from vcon_app.services.imports import import_jobs
workspace, given = workspaces.default_workspace(), [sys.stdin.buffer.read()]
print(import_jobs.start_import(workspace, "clock.jsonl", given, by=audit.COMMAND).pk)
"""
SWEEP = "from vcon_app.services.imports import import_jobs; print(import_jobs.sweep())"
PREPARE = "from config import prepare; prepare.database()"


def test_an_import_outlives_a_database_that_stops_meanwhile(process_environment):
    """On a server of its own: the other one belongs to the whole run."""
    data_dir = Path(tempfile.mkdtemp(prefix="countersign-test-"))  # pytest's own is closed to the server's user
    environment = process_environment | {"COUNTERSIGN_DATA_DIR": str(data_dir)}
    environment |= {"DATABASE_URL": "", "DATABASE_OWNER_URL": ""}
    cluster = Cluster(data_dir)
    make_directories(cluster)
    server = postgres.start(cluster, with_parent=True)

    def ask(query: str) -> tuple:
        with psycopg.connect(**cluster.parameters, autocommit=True) as database:
            return database.execute(query).fetchone() or ()

    worker = None
    try:
        manage(PREPARE, environment)
        manage(START, environment, transcript(LINES))
        worker = Worker(environment, data_dir / "worker.log")
        until(lambda: ask(WRITING)[0], 40, "begun", worker)
        server.stop()
        time.sleep(AWAY_SECONDS)
        server = postgres.start(cluster, with_parent=True)
        assert ask("SELECT status FROM vcon_app_import") == ("running",)
        assert ask("SELECT count(*) FROM sessions_app_event") == (0,)
        ask("UPDATE vcon_app_import SET heartbeat_at = heartbeat_at - interval '30 s' RETURNING id")  # 20 s pass
        assert manage(SWEEP, environment) == "1"
        until(lambda: ask("SELECT status FROM vcon_app_import") == ("done",), 60, "done", worker)
        assert ask("SELECT count(*), count(DISTINCT key), max(seq) FROM sessions_app_event") == (LINES,) * 3
    finally:
        if worker:
            worker.kill()
        server.stop()
        shutil.rmtree(data_dir)
