"""Imports that need the same sessions: none waits for one that waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from django.db import connection

from sessions_app.models import Session, Workspace
from sessions_app.services.log import heads
from tests.services.documents.test_archives import packed
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs

from ..files import transcript
from .test_imports import drop, start
from .test_sub_agents_by_prompt import GEMINI
from .uncommitted import PATIENCE, held

pytestmark = pytest.mark.django_db(transaction=True)
FIRST, MIDDLE, LAST = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in range(3))


def waiting_for_locks(count: int) -> None:
    """Until so many connections wait."""
    until = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while True:
            cursor.execute("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0] >= count:
                return
            assert time.monotonic() < until
            time.sleep(0.01)


@contextmanager
def stuck_at(session: Session, imported: Import) -> Iterator[Thread]:
    """An import that has read what is before a session, which somebody holds until the end of the block."""

    def work() -> None:
        try:
            import_jobs.run(imported.pk)
        finally:
            connection.close()

    reading = Thread(target=work)
    with held(lambda: Session.objects.select_for_update().get(pk=session.pk)) as let_go:
        reading.start()
        try:
            waiting_for_locks(1)
            yield reading
        finally:
            let_go()
            reading.join(PATIENCE)


def test_two_archives_with_the_same_sessions_in_another_order_both_come_to_an_end(workspace):
    known = drop(workspace, transcript(2, MIDDLE)).session_links.get().session
    there = packed([(f"{name}.jsonl", transcript(4, name)) for name in (FIRST, MIDDLE, LAST)])
    back = packed([(f"{name}.jsonl", transcript(6, name)) for name in (LAST, FIRST)])
    errors = []

    def work(imported: Import) -> None:
        try:
            import_jobs.run(imported.pk)
        except Exception as error:  # a deadlock is one, after which a sweep would begin the import again
            errors.append(error)
        finally:
            connection.close()

    one, other = start(workspace, there, "there.zip"), start(workspace, back, "back.zip")
    threads = [Thread(target=work, args=[imported]) for imported in (one, other)]
    with held(lambda: Session.objects.select_for_update().get(pk=known.pk)) as let_go:
        threads[0].start()
        waiting_for_locks(1)  # has the first and not yet the last
        threads[1].start()
        waiting_for_locks(2)  # has the last, and needs the first
        let_go()
    for thread in threads:
        thread.join(PATIENCE)
    assert (errors, set(Import.objects.values_list("status", "attempt"))) == ([], {(Import.Status.DONE, 1)})
    assert dict(Session.objects.values_list("external_id", "event_count")) == {FIRST: 6, MIDDLE: 4, LAST: 6}


def test_an_import_that_begins_again_says_nothing_twice(workspace):
    archive = packed([("1.json", GEMINI[0]), ("2.jsonl", transcript(4)), ("3.txt", b"nothing that is known")])
    done = drop(workspace, archive, "all.zip")
    assert (done.status, done.attempt, len(done.findings)) == (Import.Status.DONE, 1, 1)
    assert sum(Session.objects.values_list("event_count", flat=True)) == done.events


def test_a_row_that_names_a_session_is_written_while_events_are_added_to_it(workspace: Workspace):
    """It asks for no more than that the session stays."""
    session = drop(workspace, transcript(2)).session_links.get().session
    with held(lambda: heads.lock(session.pk)), connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        Session.objects.create(workspace=workspace, agent=session.agent, parent=session)
        cursor.execute("RESET lock_timeout")
    assert Session.objects.filter(parent=session).count() == 1
