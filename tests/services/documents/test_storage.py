"""Documents and exports in a folder and in a bucket: the same to everybody who uses them."""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.utils import timezone

from config import doctor, storage_url
from config.settings import STORAGES
from sessions_app.services import audit
from vcon_app.models import Export, Import
from vcon_app.services.documents import documents, storage
from vcon_app.services.exports import export_jobs
from vcon_app.services.imports import import_jobs

from ..files import transcript

BY = audit.COMMAND


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    """Address of a server that speaks S3, on loopback, with the bucket ``desk``."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "invented", "aws_secret_access_key": "invented"}
    boto3.client("s3", endpoint_url=address, region_name="us-east-1", **keys).create_bucket(Bucket="desk")
    yield address
    server.stop()


def use_bucket(settings, monkeypatch, tmp_path: Path, endpoint: str) -> None:
    """The settings that ``STORAGE_URL=s3://desk/PREFIX?endpoint=...`` makes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "invented")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "invented")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    location = storage_url.location(f"s3://desk/{tmp_path.name}?endpoint={endpoint}")
    assert location is not None
    options = storage_url.s3_options(location)
    settings.STORAGES = STORAGES | {"documents": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}}
    settings.DATA_DIR, settings.DOCUMENTS_DIR, settings.STORAGE_NAME = tmp_path, None, str(location)
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "uploads")


@pytest.fixture(params=["two folders", "one folder", "bucket"])
def place(request, settings, monkeypatch, tmp_path) -> str:
    """Settings of each kind of storage."""
    if request.param == "bucket":
        use_bucket(settings, monkeypatch, tmp_path, request.getfixturevalue("s3_server"))
    else:
        settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"
        settings.STORAGE_NAME = str(tmp_path / "documents") if request.param == "one folder" else ""
    assert "documents" not in storages._storages
    return request.param


def write(kept: storage.Storage, name: str, content: bytes) -> int:
    with storage.incoming(kept) as incoming:
        incoming.file.write(content)
        return incoming.keep(name)


def test_what_was_written_is_read_from_any_place(place):
    kept = storage.of_documents()
    assert write(kept, "ab/cd/abcd", b"one two three") == 13
    assert kept.exists("ab/cd/abcd")
    with kept.open("ab/cd/abcd") as file:
        assert (file.seek(4), file.read(3), file.seek(0), file.read()) == (4, b"two", 0, b"one two three")
    assert write(kept, "ab/cd/abcd", b"again") == 5
    with kept.open("ab/cd/abcd") as file:
        assert file.read() == b"again"
    assert list(kept.names()) == ["ab/cd/abcd"]
    kept.remove("ab/cd/abcd")
    kept.remove("ab/cd/abcd")
    assert not kept.exists("ab/cd/abcd")


def test_what_is_not_there_is_missing(place):
    with pytest.raises(storage.Missing):
        storage.of_documents().open("ab/cd/abcd")


def test_what_was_not_kept_leaves_nothing(place):
    kept = storage.of_documents()
    with pytest.raises(ZeroDivisionError), storage.incoming(kept) as incoming:
        incoming.file.write(b"half")
        raise ZeroDivisionError
    assert (list(kept.names()), list(kept.temporary.iterdir())) == ([], [])


def test_exports_are_apart_from_documents_and_old_ones_go_away(place, settings):
    exports = storage.of_exports()
    write(storage.of_documents(), "ab/cd/abcd", b"document")
    write(exports, "one", b"export")
    assert list(exports.names()) == ["one"]
    assert list(exports.names(before=timezone.now() - timedelta(hours=1))) == []
    assert list(exports.names(before=timezone.now() + timedelta(hours=1))) == ["one"]
    assert storage.of_documents().exists("ab/cd/abcd")


@pytest.mark.django_db
def test_what_a_killed_writer_left_goes_away_after_a_day(place):
    temporary = storage.of_documents().temporary
    temporary.mkdir(parents=True, exist_ok=True)
    old, new = temporary / ".incoming-old", temporary / ".incoming-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    export_jobs.remove_old_files()
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.django_db
def test_a_file_is_imported_exported_and_given_back(place, workspace):
    data = transcript(6)
    started = import_jobs.start_import(workspace, "session.jsonl", [data], by=BY)
    import_jobs.run(started.pk)
    imported = Import.objects.get()
    assert (imported.status, imported.events, imported.error) == (Import.Status.DONE, 6, None)
    with documents.open_document(imported.document) as file:
        assert file.read() == data
    session = imported.session_links.get().session
    for format in ("original", "jsonl", "bundle"):
        export = export_jobs.start_export(session, format, by=BY)
        assert (export.status, export.error) == (Export.Status.DONE, None)
        with export_jobs.open_file(export) as file:
            content = file.read()
        assert len(content) == export.size
        assert format != "original" or content == data
    again = import_jobs.start_import(workspace, "session.jsonl", [data], by=BY)
    assert again.duplicate_of == imported
    assert doctor.storage_fault() is None


@pytest.mark.django_db
def test_an_import_waits_for_a_bucket_that_does_not_answer(workspace, settings, monkeypatch, tmp_path, s3_server):
    use_bucket(settings, monkeypatch, tmp_path, s3_server)
    waiting = import_jobs.start_import(workspace, "session.jsonl", [transcript(2)], by=BY)
    with monkeypatch.context(), pytest.MonkeyPatch.context() as away:
        use_bucket(settings, away, tmp_path, "http://127.0.0.1:1")
        import_jobs.run(waiting.pk)
        waiting.refresh_from_db()
        assert (waiting.status, waiting.attempt) == (Import.Status.QUEUED, 0)
        assert "does not answer" in waiting.waiting_for
        assert "cannot write to s3://desk/" in doctor.storage_fault()
    use_bucket(settings, monkeypatch, tmp_path, s3_server)
    import_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.waiting_for) == (Import.Status.DONE, "")


@pytest.mark.django_db
def test_a_disk_that_fills_up_during_an_upload_leaves_nothing(workspace, document_storage):
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        import_jobs.start_import(workspace, "session.jsonl", chunks(), by=BY)
    assert list(document_storage.iterdir()) == []
    assert not Import.objects.exists()


def test_a_spooled_object_is_a_whole_file(settings, monkeypatch, tmp_path, s3_server):
    """Zip archives are read from their end, and formats wrap what they read."""
    use_bucket(settings, monkeypatch, tmp_path, s3_server)
    write(storage.of_documents(), "large", b"x" * (storage_url.MEMORY_BYTES + 1))
    with storage.of_documents().open("large") as file:
        assert file.seekable()
        assert file.seek(-1, io.SEEK_END) == storage_url.MEMORY_BYTES
        assert file.read() == b"x"
