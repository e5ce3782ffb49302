"""Stores in SQLite that are in use: what stands in the log beside the file is read too, and each session comes once."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sessions_app.models import Event, Session
from sessions_app.services import audit
from tests.formats.stores import made
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.models import Import
from vcon_app.services.imports import folder_files, import_jobs, store_logs, watch
from vcon_app.services.imports.folder_files import NotPlain, open_whole
from vcon_app.services.imports.watch import Watch

SAY = "INSERT INTO messages (id, session_id, role, parts, created_at) VALUES (?, 's1', 'user', ?, 1770000050)"


@pytest.fixture
def store(tmp_path):
    """A store of Crush in WAL mode that its agent holds open: a file and a connection."""
    path = tmp_path / "watched" / "crush.db"
    path.parent.mkdir()
    path.write_bytes(made.crush(4))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        yield path, connection


def say(connection: sqlite3.Connection, number: int) -> None:
    connection.execute(SAY, [f"w{number}", f'[{{"type": "text", "data": {{"text": "Later {number}"}}}}]'])
    connection.commit()


def test_rows_that_stand_in_the_log_alone_are_read_and_nothing_is_written(store) -> None:
    path, connection = store
    before = path.read_bytes()
    say(connection, 1)
    assert b"Later 1" not in path.read_bytes()
    with open_whole(path, path.parent) as file:
        assert b"Later 1" in file.read()
    assert path.read_bytes() == before


def test_a_log_that_is_a_link_is_not_followed(store) -> None:
    path, connection = store
    say(connection, 1)
    log = path.with_name("crush.db-wal")
    log.rename(path.parent / "other")
    log.symlink_to("other")
    with pytest.raises(NotPlain):
        open_whole(path, path.parent)


def test_a_store_whose_log_begins_anew_while_it_is_copied_is_left_for_later(store, monkeypatch) -> None:
    path, connection = store
    say(connection, 1)
    merge = folder_files.wal.with_wal

    def slowly(database, log):
        merged = merge(database, log)
        log_path = path.with_name("crush.db-wal")
        log_path.write_bytes(bytes(byte ^ 1 for byte in log_path.read_bytes()))
        return merged

    monkeypatch.setattr(folder_files.wal, "with_wal", slowly)
    with pytest.raises(OSError, match="is being written"):
        open_whole(path, path.parent)


@pytest.mark.django_db
def test_a_store_in_an_archive_is_read_with_its_log_and_the_files_beside_it_are_no_faults(workspace) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for end, data in zip(("", "-wal", "-shm"), made.in_use(made.crush(4), made.SAY_LATER), strict=True):
            archive.writestr(f".crush/crush.db{end}", data)
    imported = import_jobs.start_import(workspace, "crush.zip", [packed.getvalue()], by=audit.COMMAND)
    import_jobs.run(imported.pk)
    imported.refresh_from_db()
    assert (imported.status, imported.error) == (Import.Status.DONE, None)
    assert {finding["rule"] for finding in imported.findings} - {"repaired-line"} == {"zip.log"}
    assert Event.objects.filter(text="Said later").count() == 1


def test_a_log_that_makes_a_file_of_nothing_is_refused() -> None:
    """Its one frame, whose sums are right, says that the database ends at a page that would lie at 8 TB."""
    database, log, _ = made.in_use(made.crush(1), made.SAY_LATER)
    with pytest.raises(store_logs.NotReadable, match="log that came with it"):
        store_logs.merged(io.BytesIO(database), io.BytesIO(made.log_ending_at(log, 2**31 - 1)))


def test_the_log_of_another_database_ends_in_words(workspace) -> None:
    database, _, _ = made.in_use(made.crush(4), made.SAY_LATER)
    _, log, _ = made.in_use(made.goose(), "UPDATE sessions SET name = 'Another store'")
    with suppress(store_logs.NotReadable), store_logs.merged(io.BytesIO(database), io.BytesIO(log)) as merged:
        try:
            found = registry.detect(merged)[0]
            list(registry.reader(found).read(merged))
        except FormatError as refused:
            assert str(refused)


@pytest.mark.django_db
def test_a_store_that_is_followed_adds_what_is_new_and_its_sessions_stay_one_each(
    store, workspace, monkeypatch
) -> None:
    path, connection = store
    monkeypatch.setattr(watch, "KEPT_PER_SECOND", 10**12)
    following = Watch(Path(path.parent), workspace)

    def look() -> list[watch.Outcome]:
        for file in following._files.values():
            file.not_before = 0
        return [outcome for _ in range(3) for outcome in following.look()]

    (first,) = look()
    assert (first.path, Session.objects.count()) == (path, 2)
    known = Event.objects.count()
    assert look() == []
    say(connection, 1)
    (second,) = look()
    assert (second.imported.status, second.imported.events) == (Import.Status.DONE, 1)
    assert (Session.objects.count(), Event.objects.count()) == (2, known + 1)
    assert Event.objects.filter(text="Later 1").count() == 1
