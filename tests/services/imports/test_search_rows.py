"""What an import leaves to do: nothing, unless search rows of earlier events are missing."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import QueuedTask, SearchBlock, Session
from sessions_app.services import task_queue
from sessions_app.services.log import events, search_index

from ..build import forget_search
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


def rows_updated() -> int:
    """Of the search, in this transaction and in those just before it that PostgreSQL has not added up yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_tuples_updated('sessions_app_searchblock'::regclass)")
        return int(cursor.fetchone()[0])


def test_a_large_file_is_searchable_with_its_import_and_each_search_row_is_written_once(import_document, monkeypatch):
    """Rows say when their session began, and are written again where that is known later."""
    monkeypatch.setattr(events, "BATCH", 600)
    before = rows_updated()
    import_document(transcript(search_index.SMALL + 300), "session.jsonl")
    session = Session.objects.get()
    assert session.last_seq == session.indexed_seq and SearchBlock.objects.filter(session=session).count() > 9
    assert tasks_left() == [] and search_index.sessions_behind() == []
    assert rows_updated() == before


def test_a_large_file_that_grows_where_earlier_rows_are_missing_leaves_them_to_a_task(import_document):
    import_document(transcript(search_index.SMALL + 1), "session.jsonl")
    session = Session.objects.get()
    forget_search(session)
    import_document(transcript(search_index.SMALL + 3), "session.jsonl")
    assert tasks_left() == [session.pk]
    search_index.index(session.pk)
    session.refresh_from_db()
    assert session.last_seq == session.indexed_seq and search_index.sessions_behind() == []


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
