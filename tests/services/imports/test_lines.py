"""Imports wait in the line of who sent them, big ones apart; and their pages say how far they are."""

from __future__ import annotations

import gzip
import io
import zipfile
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from sessions_app.models import QueuedTask
from sessions_app.services import audit, fair_queue
from vcon_app.models import Import
from vcon_app.queries import imports as queries
from vcon_app.queries import job_places
from vcon_app.services.documents import jobs
from vcon_app.services.imports import import_jobs

from ..files import transcript
from .test_imports import BY, drop, start

pytestmark = pytest.mark.django_db


def packed(data: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("session.jsonl", data)
    return archive.getvalue()


def line_of(row_id: UUID) -> tuple[str, str]:
    return QueuedTask.objects.values_list("queue", "person").get(row_id=row_id)


def test_an_import_waits_in_the_line_of_who_sent_it(workspace):
    key = audit.Actor("api_key", "k", "Ines")
    other = import_jobs.start_import(workspace, "a.jsonl", [transcript(2)], by=key)
    assert line_of(other.pk) == ("countersign", "api_key:k")
    assert line_of(start(workspace, transcript(4)).pk) == ("countersign", "member:m")


def test_large_files_wait_apart_and_archives_by_what_they_hold(workspace, monkeypatch):
    data = transcript(20)
    monkeypatch.setattr(import_jobs, "BIG_BYTES", len(data))
    forms = {
        "as large as may be": data, "larger": data + b"\n", "zip": packed(data), "gzip": gzip.compress(data, 0),
        "small gzip": gzip.compress(b"{}"),
    }  # fmt: skip
    queues = {name: line_of(start(workspace, form, name).pk)[0] for name, form in forms.items()}
    assert queues == {
        "as large as may be": "countersign", "larger": "countersign_big", "zip": "countersign_big",
        "gzip": "countersign_big", "small gzip": "countersign",
    }  # fmt: skip


def test_what_was_there_before_is_not_in_line(workspace):
    drop(workspace, transcript(2))
    QueuedTask.objects.all().delete()
    assert start(workspace, transcript(2)).duplicate_of_id
    assert not QueuedTask.objects.exists()


def test_an_import_whose_worker_died_waits_in_the_same_line_again(workspace, monkeypatch):
    monkeypatch.setattr(import_jobs, "BIG_BYTES", 1)
    lost = start(workspace, transcript(2))
    fair_queue.take("countersign_big")
    long_ago = timezone.now() - jobs.SILENT_AFTER - timedelta(seconds=1)
    Import.objects.update(status=Import.Status.RUNNING, attempt=1, heartbeat_at=long_ago, started_at=long_ago)
    assert import_jobs.sweep() == 1
    assert line_of(lost.pk) == ("countersign_big", "member:m")


def test_a_sweep_leaves_what_waits_where_it_stands(workspace):
    """A backlog of minutes: each is enqueued again, and none loses its place."""
    started = [start(workspace, transcript(number)) for number in (2, 4, 6)]
    Import.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    assert import_jobs.sweep() == 3
    assert [fair_queue.take("countersign").row_id for _ in started] == [one.pk for one in started]


def test_an_import_that_waits_says_behind_how_many_of_its_sender(workspace):
    import_jobs.start_import(workspace, "x.jsonl", [transcript(9)], by=audit.Actor("member", "b", "Ben"))
    first, second, third = (start(workspace, transcript(number)) for number in (2, 4, 6))
    places = job_places.places(workspace.pk, [first, second, third])
    assert [queries.sentence(one, places.get(one.pk)) for one in (first, second, third)] == [
        "Waits for a worker.", "Waits behind 1 other of Ines.", "Waits behind 2 others of Ines.",
    ]  # fmt: skip
    import_jobs.run(first.pk)
    first.refresh_from_db()
    assert "2 events" in queries.sentence(first, job_places.places(workspace.pk, [first]).get(first.pk))


def test_pages_without_a_waiting_import_ask_nothing_about_lines(workspace, django_assert_num_queries):
    done = drop(workspace, transcript(2))
    with django_assert_num_queries(0):
        assert job_places.places(workspace.pk, [done]) == {}


def test_who_has_no_name_is_the_same_sender(workspace):
    nobody = audit.Actor("system")
    first, second = (
        import_jobs.start_import(workspace, "x.jsonl", [transcript(number)], by=nobody) for number in (2, 4)
    )
    place = job_places.places(workspace.pk, [first, second])[second.pk]
    assert queries.sentence(second, place) == "Waits behind 1 other of the same sender."
    assert BY.name not in queries.sentence(second, place)
