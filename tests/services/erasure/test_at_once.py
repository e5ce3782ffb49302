"""Deleting while others write: nothing is torn, and bytes that come again are there."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import pytest
from django.db import OperationalError, connection, transaction

from sessions_app.models import EventLink, Session, Tombstone
from sessions_app.services import audit
from sessions_app.services.log import erasure, events, links
from tests.services.build import at_once, event
from tests.services.files import transcript
from tests.services.imports.test_imports import drop, start
from vcon_app.models import Import, SourceDocument
from vcon_app.services.documents import documents
from vcon_app.services.erasure import erasing, file_removal
from vcon_app.services.imports import import_jobs

pytestmark = pytest.mark.django_db(transaction=True)
BY = audit.Actor("member", "m-1", "Ines")


def test_who_appends_meanwhile_finds_nothing_or_is_in_the_tombstone(session):
    def append(number: int) -> None:
        events.append(session.pk, [event(key=f"k{number}")], origin=links.RUNTIME)

    append(0)
    erase = [lambda: erasing.erase_session(session, by=BY)]
    done = at_once(*erase, *(lambda number=number: append(number) for number in range(1, 6)))
    assert done[0] is None
    assert all(isinstance(one, (events.Appended, Session.DoesNotExist, type(None))) for one in done)
    appended = sum(one is None for one in done[1:])
    assert Tombstone.objects.get().last_seq == 1 + appended
    assert not EventLink.objects.exists()


def test_two_who_delete_the_same_leave_one_tombstone(session):
    done = at_once(*(lambda: erasing.erase_session(session, by=BY) for _ in range(3)))
    assert sorted(type(one).__name__ for one in done) == ["DoesNotExist", "DoesNotExist", "NoneType"]
    assert Tombstone.objects.count() == 1


def test_what_somebody_holds_is_told_after_a_while_and_nothing_goes(session, monkeypatch):
    monkeypatch.setattr(erasure, "LOCK_TIMEOUT", "100ms")
    with transaction.atomic():
        Session.objects.select_for_update().get(pk=session.pk)
        [refused] = at_once(lambda: erasing.erase_session(session, by=BY))
    assert isinstance(refused, erasing.CannotErase) and "try again" in str(refused)
    assert Session.objects.exists() and not Tombstone.objects.exists()


def test_bytes_that_are_taken_in_while_they_are_removed_are_there(workspace, document_storage):
    """The one who removes waits for who takes the same bytes in, and then sees that they are wanted."""
    data = transcript(4)
    erasing.erase_import(drop(workspace, data), by=BY)  # the file is gone; again with a row that is left over
    file_removal.FileRemoval.objects.create(storage="documents", name=sha256(data).hexdigest())
    with transaction.atomic():
        again = start(workspace, data)  # not committed yet: nobody else sees its row
        [waits] = at_once(_swept_at_most_for("300ms"))
        assert waits == 0  # it has to wait for us
    file_removal.sweep()
    import_jobs.run(again.pk)
    assert Import.objects.get().status == Import.Status.DONE
    with documents.open_document(SourceDocument.objects.get()) as file:
        assert file.read() == data


def _swept_at_most_for(timeout: str) -> Callable[[], int]:
    def sweep() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, false)", [timeout])
        try:
            return file_removal.sweep()
        except OperationalError:  # the statement that waits was ended
            return 0

    return sweep
