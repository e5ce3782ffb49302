"""What an import leaves to do: nothing after a small file, its search rows after a large one."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from sessions_app.models import QueuedTask, Session
from sessions_app.services import task_queue
from sessions_app.services.log import search_index

from ..files import transcript

pytestmark = pytest.mark.django_db


def tasks_left() -> list[object]:
    left = QueuedTask.objects.filter(task=task_queue.INDEX_SESSION).order_by("row_id")
    return list(left.values_list("row_id", flat=True))


def test_a_small_file_is_searchable_with_its_import(import_document):
    import_document(transcript(20), "session.jsonl")
    session = Session.objects.get(import_links__isnull=False)
    assert session.last_seq == session.indexed_seq > 0
    assert tasks_left() == []


def test_a_large_file_leaves_its_search_rows_to_a_task(import_document):
    import_document(transcript(search_index.SMALL + 1), "session.jsonl")
    session = Session.objects.get(indexed_seq__lt=F("last_seq"))
    assert tasks_left() == [session.pk]


def test_a_large_file_that_grows_by_little_is_searchable_with_that_and_no_longer_behind(import_document):
    import_document(transcript(search_index.SMALL + 1), "session.jsonl")
    search_index.index(Session.objects.get().pk)
    QueuedTask.objects.all().delete()
    import_document(transcript(search_index.SMALL + 3), "session.jsonl")
    session = Session.objects.get()
    assert session.last_seq == session.indexed_seq
    assert tasks_left() == [] and search_index.sessions_behind() == []


def test_a_file_that_says_nothing_more_of_its_session_writes_no_row_of_it_again(import_document):
    """The row is wide and in many indexes: what is as it was is not written."""
    import_document(transcript(20), "session.jsonl")
    before = Session.objects.get()
    grown = transcript(22)
    with CaptureQueriesContext(connection) as captured:
        import_document(grown, "session.jsonl")
    after = Session.objects.get()
    assert (after.event_count, after.metadata, after.title) == (22, before.metadata, before.title)
    written = [one["sql"] for one in captured if one["sql"].startswith('UPDATE "sessions_app_session"')]
    assert written == []
    assert not [one for one in captured if one["sql"].startswith('DELETE FROM "sessions_app_searchblock"')]
