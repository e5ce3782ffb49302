"""A row that says "still at it" while a worker is inside one long transaction."""

from __future__ import annotations

import threading
from types import TracebackType
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from vcon_app.models import Job

from .. import import_notices

EVERY_SECONDS = 2.0


class Heartbeat:
    """Writes ``heartbeat_at`` and ``progress`` of a job from a thread with a connection of its own."""

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
            while not self._stop.wait(EVERY_SECONDS):
                self._write()
        finally:
            connection.close()

    def _write(self) -> None:
        try:
            self._model.objects.filter(pk=self._job_id, status=Job.Status.RUNNING).update(
                heartbeat_at=timezone.now(), progress=self.progress
            )
            import_notices.import_changed(self._job_id)
        except (DatabaseError, InterfaceError):
            connection.close()  # the database is away; the work itself reports it, the next beat connects again
