"""The Celery application. ``config.apps`` imports it, so that every Django process uses the same queue."""

import os
import resource
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps
from celery.app.utils import Settings
from celery.fixups.django import DjangoWorkerFixup  # type: ignore[attr-defined]  # the stubs leave it out
from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # the stubs leave it out
from celery.signals import celeryd_init, task_failure, task_postrun, task_prerun, worker_init, worker_shutdown
from celery.worker import state
from celery.worker.consumer import Consumer
from django.conf import settings
from django.db import close_old_connections, connection
from kombu.transport import TRANSPORT_ALIASES

from config import broker, env
from config.database import pool
from config.processes import part_heartbeat
from config.transport import progress
from sessions_app import counts

PONG_CHANNEL = "countersign_pong"
PEAK_BYTES = 250_000_000
"""A worker that a large import has made larger than this starts afresh: Python seldom gives memory back."""
KEPT_SECONDS = 60
"""A worker without a pool keeps its connection so long, from one task to the next: PostgreSQL begins a new one with a
process that knows no table and has planned no statement, 40 of the 70 ms that a file of 20 events took it."""
MACHINE_WORK_NICENESS = 5
"""Web server and people's turns go before imports and turns of webhooks where processors are few."""

# Root in a container is the usual case, and messages are JSON, which runs no code.
warnings.filterwarnings("ignore", category=SecurityWarning)

TRANSPORT_ALIASES["pgmq"] = "config.transport:Transport"

app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _close_old(fixup: DjangoWorkerFixup, **_: object) -> None:
    """Before and after each task, as before and after a request; Celery's own closes connections of any age."""
    close_old_connections()


DjangoWorkerFixup.close_database = _close_old


@celeryd_init.connect
def begin_as_a_part(conf: Settings, **_: object) -> None:
    """Prepare a worker before it connects: its connections, its place among the processes, its heartbeat."""
    environment = env.read()
    if environment.database_pool:
        pool.share(environment.database_pool, patience=pool.WORKER_PATIENCE)
    else:
        settings.DATABASES["default"]["CONN_MAX_AGE"] = KEPT_SECONDS
    # Only a worker reads, so only it keeps the extra connection that LISTENs.
    if "use_notify" in conf.broker_transport_options:
        conf.broker_transport_options["use_notify"] = True
    part_heartbeat.begin(progress.is_made)


@worker_init.connect
def yield_to_people(sender: Any, **_: object) -> None:
    """Lower the priority of what no person waits for."""
    if broker.PEOPLE not in sender.app.amqp.queues.consume_from:
        os.nice(MACHINE_WORK_NICENESS)


@worker_shutdown.connect
def end_as_a_part(**_: object) -> None:
    """Say that it is gone, where no scheduler of this host does."""
    part_heartbeat.end()


@task_prerun.connect
def note_beginning(**_: object) -> None:
    """With the solo pool the loop that reads the queue does the task itself; threads leave it free to go round."""
    if _in_the_loop():
        progress.begins()


@task_postrun.connect
def note_end(**_: object) -> None:
    """Count the task, and stop this worker after one that made it large; the supervisor starts the next."""
    counts.add("tasks")
    if not _in_the_loop():
        return
    progress.ends()
    if peak_bytes() > PEAK_BYTES:
        state.should_stop = os.EX_OK  # type: ignore[assignment]  # its type is read off its first value


@task_failure.connect
def count_failure(**_: object) -> None:
    """A task that raised."""
    counts.add("task_failures")


def _in_the_loop() -> bool:
    return threading.current_thread() is threading.main_thread()


def peak_bytes() -> int:
    """The most memory that this program had at once."""
    if sys.platform == "linux":  # getrusage counts what the process that started it had, too: its peak outlives exec
        with Path("/proc/self/status").open() as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class ReconnectingConsumer(Consumer):
    """Celery's consumer, but it looks for a broker that is away every second: the waits would grow to 30 s."""

    def ensure_connected(self, conn: Any) -> Any:
        ensure = conn.ensure_connection

        def every_second(errback: Any, max_retries: Any, callback: Callable[[], None]) -> Any:
            def tried() -> None:
                progress.went_round()
                callback()

            return ensure(errback, max_retries, interval_start=1, interval_step=0, interval_max=1, callback=tried)

        conn.ensure_connection = every_second
        return super().ensure_connected(conn)


class LoopBeat(bootsteps.StartStopStep):
    """Marks each round of the event loop that RabbitMQ and Redis are read in; pgmq marks its own reads."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    entry: Any = None

    def start(self, parent: Any) -> None:
        if parent.hub is not None:
            self.entry = parent.hub.timer.call_repeatedly(1.0, _go_round)

    def stop(self, parent: Any) -> None:
        if self.entry is not None:
            self.entry.cancel()


def _go_round() -> None:
    progress.went_round()
    close_old_connections()


app.steps["consumer"].add(LoopBeat)


@app.task
def pong(token: str) -> None:
    """Answer the doctor by NOTIFY. Celery's own ping needs reply queues, whose names are too long for pgmq."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [PONG_CHANNEL, token])
