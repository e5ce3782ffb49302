"""The Celery application. ``config.apps`` imports it, so that every Django process uses the same queue."""

import os
import warnings

from celery import Celery
from celery.app.utils import Settings
from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # the stubs leave it out
from celery.signals import beat_embedded_init, celeryd_init, worker_process_init
from django.db import connection
from kombu.transport import TRANSPORT_ALIASES

from config import env
from config.database import pool
from config.processes.system import die_with_parent

PONG_CHANNEL = "countersign_pong"

# Root in a container is the usual case, and messages are JSON, which runs no code.
warnings.filterwarnings("ignore", category=SecurityWarning)

TRANSPORT_ALIASES["pgmq"] = "config.transport:Transport"

app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
_worker_pid = 0
"""The worker's first process; the pool's children and beat inherit it when they are forked."""


@celeryd_init.connect
def listen_for_messages(conf: Settings, **_: object) -> None:
    """Only the worker's first process reads, so only it keeps the extra connection that LISTENs."""
    global _worker_pid
    _worker_pid = os.getpid()
    if size := env.read().database_pool:
        pool.share(size)
    if "use_notify" in conf.broker_transport_options:
        conf.broker_transport_options["use_notify"] = True


@worker_process_init.connect
@beat_embedded_init.connect
def leave_with_the_worker(**_: object) -> None:
    """The pool's children and beat would outlive a worker that got ``kill -9``; and they only write."""
    die_with_parent(_worker_pid)
    if "use_notify" in app.conf.broker_transport_options:
        app.conf.broker_transport_options["use_notify"] = False


@app.task
def pong(token: str) -> None:
    """Answer the doctor by NOTIFY. Celery's own ping needs reply queues, whose names are too long for pgmq."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [PONG_CHANNEL, token])
