"""``manage.py doctor``: looks at every part, and says what to do about each fault."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import psycopg
from django.conf import settings
from django.db import Error, connection
from kombu.exceptions import OperationalError as BrokerError
from psycopg.conninfo import make_conninfo

from config import health
from config.celery import PONG_CHANNEL, pong
from config.database import postgres, roles, server_check
from config.prepare import connection_parameters
from config.processes import heartbeats
from sessions_app.models import Workspace
from sessions_app.queries import checkpoints, notices, stuck
from sessions_app.services import agent_days
from sessions_app.services.log import run_summaries, shared_responses
from sessions_app.services.money import totals
from sessions_app.services.upkeep import disk, event_months, installation
from vcon_app.services.checkpoints import publishing
from vcon_app.services.documents import file_words, storage, storage_mark
from vcon_app.services.imports import families
from vcon_app.services.transparency import registering
from vcon_app.services.trust import own_keys

WORKER_SECONDS, NOBODY_SECONDS = 10, 1
"""How long a worker has to answer, and one where no part of any host shows a sign of life."""
SCHEDULER_SECONDS = 10
CLOCK_SECONDS = 5
FREE_BYTES = 1024**3
PROBE = ".probe"
Part = tuple[str, Callable[[], str | None], str]
"""A check: its name, what looks at it, and what to do about what it finds."""


@dataclass(frozen=True)
class Check:
    """One part: its name, what is wrong with it (or nothing), and what to do then. A ``notice`` is no fault."""

    name: str
    fault: str | None
    remedy: str
    notice: str | None = None


def diagnose() -> list[Check]:
    """Every check, in the order in which a fault explains the next; what needs a dead database is not tried."""
    database = Check("database", health.database_fault(), _database_remedy())
    if database.fault:
        return [database, *_of_this_host(has_tables=False)]
    with ThreadPoolExecutor(1) as aside:
        patience = WORKER_SECONDS if _is_anybody_there() else NOBODY_SECONDS
        answered = aside.submit(_one_line, partial(worker_fault, patience))  # meanwhile all others are looked at
        before = [database, *_looked(BEFORE_WORKER)]
        has_tables = all(check.fault is None for check in before if check.name == "migrations")
        after = [*_looked(AFTER_WORKER)]
        after.append(Check("database role", roles_fault(), ROLES_REMEDY, None if roles.are_two() else ONE_ROLE))
        if has_tables:
            after += _notices()
        after += _of_this_host(has_tables=has_tables)
    return [*before, Check("worker", answered.result(), WORKER_REMEDY), *after]


def _looked(parts: list[Part]) -> Iterator[Check]:
    for name, look, remedy in parts:
        yield Check(name, _one_line(look), remedy)


def _notices() -> Iterator[Check]:
    """What is no fault, and a person should know of."""
    yield Check("approvals", None, "", _one_line(stuck_notice))
    # Usage and the numbers of agents are exact all the while.
    yield Check("usage totals", None, "", _one_line(totals.late_notice))
    yield Check("agent totals", None, "", _one_line(agent_days.late_notice))
    # The next look decides, and the log itself is whole.
    yield Check("shared responses", None, "", _one_line(shared_responses.late_notice))
    yield Check("sub-agents", None, "", _one_line(families.late_notice))
    yield Check("texts of files", None, "", _one_line(file_words.notice))
    yield Check("run summaries", None, "", _one_line(run_summaries.notice))
    # Nothing is lost, and everything is found.
    yield Check("event months", None, "", _one_line(event_months.notice))
    # The receivers are others' machines, and what is for them is kept and tried again.
    yield Check("receivers", None, "", _one_line(lambda: "; ".join(notices.receivers_that_fail()) or None))
    if registering.is_on():
        # The service is somebody else's machine, and what is not registered is tried again.
        yield Check("transparency service", None, "", _one_line(registering.notice))


def _of_this_host(*, has_tables: bool) -> Iterator[Check]:
    for name, look, compare, remedy in OF_THIS_HOST:
        yield Check(name, _one_line(look) or (_one_line(compare) if has_tables else None), remedy)


def _one_line(look: Callable[[], str | None]) -> str | None:
    """What a check finds; in one line also where a full disk or a database that is away keeps it from looking."""
    try:
        return look()
    except (Error, psycopg.Error, OSError, BrokerError) as fault:
        return "the disk is full" if disk.is_full(fault) else health.first_line(fault)


def _is_anybody_there() -> bool:
    """Whether a part shows its heartbeat on this host, or a scheduler anywhere; also where no table tells."""
    try:
        return heartbeats.is_running_here(settings.DATA_DIR) or heartbeats.is_led()
    except Error:
        return True


def worker_fault(seconds: int) -> str | None:
    """Whether a worker takes a task from the broker and reaches the database, within so many seconds."""
    fault = health.broker_fault()
    if fault:
        return fault
    token = uuid4().hex
    with psycopg.connect(make_conninfo(**connection_parameters()), autocommit=True) as listener:
        listener.execute(f"LISTEN {PONG_CHANNEL}")
        pong.apply_async((token,), expires=seconds)
        if any(notice.payload == token for notice in listener.notifies(timeout=seconds)):
            return None
    return f"no worker answered within {seconds} s"


def parts_fault() -> str | None:
    """Whether every part of every host shows its heartbeat, and one scheduler leads."""
    here = heartbeats.silent_here(settings.DATA_DIR)
    silent = here + [one for one in heartbeats.silent_anywhere() if one.host != heartbeats.this_host()]
    if silent:
        return "; ".join(map(str, silent))
    # A desk that has just begun serves pages before its scheduler has told the database that it leads.
    patience = SCHEDULER_SECONDS if heartbeats.is_running_here(settings.DATA_DIR) else 0
    if postgres.wait_until(heartbeats.is_led, seconds=patience):
        return None
    return "no scheduler leads, so there are no sweeps and no schedules, and nothing expires"


def storage_fault() -> str | None:
    """Whether documents can be stored, with room for more."""
    documents = storage.of_documents()
    try:
        with storage.incoming(documents) as probe:
            probe.file.write(b"probe")
            probe.keep(PROBE)
        documents.remove(PROBE)
        free = documents.free()
    except OSError as fault:
        return f"cannot write to {documents}: {fault.strerror or fault}"
    return f"only {free // 1024**2} MiB are free in {documents}" if free is not None and free < FREE_BYTES else None


def checkpoints_fault() -> str | None:
    """Whether checkpoints are made, and taken to where they belong."""
    if late := checkpoints.unsealed_for_long():
        sessions = f"{late}" if late <= checkpoints.COUNTED else f"more than {checkpoints.COUNTED:,}"
        return f"no checkpoint has taken in the last events of {sessions} sessions for five minutes"
    return publishing.first_fault()


def stuck_notice() -> str | None:
    """Approvals that will not go on by themselves, of all workspaces. The desk works: people have to do something."""
    found = [(workspace, stuck.stuck(workspace.pk)) for workspace in Workspace.objects.order_by("slug")]
    told = [f"{len(those)} in {workspace.slug} (the oldest: {those[0].why})" for workspace, those in found if those]
    return f"stuck are {'; '.join(told)}. Home of each workspace lists them" if told else None


def clock_fault() -> str | None:
    """Whether this host and the database agree on the time: approvals expire by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        apart = abs((datetime.now(UTC) - cursor.fetchone()[0]).total_seconds())
    return f"this host and the database differ by {apart:.0f} s" if apart > CLOCK_SECONDS else None


