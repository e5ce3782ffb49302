"""What is taken in: names cleaned, sizes bounded, all or nothing."""

from __future__ import annotations

import pytest

from vcon_app.models import Import, SourceDocument
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs

from ..imports.test_imports import start

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "given, shown",
    [
        ("../../etc/passwd", "passwd"), ("C:\\Users\\me\\a.jsonl", "a.jsonl"), ("", "unnamed"), ("..", "unnamed"),
        ("a/..", "unnamed"), ("/", "unnamed"),
        ("a\0b\r\n.jsonl", "ab.jsonl"), ("\u202egnp.exe", "gnp.exe"), ("\ud800\u200b\u2028x", "x"),
        ("日本 🙂.vcon", "日本 🙂.vcon"), ("x" * 999, "x" * 255),
    ],
)  # fmt: skip
def test_names_are_cleaned(workspace, given, shown):
    assert start(workspace, b"x", given).filename == shown


def test_a_file_that_is_too_large_leaves_nothing_behind(workspace, settings, document_storage):
    settings.MAX_UPLOAD_BYTES = 1_000
    with pytest.raises(documents.TooLarge, match="larger than the limit"):
        import_jobs.start_import(workspace, "big", iter([b"x" * 600, b"x" * 600]), by=None)
    assert not Import.objects.exists() and not SourceDocument.objects.exists()
    assert [path for path in document_storage.rglob("*") if path.is_file()] == []


def test_an_upload_that_breaks_off_leaves_nothing_behind(workspace, document_storage):
    def chunks():
        yield b"x" * 100
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        import_jobs.start_import(workspace, "cut", chunks(), by=None)
    assert not Import.objects.exists()
    assert [path for path in document_storage.rglob("*") if path.is_file()] == []
