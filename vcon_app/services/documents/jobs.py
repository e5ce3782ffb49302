"""Import and export rows as jobs: which are free to take, the heartbeat while one runs, and what they wait for."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from types import TracebackType
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from sessions_app.services import task_queue
from sessions_app.services.fair_queue import Line
from sessions_app.services.upkeep import disk
from vcon_app.models import Job

from .. import import_notices
from . import storage

HEARTBEAT_SECONDS = 2.0
SILENT_AFTER = timedelta(seconds=15)
"""A running job whose heartbeat is older than this has lost its worker: seven beats are missing."""
UNSTARTED_AFTER = timedelta(seconds=15)
"""A job that is still queued after this has lost its message: a worker that is free begins within 0.1 s."""
MAX_ATTEMPTS = 5
"""A job that takes its worker down with it, as by its memory, would else be taken up again for ever."""
GIVEN_UP = f"given up: worker or database went away {MAX_ATTEMPTS} times meanwhile"
MIN_FREE = 64 * 1024 * 1024
"""Bytes: four segments of PostgreSQL's log. With less it may stop at the next write."""
PATIENCE_SECONDS = 300.0
TRANSIENT_SQLSTATES = ("08", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE that say "not now": connection, rollback, resources, locks, shutdown, system errors."""


def claimable(now: datetime) -> Q:
    """Jobs that a worker may take: those that wait, and those whose worker is gone."""
    return Q(status=Job.Status.QUEUED) | Q(status=Job.Status.RUNNING, heartbeat_at__lt=now - SILENT_AFTER)


def line_of(job: Job) -> Line:
    """Where an import or export waits for a worker."""
    return Line(job.workspace_id, job.requester, job.big)


def sweep(model: type[Job], task: str) -> int:
    """Enqueue again the imports or exports that have lost their message or their worker; how many."""
    now = timezone.now()
    # of one that was put back, heartbeat_at is when that was
    is_lost = Q(status=Job.Status.QUEUED, since__lt=now - UNSTARTED_AFTER)
    is_lost |= Q(status=Job.Status.RUNNING, heartbeat_at__lt=now - SILENT_AFTER)
    rows = model._default_manager.annotate(since=Coalesce("heartbeat_at", "created_at")).filter(is_lost)
    found = list(rows.values_list("id", "since", "workspace_id", "requester", "big"))
    lines = {id_: Line(*line) for id_, _, *line in found}
    return task_queue.requeue(task, {id_: since for id_, since, *_ in found}, lines)


def is_transient(error: Exception) -> bool:
    """Whether the database was away or busy, so that the job may be tried again as it is."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    # "string too long for jsonb" is an OperationalError, too (class 54): it would fail in the same way for ever
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(TRANSIENT_SQLSTATES)


def what_to_wait_for(error: Exception) -> str:
    """Why a job that met this error can go on later as it is; empty when it would fail in the same way again."""
    if disk.is_full(error):
        return disk.FULL
    if isinstance(error, storage.Missing):
        return (
            f"This host's storage ({storage.of_documents()}) does not have the bytes. It goes on where they are, or as "
            "soon as they are there: all hosts need the same STORAGE_URL."
        )
    if isinstance(error, storage.Unavailable):
        return f"The storage of the documents does not answer; it goes on when it does. ({error})"
    return ""


def room_to_wait_for(size: int) -> str:
    """What a job waits for before it begins with a document of ``size`` bytes: room on the disks that it writes to."""
    needed = MIN_FREE + 3 * size
    free = [storage.of_documents().free(), disk.free_for_database()]
    return disk.FULL if any(found is not None and found < needed for found in free) else ""


def put_back(job: Job, why: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Let a job that was claimed wait, without having used up an attempt; the sweep enqueues it again in half a minute.

    The database may be what is away or full: nothing else can be done without it, so this is tried for a while.
    """
    mine = type(job)._default_manager.filter(pk=job.pk, attempt=job.attempt, status=Job.Status.RUNNING)
    until = time.monotonic() + seconds
    while True:
        try:
            mine.update(
                status=Job.Status.QUEUED,
                attempt=F("attempt") - 1 if job.attempt else 0,
                waiting_for=why,
                heartbeat_at=timezone.now(),
                progress=0,
            )
            break
        except (DatabaseError, InterfaceError):
            if connection.in_atomic_block or time.monotonic() > until:
                raise
            connection.close()
            time.sleep(1)
    import_notices.import_changed(job.pk)


class Heartbeat:
    """Writes ``heartbeat_at`` and ``progress`` (0 to 1) of a running job from a thread with its own connection.

    The job itself is inside one long transaction, of which nobody else sees anything before its end.
    """

    def __init__(self, model: type[Job], job_id: UUID) -> None:
        self.progress = 0.0
        self._model = model
        self._job_id = job_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._stop.wait(HEARTBEAT_SECONDS):
                self._write()
        finally:
            connection.close()

    def _write(self) -> None:
        try:
            self._model._default_manager.filter(pk=self._job_id, status=Job.Status.RUNNING).update(
                heartbeat_at=timezone.now(), progress=self.progress
            )
            import_notices.import_changed(self._job_id)
        except (DatabaseError, InterfaceError):
            connection.close()  # the database is away; the work itself reports it, the next beat connects again
