"""Time stamps: an authority's word of when a checkpoint was there, asked for once, checked with its root."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest

from sessions_app.models import CheckpointPublication
from tests.fakes.timestamp_authority import Authority, serving
from tests.places import DOCS
from tests.services.build import append, event
from vcon_app.services.checkpoints import making, publishing, timestamps
from vcon_app.services.checkpoints.verification import Outside, verify_all
from vcon_app.services.documents import storage

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("document_storage"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="the test's authority needs the program openssl"),
]


@pytest.fixture
def authority(tmp_path_factory, settings):
    with serving(tmp_path_factory.mktemp("authority")) as serves:
        settings.TIMESTAMP_URL, settings.TIMESTAMP_CERTIFICATES = serves.url, serves.root
        yield serves


@pytest.fixture
def published(session, authority) -> CheckpointPublication:
    append(session, event())
    making.make_all()
    publishing.publish_due()
    return CheckpointPublication.objects.select_related("checkpoint").get()


def faults() -> list[str]:
    return [one.detail for one in verify_all(Outside.seen_now()) if not one.ok]


def test_a_checkpoint_is_stamped_and_the_stamp_kept_beside_its_file(published):
    assert published.timestamped_at and not published.fault and published.next_try_at is None
    token = bytes(published.timestamp_token)
    assert timestamps.check(token, published.checkpoint.header.encode()) == published.timestamped_at
    with storage.of_checkpoints().open(publishing.file_name(1).replace(".json", ".tsr")) as file:
        assert file.read() == token
    assert faults() == []


def test_the_check_by_hand_of_the_docs_works(published, authority, tmp_path):
    (command,) = re.findall(r"`(openssl ts .+?)`", (DOCS / "record.md").read_text())
    (tmp_path / "HEADER").write_text(published.checkpoint.header)
    (tmp_path / "FILE.tsr").write_bytes(published.timestamp_token)
    shutil.copy(authority.root, tmp_path / "AUTHORITY.pem")
    done = subprocess.run(shlex.split(command), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_stamp_over_something_else_is_noticed(published, authority):
    other, _ = timestamps.stamp(authority.url, b"another text")
    CheckpointPublication.objects.update(timestamp_token=other)
    assert len(faults()) == 1 and "time stamp" in faults()[0]


def test_a_stamp_of_another_authority_is_not_believed(published, settings, tmp_path):
    settings.TIMESTAMP_CERTIFICATES = Authority(tmp_path).root
    assert len(faults()) == 1 and "time stamp" in faults()[0]


def test_without_its_root_a_stamp_is_kept_and_said_to_be_unchecked(published, settings):
    settings.TIMESTAMP_CERTIFICATES = None
    assert any("1 time stamps were not checked" in one.detail for one in verify_all(Outside.seen_now()))


@pytest.mark.parametrize("status", [500, 404])
def test_an_authority_that_fails_is_asked_again_and_the_file_is_there_already(session, authority, status):
    authority.status = status
    append(session, event())
    making.make_all()
    publishing.publish_due()
    row = CheckpointPublication.objects.get()
    assert row.stored_at and row.timestamp_token is None and str(status) in row.fault
    authority.status = 200
    CheckpointPublication.objects.update(next_try_at="2026-01-01T00:00:00Z")
    publishing.publish_due()
    row.refresh_from_db()
    assert row.timestamped_at and not row.fault


def test_an_authority_that_is_away_is_asked_again(session, authority, settings):
    settings.TIMESTAMP_URL = "http://127.0.0.1:9/"
    append(session, event())
    making.make_all()
    publishing.publish_due()
    row = CheckpointPublication.objects.get()
    assert row.next_try_at and "does not answer" in row.fault
