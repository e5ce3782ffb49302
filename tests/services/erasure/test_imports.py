"""An import that was deleted: its file goes, and the sessions that it alone made."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Event, Session, Tombstone
from sessions_app.services import audit, workspaces
from sessions_app.services.log.erasure import CannotErase
from sessions_app.services.retention import policies
from tests.services.files import OWNER, transcript, vcon
from tests.services.imports.test_imports import drop, start
from vcon_app.models import Companion, FileRemoval, Import, SourceDocument
from vcon_app.services.documents import documents, storage
from vcon_app.services.erasure import erasing, file_removal, months
from vcon_app.services.imports import demo

pytestmark = pytest.mark.django_db
BY = audit.Actor("member", "m-1", "Ines")
OTHER = OWNER.replace("0", "1")


@pytest.fixture
def erase(django_capture_on_commit_callbacks):
    """Deletes an import or a session, to the end: what happens once it is committed happens, too."""

    def run(subject: Import | Session, **options: object) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            if isinstance(subject, Import):
                erasing.erase_import(subject, by=BY, **options)
            else:
                erasing.erase_session(subject, by=BY, **options)

    return run


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def archive(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in members.items():
            file.writestr(f"{name}.jsonl", data)
    return packed.getvalue()


def test_a_hold_refuses_every_way_of_deleting_the_import_its_session_and_its_month(workspace, document_storage, erase):
    imported = drop(workspace, transcript(4), "case 4711.jsonl")
    session = Session.objects.get()
    policies.set_policy(session.pk, {"immutable": True}, by=BY)
    for subject in (imported, session):
        with pytest.raises(CannotErase, match="on hold"):
            erase(subject, reason="away with it")
    kept = Event.objects.count()
    drop(workspace, transcript(6, OTHER), "another.jsonl")
    erased = months.erase_before(timezone.localdate() + timedelta(days=40), by=BY, reason="all of it")
    months.sweep()
    assert erased.sessions == 1 and "on hold" in erased.stays[session.pk]
    assert Session.objects.get() == session and Event.objects.count() == kept
    assert imported.document.sha256 in files(document_storage)
    policies.set_policy(session.pk, {"immutable": False}, by=BY, is_admin=True)
    erase(imported, reason="the case is over")
    assert not Session.objects.exists() and imported.document.sha256 not in files(document_storage)


def test_the_import_its_session_and_its_file_go(workspace, document_storage, erase):
    imported = drop(workspace, transcript(4), "secret name.jsonl")
    document = imported.document
    erase(imported, reason="a wrong upload")
    assert not Import.objects.exists() and not Session.objects.exists() and not SourceDocument.objects.exists()
    assert files(document_storage) == [] and not FileRemoval.objects.exists()
    told = {each.kind: each for each in Tombstone.objects.all()}
    assert told.keys() == {"import", "session"}
    assert told["import"].documents == [{"sha256": document.sha256, "bytes": document.size}]
    assert told["import"].reason == told["session"].reason == "a wrong upload"
    assert "secret name" not in str([each.statement() for each in told.values()])
    entry = AuditEntry.objects.get(action="import.erased")
    assert (entry.subject_id, entry.details["sha256"]) == (str(imported.pk), document.sha256)


def test_the_same_bytes_are_a_new_import_afterwards(workspace, document_storage, erase):
    before = drop(workspace, transcript(4))
    erase(before)
    again = drop(workspace, transcript(4))
    assert (again.duplicate_of, again.events, Session.objects.get().event_count) == (None, 4, 4)
    assert files(document_storage) == [again.document.sha256]


def test_a_session_takes_its_file_along(workspace, document_storage, erase):
    drop(workspace, transcript(4))
    drop(workspace, transcript(4), "the same again.jsonl")
    erase(Session.objects.get())
    assert not Import.objects.exists() and files(document_storage) == []
    assert sorted(Tombstone.objects.values_list("kind", flat=True)) == ["import", "import", "session"]
    assert sorted(each.counts.get("files", -1) for each in Tombstone.objects.all()) == [-1, 0, 1]


def test_of_an_archive_one_session_goes_and_the_file_stays_for_the_others(workspace, document_storage, erase):
    imported = drop(workspace, archive(one=transcript(4), two=transcript(6, OTHER)), "both.zip")
    erase(Session.objects.get(external_id=OWNER))
    assert Import.objects.get() == imported and Session.objects.get().external_id == OTHER
    assert files(document_storage) == [imported.document.sha256]
    erase(imported)
    assert not Session.objects.exists() and files(document_storage) == []


def test_a_repeat_goes_alone_and_the_first_takes_its_repeats_along(workspace, document_storage, erase):
    first, *repeats = (drop(workspace, transcript(4), f"{n}.jsonl") for n in range(3))
    erase(repeats[0])
    assert Import.objects.count() == 2 and Session.objects.count() == 1
    assert files(document_storage) == [first.document.sha256]
    erase(first)
    assert not Import.objects.exists() and not Session.objects.exists() and files(document_storage) == []


def test_of_a_session_that_two_files_made_neither_goes_alone(workspace, document_storage, erase):
    short, long = drop(workspace, transcript(4), "short.jsonl"), drop(workspace, transcript(8), "long.jsonl")
    for imported, other in ((short, "long.jsonl"), (long, "short.jsonl")):
        with pytest.raises(erasing.CannotErase, match=f"was also read from {other}: delete the session itself"):
            erase(imported)
    assert Import.objects.count() == 2 and Session.objects.get().event_count == 8 and not Tombstone.objects.exists()
    erase(Session.objects.get())
    assert not Import.objects.exists() and files(document_storage) == []


def test_a_file_that_added_nothing_goes_alone(workspace, document_storage, erase):
    long, short = drop(workspace, transcript(8), "long.jsonl"), drop(workspace, transcript(4), "short.jsonl")
    assert short.events == 0
    erase(short)
    assert Import.objects.get() == long and Session.objects.get().event_count == 8
    assert files(document_storage) == [long.document.sha256]


def test_an_import_that_failed_goes_with_its_bytes(workspace, document_storage, erase):
    failed = drop(workspace, b"no format", "x.bin")
    assert failed.status == Import.Status.FAILED
    erase(failed)
    assert not Import.objects.exists() and files(document_storage) == []


def test_an_import_that_waits_goes_and_one_that_is_read_does_not(workspace, document_storage, erase):
    waits = start(workspace, transcript(4))
    Import.objects.filter(pk=waits.pk).update(status=Import.Status.RUNNING)
    with pytest.raises(erasing.CannotErase, match="being read right now"):
        erase(waits)
    Import.objects.filter(pk=waits.pk).update(status=Import.Status.QUEUED)
    erase(waits)
    assert not Import.objects.exists() and files(document_storage) == []


def test_bytes_that_another_workspace_has_stay_in_the_storage(workspace, document_storage, erase):
    other = workspaces.create_workspace("elsewhere")
    mine, theirs = drop(workspace, transcript(4)), drop(other, transcript(4))
    erase(mine)
    assert files(document_storage) == [theirs.document.sha256]
    with documents.open_document(theirs.document) as file:
        assert file.read() == transcript(4)
    assert Session.objects.get().workspace == other


def test_bytes_that_a_failed_import_has_too_stay_with_it(workspace, document_storage, erase):
    failed = drop(workspace, transcript(4), format="vcon")
    done = drop(workspace, transcript(4))
    assert failed.document == done.document and failed.status == Import.Status.FAILED
    erase(done)
    assert files(document_storage) == [failed.document.sha256] and Import.objects.get() == failed
    erase(failed)
    assert files(document_storage) == []


def test_what_a_companion_told_goes_with_the_session_and_with_its_own_file(workspace, document_storage, erase):
    told = drop(workspace, b'{"description": "Words about it"}', "agent-a1.meta.json")
    assert Companion.objects.get().document == told.document
    erase(told)
    assert not Companion.objects.exists() and files(document_storage) == []
    drop(workspace, b'{"description": "Words about it"}', "agent-a1.meta.json")
    drop(workspace, transcript(4, isSidechain=True, agentId="a1"))
    erase(Session.objects.get())
    assert not Companion.objects.exists()


def test_another_version_of_a_signed_file_stays(workspace, document_storage, erase):
    first, other = drop(workspace, vcon("Hello"), "1.vcon"), drop(workspace, vcon("Good day", "Yes"), "2.vcon")
    erase(first)
    assert Import.objects.get() == other and Session.objects.get().event_count == 2


def test_the_examples_can_be_deleted_and_loaded_again(workspace, document_storage, erase):
    demo.load(workspace, by=BY)
    for session in list(Session.objects.all()):
        erase(session)
    assert not Session.objects.exists() and not Import.objects.exists() and files(document_storage) == []
    assert len(demo.load(workspace, by=BY)) == 3


def test_a_process_that_is_killed_before_the_file_is_gone_leaves_it_to_the_sweep(workspace, document_storage):
    imported = drop(workspace, transcript(4))
    before = files(document_storage)
    erasing.erase_import(imported, by=BY)  # what was to happen once it is committed never happens
    assert files(document_storage) == before != []
    assert file_removal.sweep() == 1
    assert files(document_storage) == [] and file_removal.sweep() == 0


def test_a_storage_that_is_away_is_tried_again(workspace, document_storage, erase, monkeypatch):
    imported = drop(workspace, transcript(4))

    def away(self: storage.Folder, name: str) -> None:
        raise storage.Unavailable("the storage does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(storage.Folder, "remove", away)
        erase(imported)
        assert file_removal.sweep() == 0 and FileRemoval.objects.count() == 1
    assert file_removal.sweep() == 1
    assert files(document_storage) == []


def test_bytes_that_came_again_before_the_sweep_stay(workspace, document_storage):
    erasing.erase_import(drop(workspace, transcript(4)), by=BY)
    again = drop(workspace, transcript(4))
    assert file_removal.sweep() == 1
    assert files(document_storage) == [again.document.sha256] and not FileRemoval.objects.exists()
