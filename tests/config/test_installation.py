"""A host whose ``SECRET_KEY`` or storage is another says so at its start, and the doctor says it too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from config import doctor, installation
from config.env import BASE_DIR, ConfigError
from sessions_app.models import AuditEntry, Installation, Secret
from sessions_app.services import audit, secrets
from tests import databases
from vcon_app.services.documents import storage_mark
from vcon_app.services.documents.storage import Folder

MANAGE = [sys.executable, str(BASE_DIR / "manage.py")]
KEY = "an invented key of an installation, long enough"


@pytest.fixture
def host(migrated_database: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of the first host of an installation, which has started once."""
    with databases.new_database(migrated_database) as parameters:
        environment = os.environ | {
            "DATABASE_URL": databases.url_of(parameters),
            "COUNTERSIGN_DATA_DIR": str(tmp_path / "one"),
            "SECRET_KEY": KEY,
            "DEBUG": "True",  # no static files are compressed, which is most of what a start takes
            "STORAGE_URL": f"file://{tmp_path}/shared",
        }
        assert manage(environment, "prepare").returncode == 0
        yield environment


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MANAGE, *arguments], env=environment, capture_output=True, text=True, timeout=150)


def second(host: dict[str, str], **changed: str) -> dict[str, str]:
    return host | {"COUNTERSIGN_DATA_DIR": host["COUNTERSIGN_DATA_DIR"].replace("one", "two")} | changed


def test_a_second_host_with_the_same_key_and_storage_starts(host):
    assert manage(second(host), "prepare").returncode == 0
    said = manage(second(host), "doctor").stdout
    assert "ok     storage" in said and "ok     secrets" in said


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["short", "another invented key, which is long enough too"])
def test_a_host_with_another_key_is_refused(document_storage, settings, key):
    installation.check_host()
    settings.SECRET_KEY = key
    assert "SECRET_KEY is not the one of this installation" in refused()
    assert "SECRET_KEY is not the one" in faults()["secrets"]


@pytest.mark.django_db
def test_a_host_with_another_storage_is_refused(document_storage, settings, tmp_path):
    installation.check_host()
    settings.DOCUMENTS_DIR = tmp_path / "elsewhere"
    assert "is not the one that this installation has used so far" in refused()
    assert "is not the one" in faults()["storage"]


@pytest.mark.django_db
def test_the_storage_of_another_installation_is_refused(document_storage):
    installation.check_host()
    (document_storage / storage_mark.NAME).write_text("somebody else's")
    assert "belongs to another installation" in refused()


@pytest.mark.django_db
def test_a_storage_that_moved_with_its_mark_is_the_same(document_storage, settings, tmp_path):
    installation.check_host()
    settings.DOCUMENTS_DIR = shutil.move(document_storage, tmp_path / "moved")
    installation.check_host()


def refused() -> str:
    with pytest.raises(ConfigError) as told:
        installation.check_host()
    return str(told.value)


def faults() -> dict[str, str | None]:
    return {check.name: check.fault for check in doctor.diagnose()}


def test_a_host_is_refused_before_it_starts_until_the_change_is_accepted(host, tmp_path):
    """As a person sees it: one line and status 2, the doctor, and the command that the line names."""
    other = second(host, SECRET_KEY="a new key that was chosen on purpose here", STORAGE_URL=f"file://{tmp_path}/new")
    done = manage(other, "prepare")  # the first thing that `up` does; its status is `up`'s
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "installation accept" in done.stderr
    assert "fault  secrets: SECRET_KEY is not the one" in manage(other, "doctor").stdout
    assert manage(other, "installation", "accept").returncode == 0
    assert manage(other, "prepare").returncode == 0


def test_two_hosts_that_start_at_once_agree(migrated_database, tmp_path):
    """On a database without rows, each with its own folder: one of them is refused, whichever comes second."""
    with databases.new_database(migrated_database) as parameters:
        environment = os.environ | {"DATABASE_URL": databases.url_of(parameters), "SECRET_KEY": KEY, "DEBUG": "True"}
        hosts = [
            subprocess.Popen([*MANAGE, "prepare"], env=environment | {"COUNTERSIGN_DATA_DIR": str(tmp_path / name)})
            for name in ("one", "two")
        ]
        assert sorted(one.wait(150) for one in hosts) == [0, 2]
        with psycopg.connect(make_conninfo(**parameters)) as database:
            assert database.execute("SELECT count(*) FROM sessions_app_installation").fetchone() == (1,)


@pytest.mark.django_db(transaction=True)
def test_hosts_that_look_at_one_storage_at_once_agree_on_its_mark(document_storage, monkeypatch):
    """Each sees that there is no mark yet; what one of them writes then must be what the database says, too."""
    read, all_looked = storage_mark.read_mark, threading.Barrier(3)
    marks: list[str] = []

    def read_together(place: Folder) -> str:
        marks.append(mark := read(place))
        with suppress(threading.BrokenBarrierError):
            all_looked.wait(1)
        return mark

    def start() -> None:
        with closing(connection):
            installation.check_host()

    monkeypatch.setattr(storage_mark, "read_mark", read_together)
    with ThreadPoolExecutor(3) as threads:
        for host in [threads.submit(start) for _ in range(3)]:
            host.result(60)
    monkeypatch.setattr(storage_mark, "read_mark", read)
    assert storage_mark.storage_fault() is None
    assert marks.count("") == 1 and set(marks) == {"", Installation.objects.get().storage_mark}


@pytest.mark.django_db
def test_stored_secrets_tell_of_a_wrong_key_where_no_mark_was_kept(workspace, settings):
    """An installation from before the mark: the key was changed, and then this version started."""
    secrets.store_secret(workspace.pk, "CRM", "invented", "https://crm.example.org", by=audit.COMMAND)
    settings.SECRET_KEY = "another invented key, which is long enough too"
    assert not Installation.objects.exists()
    with pytest.raises(ConfigError, match="SECRET_KEY is not the one"):
        installation.check_host()
    assert "SECRET_KEY is not the one" in {check.name: check.fault for check in doctor.diagnose()}["secrets"]


@pytest.mark.django_db
def test_some_secrets_of_an_older_key_keep_no_host_from_starting(workspace, settings, document_storage):
    store = lambda name: secrets.store_secret(workspace.pk, name, "x", "https://crm.example.org", by=audit.COMMAND)  # noqa: E731
    store("OLD")
    settings.SECRET_KEY = "another invented key, which is long enough too"
    store("NEW")
    installation.check_host()
    assert "1 of 2 stored secrets" in doctor.installation.secret_key_fault()
    assert Secret.objects.defer("value").count() == 2


@pytest.mark.django_db
def test_a_storage_that_does_not_answer_is_said(document_storage, monkeypatch):
    installation.check_host()
    monkeypatch.setattr(storage_mark.storage, "of_documents", lambda: Folder(Path("/dev/null/nowhere")))
    with pytest.raises(ConfigError, match="does not answer"):
        installation.check_host()


@pytest.mark.django_db
def test_what_was_accepted_is_in_the_audit_log(document_storage, workspace):
    installation.check_host()
    Installation.objects.update(storage_mark="another")
    installation.accept()
    assert AuditEntry.objects.get(action="installation.accepted").details == {"changed": ["storage"]}