def secrets_fault() -> str | None:
    """Whether the installation's keys are closed to other users, and the one that signs exports can be used."""
    path = settings.SECRET_KEY_FILE
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return f"{path} can be read by other users"
    if settings.DEBUG and settings.ENV.host not in (None, "localhost", "127.0.0.1", "::1"):
        return "DEBUG is on, and the server listens to other machines: error pages show settings"
    return own_keys.key_problem()


def roles_fault() -> str | None:
    """Whether the role of web server and workers may do more than it should."""
    if not roles.are_two():
        return None
    with connection.cursor() as cursor:
        excess = roles.excess(cursor, settings.DATABASE_PARAMETERS["user"])
    return f"{settings.DATABASE_PARAMETERS['user']} {excess}" if excess else None


def _database_remedy() -> str:
    if settings.EMBEDDED_CLUSTER is None:
        return "check DATABASE_URL and that its server runs"
    return f"read {settings.EMBEDDED_CLUSTER.log}, then start script/server again"


ROLES_REMEDY = "run script/manage prepare, which takes rights back; what remains then was granted by hand"
ONE_ROLE = "one role does everything, so injected SQL could change the log; DATABASE_OWNER_URL makes them two"
WORKER_REMEDY = "start script/server; if it runs, read logs/worker-1.log in the data directory"
BEFORE_WORKER: list[Part] = [
    (
        "migrations",
        health.migrations_fault,
        "unless that says what to do, restart script/server, which applies migrations",
    ),
    ("broker", health.broker_fault, "check CELERY_BROKER_URL and that its server runs"),
]
AFTER_WORKER: list[Part] = [
    (
        "parts",
        parts_fault,
        "the supervisor restarts parts: read their logs, and start script/server on a host where it has ended",
    ),
    ("checkpoints", checkpoints_fault, "read logs/worker-1.log; docs/record.md says where checkpoints are taken to"),
    (
        "database server",
        server_check.fault,
        "a process of PostgreSQL hangs: wake it with kill -CONT, or restart the server",
    ),
    ("clock", clock_fault, "set the clocks of both by NTP"),
]
OF_THIS_HOST: list[tuple[str, Callable[[], str | None], Callable[[], str | None], str]] = [
    (
        "storage", storage_fault, storage_mark.storage_fault,
        "give the server's user write access and room, and every host the same STORAGE_URL",
    ),
    (
        "secrets", secrets_fault, installation.secret_key_fault,
        "give every host the same SECRET_KEY, run chmod 600 on the key or mend it, and switch DEBUG off",
    ),
]  # fmt: skip
"""What is looked at on this host alone, and then compared with the installation, where its tables can be read."""
