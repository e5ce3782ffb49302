"""``kill -9`` right behind each lock that an import takes: nothing of it is left, and the next worker does it all.
And a worker that is frozen while it has them all."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from sessions_app.models import Agent, Event, EventLink, Session, UnsealedHead
from sessions_app.services import agents
from sessions_app.services.log import events, links, search_index, shared_responses
from tests.database_roles import as_owner
from vcon_app.models import Import
from vcon_app.services.documents import jobs
from vcon_app.services.imports import claims, document_importer, families, import_jobs

from ..files import transcript
from .test_imports import start
from .uncommitted import held

pytestmark = pytest.mark.django_db(transaction=True)
FILE = transcript(6)
LOCKS = {
    "the bytes are its own": (jobs, "room_to_wait_for"),
    "the row is claimed": (import_jobs, "_claim"),
    "its session is claimed": (claims.Claims, "hold"),
    "the agent is made": (agents, "make_planned"),
    "the log is locked": (events, "lock"),
    "events are in": (links, "write"),
    "the chain is marked": (links, "run"),
    "words are in": (search_index, "_write"),
    "it is known whose responses are": (shared_responses, "assign_owners"),
    "its family is found": (families, "link"),
    "all is written": (document_importer.DocumentImporter, "_finish"),
}
"""What an import calls last before, or first after, it has a lock; it is killed when that is done."""


def killed_behind(monkeypatch, place, name: str, work) -> None:
    """Do some work in a process that is killed when this call returns for the first time."""
    connections.close_all()
    child = os.fork()
    if not child:
        try:
            real = getattr(place, name)

            def dying(*args, **more):
                real(*args, **more)
                os.kill(os.getpid(), signal.SIGKILL)

            monkeypatch.setattr(place, name, dying)
            work()
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def silent_for_long(imported: Import) -> None:
    """As the row is when its worker has not shown itself for long enough to be taken for dead."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '20s'")  # nobody has anything any more
    Import.objects.filter(pk=imported.pk).update(
        heartbeat_at=timezone.now() - 2 * jobs.SILENT_AFTER, created_at=timezone.now() - 2 * jobs.UNSTARTED_AFTER
    )


@pytest.mark.parametrize(("place", "name"), LOCKS.values(), ids=LOCKS)
def test_an_import_that_is_killed_with_a_lock_leaves_nothing_and_is_done_by_the_next(
    workspace, monkeypatch, place, name
):
    imported = start(workspace, FILE)
    killed_behind(monkeypatch, place, name, lambda: import_jobs.run(imported.pk))
    silent_for_long(imported)
    assert not any(rows.objects.exists() for rows in (Session, Event, EventLink, Agent, UnsealedHead))
    assert import_jobs.sweep() == 1
    import_jobs.run(imported.pk)
    imported.refresh_from_db()
    assert (imported.status, imported.events) == (Import.Status.DONE, 6)


def test_an_import_that_is_killed_when_it_is_done_stays_done_and_what_waited_for_it_is_read(workspace, monkeypatch):
    imported, same = start(workspace, FILE), start(workspace, FILE, "same.jsonl")
    killed_behind(monkeypatch, import_jobs, "read", lambda: import_jobs.run(imported.pk))
    silent_for_long(same)
    assert import_jobs.sweep() == 1
    import_jobs.run(same.pk)
    assert [session.event_count for session in Session.objects.all()] == [6] and Event.objects.count() == 6
    assert set(Import.objects.values_list("status", "duplicate_of")) == {("done", None), ("done", imported.pk)}


def test_an_import_whose_worker_is_frozen_is_taken_from_it(workspace):
    imported, done = start(workspace, FILE), None
    Import.objects.filter(pk=imported.pk).update(status=Import.Status.RUNNING)
    silent_for_long(imported)
    with (
        pytest.raises(OperationalError),
        held(lambda: import_jobs.read(imported, jobs.Heartbeat(Import, imported.pk))),
    ):
        assert import_jobs.sweep() == 1
        with as_owner():  # who has signed in to the database for both connections, and may end none but its own
            import_jobs.run(imported.pk)
        done = Import.objects.values_list("status", "events").get()
    assert done == (Import.Status.DONE, 6)
    assert [session.event_count for session in Session.objects.all()] == [6] and Event.objects.count() == 6
