"""Celery's queue in the database: what is sent arrives at a real worker, also after a ``kill -9``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from celery.worker import state
from django.db import connection
from django.utils import timezone
from kombu import Connection
from kombu.message import Message
from kombu.transport.pgmq import Channel
from pgmq import PGMQueue
from pgmq.base import PGMQConfig
from psycopg.conninfo import conninfo_to_dict

from config import broker, doctor
from config.celery import app
from config.database.postgres import wait_until
from config.env import BASE_DIR
from config.models import PartHeartbeat
from config.transport import progress
from tests.config.tasks import sign_in_and_stay
from tests.database_roles import as_owner

AWKWARD = {
    "host": "/run/a directory",
    "port": "5433",
    "dbname": "it's",
    "user": "back\\slash",
    "password": "p w' x=1",
    "sslmode": "verify-full",
}


def test_every_parameter_survives_the_clients_own_conninfo():
    """pgmq pastes values into a conninfo unquoted; a lost sslmode would be a connection in the clear."""
    config = PGMQConfig(conn_string=broker.conn_string(AWKWARD))
    assert conninfo_to_dict(config.dsn) == AWKWARD


def test_the_options_are_ones_that_the_transport_reads():
    assert all(hasattr(Channel, name) for name in ("use_notify", "wait_time_seconds", "visibility_timeout"))
    assert broker.transport_options(None) == {"visibility_timeout": broker.VISIBILITY_SECONDS}


@pytest.fixture
def empty_queue(transactional_db) -> None:
    """What other tests rang for is in the queue still, and would be taken first."""
    with as_owner() as cursor:
        cursor.execute("SELECT pgmq.purge_queue(queue_name) FROM pgmq.list_queues()")


@pytest.fixture
def worker(process_environment, empty_queue) -> Iterator[Callable[[], subprocess.Popen]]:
    """A real worker on the test database, as the supervisor starts it."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "config.celery",
        "--quiet",
        "worker",
        "--pool",
        "solo",
        "--loglevel",
        "WARNING",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        "--include",
        "tests.config.tasks",
    ]
    started = [subprocess.Popen(command, cwd=BASE_DIR, env=process_environment, start_new_session=True)]

    def another() -> subprocess.Popen:
        started.append(subprocess.Popen(command, cwd=BASE_DIR, env=process_environment, start_new_session=True))
        return started[-1]

    yield another
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def numbers(book: Path, count: int) -> list[int]:
    """The processes that have signed ``book``, once ``count`` have."""
    assert wait_until(lambda: book.exists() and book.read_text().count("\n") >= count, seconds=60)
    return [int(line) for line in book.read_text().splitlines()]


@pytest.mark.django_db(transaction=True)
def test_a_real_worker_takes_a_task_and_the_doctor_sees_it(worker):
    assert doctor.worker_fault(20) is None


@pytest.mark.django_db
def test_while_a_worker_is_waited_for_the_doctor_looks_at_everything_else(monkeypatch):
    looked = threading.Event()
    monkeypatch.setattr(doctor, "worker_fault", lambda seconds: None if looked.wait(60) else "nothing was looked at")
    monkeypatch.setattr(doctor, "AFTER_WORKER", [("clock", looked.set, "")])
    checks = doctor.diagnose()
    assert {check.name: check.fault for check in checks}["worker"] is None
    assert [check.name for check in checks][:5] == ["database", "migrations", "broker", "worker", "clock"]


@pytest.mark.django_db
def test_where_nothing_runs_the_doctor_waits_a_moment_for_a_worker(monkeypatch):
    given = []
    monkeypatch.setattr(doctor, "worker_fault", given.append)
    doctor.diagnose()
    PartHeartbeat.objects.create(
        host="another", part="scheduler", leads=True, beat_at=timezone.now(), started_at=timezone.now()
    )
    doctor.diagnose()
    assert given == [doctor.NOBODY_SECONDS, doctor.WORKER_SECONDS]


@pytest.mark.django_db(transaction=True)
def test_a_task_whose_process_is_killed_is_delivered_again(worker, tmp_path):
    book = tmp_path / "book"
    sign_in_and_stay.delay(str(book))
    [first] = numbers(book, 1)
    os.kill(first, signal.SIGKILL)
    with connection.cursor() as cursor:  # two minutes pass
        cursor.execute("UPDATE pgmq.q_countersign SET vt = now()")
    worker()
    assert numbers(book, 2)[1] != first


@pytest.mark.django_db(transaction=True)
def test_short_tasks_follow_one_another_at_once(worker, tmp_path):
    """2 s went by before each of them: a worker whose children are busy waited for a NOTIFY that nobody sends."""
    book = tmp_path / "book"
    book.write_text("0\n")  # signed already, so that nobody stays
    for _ in range(24):  # more than there is patience for at that pace
        sign_in_and_stay.delay(str(book))
    numbers(book, 25)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("answer", [Message.ack, Message.reject])
def test_a_message_that_the_database_went_away_under_takes_no_place_for_ever(empty_queue, answer):
    """With one message out at a time a worker read nothing any more, and showed a heartbeat: 240 imports waited."""
    with app.connection_for_read() as connected:
        channel = connected.default_channel
        channel.basic_qos(prefetch_count=1)
        app.send_task("nobody.does.this", connection=connected)
        message = channel.basic_get(broker.QUEUE)
        assert message and not channel.qos.can_consume()
        with channel.pgmq.pool.connection() as broken, as_owner() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [broken.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            answer(message)
        assert channel.qos.can_consume()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_can_take_no_message_and_is_at_none_shows_no_heartbeat(empty_queue):
    """Else it would live and do nothing, and nobody would start it again."""
    task = Request()
    with app.connection_for_read() as connected:
        channel = connected.default_channel
        channel.basic_qos(prefetch_count=1)
        app.send_task("nobody.does.this", connection=connected)
        message = channel.basic_get(broker.QUEUE)
        assert goes_round(connected) is False
        state.reserved_requests.add(task)
        assert goes_round(connected) is True
        state.reserved_requests.discard(task)
        message.ack()
        assert goes_round(connected) is True


@pytest.mark.django_db(transaction=True)
def test_a_message_is_sent_without_asking_for_the_queues_first(empty_queue, monkeypatch):
    listed = []
    asks = PGMQueue.list_queues
    monkeypatch.setattr(PGMQueue, "list_queues", lambda *of: listed.append(1) or asks(*of))
    with app.connection_for_write() as connected:
        app.send_task("nobody.does.this", connection=connected)
        opened = len(listed)
        for _ in range(5):
            app.send_task("nobody.does.this", connection=connected)
        with suppress(TimeoutError):
            connected.drain_events(timeout=0.1)
        assert len(listed) == opened
        assert connected.default_channel._size(broker.QUEUE) == 6


@pytest.mark.django_db(transaction=True)
def test_a_message_is_sent_where_the_database_has_ended_the_connection_meanwhile(empty_queue):
    with app.connection_for_write() as connected:
        app.send_task("nobody.does.this", connection=connected)
        with connected.default_channel.pgmq.pool.connection() as broken, as_owner() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [broken.info.backend_pid])
        app.send_task("nobody.does.this", connection=connected, retry=False)
        assert connected.default_channel._size(broker.QUEUE) == 2


class Request:
    """Of a task that a worker is at."""


def goes_round(connected: Connection) -> bool:
    """Whether a loop that stood still for long goes round once it has read."""
    progress._round_at -= 60
    with suppress(TimeoutError):
        connected.drain_events(timeout=0.1)
    return progress.is_made()
