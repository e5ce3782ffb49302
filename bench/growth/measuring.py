"""What each route and periodic task costs, in a process with the environment of an installation: ``… RUNS ONLY``.

Done in this process without a network, by one connection without parallel workers. CPU of Python is process time;
CPU of the database is what the kernel has counted for the backend of that connection (``/proc/PID/schedstat``, in
nanoseconds); rows and buffers are the differences of ``pg_stat_database``, so nobody else may use the database
meanwhile. The first runs of each route warm, until its statements are prepared; of the others the median counts.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import django
import psycopg
from django.http import HttpResponseBase, StreamingHttpResponse

COUNTERS = "SELECT tup_returned, blks_hit + blks_read FROM pg_stat_database WHERE datname = %s"
NS, MS = 1e9, 1_000
PREPARED = 3
"""Runs after which statements are prepared that are (``prepare_threshold`` of the settings)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request. Times in milliseconds; ``rows`` were read by scans of tables and indexes."""

    queries: int
    python_ms: float
    database_ms: float
    rows: int
    buffers: int
    kb: float


class Meter:
    """Measures what Django's connection does. Its own queries run in another database of the server."""

    def __init__(self) -> None:
        from django.conf import settings
        from django.db import connection

        self.connection = connection
        connection.settings_dict["CONN_MAX_AGE"] = None  # the backend's CPU is counted as long as it lives
        with connection.cursor() as cursor:
            cursor.execute("SET max_parallel_workers_per_gather = 0")
            cursor.execute("SELECT pg_backend_pid(), current_database()")
            self.pid, self.database = cursor.fetchone()
        beside = settings.DATABASE_OWNER_PARAMETERS | {"dbname": "postgres"}
        self.observer = psycopg.connect(**beside, autocommit=True)

    def cost_of(self, ask: Callable[[], Any], runs: int) -> Cost:
        """The median cost of a request or task that was done before. Raises ``AssertionError`` for an answer of
        another status than 200 or 302, and where the connection was replaced.
        """
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        with CaptureQueriesContext(connection) as queries:
            answer = ask()
        asked = len(queries)  # now: the next request forgets them
        for _ in range(PREPARED - 1):
            ask()
        kb = _size(answer) / 1_000 if isinstance(answer, HttpResponseBase) else 0.0
        counted = [self._once(ask) for _ in range(runs)]
        python, database, rows, buffers = (median(values) for values in zip(*counted, strict=True))
        return Cost(asked, python, database, round(rows), round(buffers), kb)

    def _once(self, ask: Callable[[], Any]) -> tuple[float, float, int, int]:
        before, cpu, began = self._counters(), self._backend_cpu(), process_time()
        answer = ask()
        if isinstance(answer, StreamingHttpResponse):
            answer.getvalue()
        python, database = process_time() - began, self._backend_cpu() - cpu
        after = self._counters()
        return python * MS, database * MS, after[0] - before[0], after[1] - before[1]

    def _backend_cpu(self) -> float:
        """Seconds that the backend has run."""
        assert self.connection.connection.info.backend_pid == self.pid, "the connection was opened anew"
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / NS

    def _counters(self) -> tuple[int, int]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
        # The counters of a backend are added to those of the database when it is idle again.
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        row = self.observer.execute(COUNTERS, [self.database]).fetchone()
        assert row is not None
        return row[0], row[1]


def _size(answer: HttpResponseBase) -> int:
    body = answer.getvalue()
    assert answer.status_code in (200, 302), (answer.status_code, body[:500])
    return len(body)


def measure(runs: int, only: str) -> dict[str, Any]:
    """Costs by the names of the routes, and how much data there is."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections, connection
    from django.test import Client

    from sessions_app.models import Member
    from sessions_app.services import workspaces

    from . import periodic, routes

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    workspace = workspaces.default_workspace()
    client = Client(SERVER_NAME="localhost")
    client.force_login(Member.objects.get(workspace=workspace, user__first_name="Rosa").user)
    meter = Meter()
    found = {}
    asked = [(one.name, partial(client.get, one.url), one.most_ms) for one in routes.all_routes(workspace)]
    asked += [(one.name, one.call, one.most_ms) for one in periodic.all_tasks()]
    for name, ask, most_ms in asked:
        if re.search(only, name):
            cost = meter.cost_of(ask, runs)
            found[name] = asdict(cost) | {"most_ms": most_ms}
            print(f"{name}: {cost}", file=sys.stderr, flush=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM sessions_app_session), (SELECT count(*) FROM sessions_app_event),"
            " (SELECT count(*) FROM sessions_app_approval WHERE status = 'pending'),"
            " (SELECT count(*) FROM sessions_app_approval WHERE status <> 'pending'),"
            " (SELECT count(*) FROM sessions_app_auditentry), pg_database_size(current_database())"
        )
        names = ("sessions", "events", "pending approvals", "past approvals", "audit rows", "bytes")
        data = dict(zip(names, cursor.fetchone(), strict=True))
    return {"data": data, "routes": found}


if __name__ == "__main__":
    django.setup()
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2])))
