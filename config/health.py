"""``/healthz``: the process is up. ``/readyz``: database, broker, migrations, and heartbeats of all parts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from kombu.exceptions import OperationalError

from config import env
from config.celery import app
from config.database import schema
from config.processes import heartbeats

BROKER_SECONDS = 5
KEPT_SECONDS = 1.0
_looked: tuple[float, dict[str, str] | None] = (-KEPT_SECONDS, None)
_looking = threading.Lock()


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process answers; asks nobody."""
    return JsonResponse({"status": "ok"})


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when every part is there, else 503 with the first fault; as it was a second ago at most."""
    fault = _recent_fault()
    answer = JsonResponse(fault or {"status": "ok"}, status=503 if fault else 200)
    # Django would log each 503 as an error: who asks every second has to hear it, not the log.
    vars(answer)["_has_been_logged"] = True
    return answer


def _recent_fault() -> dict[str, str] | None:
    """Result of ``_first_fault``, kept for ``KEPT_SECONDS``: anybody may ask, and each look is a connection or two."""
    global _looked
    with _looking:
        at, fault = _looked
        if time.monotonic() - at > KEPT_SECONDS:
            fault = _first_fault()
            _looked = time.monotonic(), fault
        return fault


def _first_fault() -> dict[str, str] | None:
    """The first part that is not there: what comes after it could only wait for it."""
    for name, check in CHECKS.items():
        fault = check()
        if fault:
            return _fault(name, fault)
    if env.read().part is None:  # a web server that no supervisor runs knows of no other part
        return None
    for silent in heartbeats.silent_here(settings.DATA_DIR):
        return _fault(silent.part, str(silent))
    if not heartbeats.is_led():
        return _fault(heartbeats.SCHEDULER, "no host's scheduler leads: nothing that is due is called")
    return None


def _fault(part: str, detail: str) -> dict[str, str]:
    return {"status": "fault", "part": part, "detail": detail}


def database_fault() -> str | None:
    """What is wrong with the database, or None."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return schema.version_fault()
    except Error as fault:
        return f"the database does not answer: {first_line(fault)}"


def broker_fault() -> str | None:
    """What is wrong with the broker, or None."""
    try:
        with app.connection_for_write(connect_timeout=BROKER_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_SECONDS)
    except (OperationalError, OSError) as fault:
        return f"the broker does not answer: {first_line(fault)}"
    return None


def migrations_fault() -> str | None:
    """What is wrong with the tables, or None."""
    try:
        executor = MigrationExecutor(connection)
    except Error as fault:
        return f"the database does not answer: {first_line(fault)}"
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if misfit := schema.fault(executor):
        return misfit
    return f"{len(missing)} migrations are missing" if missing else None


def first_line(fault: Exception) -> str:
    """The first line of what a fault says, or its name."""
    return (str(fault).strip() or type(fault).__name__).splitlines()[0]


CHECKS: dict[str, Callable[[], str | None]] = {
    "database": database_fault,
    "broker": broker_fault,
    "migrations": migrations_fault,
}
