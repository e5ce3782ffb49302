"""An import whose worker has read its file and has not committed yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from django.db import connection, transaction

from sessions_app.models import Workspace
from vcon_app.models import Import
from vcon_app.services.documents.jobs import Heartbeat
from vcon_app.services.imports import import_jobs

from .test_imports import start

PATIENCE = 60


@contextmanager
def importing(workspace: Workspace, data: bytes, filename: str) -> Iterator[Callable[[], None]]:
    """Another process that has read a file, but not committed; what is given lets it commit, and waits for it."""
    imported = start(workspace, data, filename)
    Import.objects.filter(pk=imported.pk).update(status=Import.Status.RUNNING)
    with held(lambda: import_jobs.read(imported, Heartbeat(Import, imported.pk))) as commit:
        yield commit


@contextmanager
def held(work: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Another process that has done some work in a transaction; what is given lets it commit, and waits for it."""
    done, go_on = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                work()
                done.set()
                assert go_on.wait(PATIENCE)
        finally:
            done.set()
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        over: Future[None] = threads.submit(run)

        def commit() -> None:
            go_on.set()
            over.result(PATIENCE)

        try:
            assert done.wait(PATIENCE)
            yield commit
        finally:
            go_on.set()
        over.result(PATIENCE)
