"""Two workers at two files that belong together, or at the same one."""

from __future__ import annotations

import pytest

from sessions_app.models import Session
from vcon_app.models import Import
from vcon_app.services import task_names
from vcon_app.services.imports import import_jobs

from ..build import at_once
from ..files import OWNER, transcript
from .test_imports import start

pytestmark = pytest.mark.django_db(transaction=True)


def together(*waiting: Import) -> None:
    """Run imports in parallel; all of them come to a good end."""
    assert at_once(*(lambda one=one: import_jobs.run(one.pk) for one in waiting)) == [None] * len(waiting)
    assert {one.status for one in Import.objects.filter(pk__in=[one.pk for one in waiting])} == {Import.Status.DONE}


@pytest.mark.parametrize("lengths", [(1_500, 20), (20, 1_500), (200, 200)])
def test_a_session_and_its_sub_agents_find_each_other(workspace, lengths):
    main, side = (transcript(length) for length in lengths)
    agents = [side.replace(b'"isSidechain": false', b'"isSidechain": true, "agentId": "a%d"' % n) for n in (1, 2)]
    together(*(start(workspace, data) for data in (main, *agents)))
    parent = Session.objects.get(external_id=OWNER)
    children = Session.objects.exclude(pk=parent.pk)
    assert {child.external_id for child in children} == {f"{OWNER}/agent-a1", f"{OWNER}/agent-a2"}
    assert {child.parent_id for child in children} == {parent.pk}


def test_two_lengths_of_one_transcript_become_one_session_with_every_event_once(workspace):
    together(start(workspace, transcript(700)), start(workspace, transcript(900)))
    session = Session.objects.get()
    assert (session.event_count, session.last_seq) == (900, 900)
    assert sum(Import.objects.values_list("events", flat=True)) == 900


def test_the_same_bytes_four_times_at_once_are_one_import(workspace, document_storage):
    """Four people drop the same file: one is read, the others say whose repeat they are."""
    data = transcript(400)
    started = at_once(*(lambda: start(workspace, data) for _ in range(4)))
    at_once(*(lambda one=one: import_jobs.run(one.pk) for one in started))
    for _ in range(2):  # what found another one at the same bytes was left to the next message
        for one in Import.objects.filter(status=Import.Status.QUEUED):
            import_jobs.run(one.pk)
    rows = list(Import.objects.order_by("pk"))
    assert {row.status for row in rows} == {Import.Status.DONE}
    [read] = [row for row in rows if row.duplicate_of_id is None]
    assert {row.duplicate_of_id for row in rows} == {None, read.pk}
    assert [row.events for row in rows if row != read] == [0, 0, 0]
    assert Session.objects.get().event_count == read.events == 400


def test_what_waited_behind_the_same_bytes_is_enqueued_when_they_are_read(workspace, monkeypatch):
    enqueued = []
    first, second = (start(workspace, transcript(2)) for _ in range(2))
    monkeypatch.setattr(import_jobs.task_queue, "enqueue", lambda *row: enqueued.append(row))
    import_jobs.run(first.pk)
    assert [row_id for task, row_id, _ in enqueued if task == task_names.RUN_IMPORT] == [second.pk]


def test_import_enqueued_twice_runs_once(workspace):
    waiting = start(workspace, transcript(300))
    together(waiting, waiting)
    assert (Import.objects.get().attempt, Session.objects.get().event_count) == (1, 300)
