"""The web server and the worker of turns share connections among their threads, the others have none to share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from psycopg_pool.base import AttemptWithBackoff

from config.env import BASE_DIR

ASK = """
from django.conf import settings
print(settings.DATABASES['default']['OPTIONS'].get('pool'), 'kept for', settings.DATABASES['default']['CONN_MAX_AGE'])
"""
WORKER = "import django; django.setup(); from config import celery; celery.begin_as_a_part(celery.app.conf)"
COUNT = """
import threading, django; django.setup()
from config.database import pool; from django.db import connection, connections
pool.share(2)
backends = set()
def ask():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid() FROM pg_sleep(0.05)")
        backends.add(cursor.fetchone())
    connection.close()
threads = [threading.Thread(target=ask) for _ in range(12)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
connections["default"].close_pool()
print(len(backends) <= 2)
"""

GONE = """
import django; django.setup()
from config.database import pool; from django.db import connection, connections
pool.share(1)
def backend():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]
first = backend(); connection.close()
again = backend(); connection.close()
import psycopg
with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
    other.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
later = backend(); connection.close()
connections["default"].close_pool()
print(again == first, later != first)
"""


def said(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "size", "found", "kept"),
    [
        ("import config.asgi", "", "'max_size': 16,", "kept for 0"),
        (WORKER, "8", "'max_size': 8,", "kept for 0"),
        (WORKER, "", "None", "kept for 60"),
    ],
)
def test_connection_pool_depends_on_the_kind_of_process(code, size, found, kept):
    """What a thread of many keeps, the others would miss; a worker that is alone would begin with nothing planned."""
    printed = said(code + ASK, os.environ | {"COUNTERSIGN_DATABASE_POOL": size})
    assert found in printed and kept in printed


def test_threads_share_the_connections(process_environment):
    assert said(COUNT, process_environment) == "True"


def test_a_connection_whose_backend_ended_is_replaced_before_it_is_used(process_environment):
    assert said(GONE, process_environment) == "True True"


def test_a_database_that_is_away_is_looked_for_every_second():
    """The waits doubled: when it came back after 3 minutes, nobody looked for 82 s more."""
    attempt = AttemptWithBackoff(timeout=300)
    delays = []
    for second in range(200):
        attempt.update_delay(float(second))
        delays.append(attempt.delay)
    assert max(delays) < 2 and not attempt.time_to_give_up(200.0)
