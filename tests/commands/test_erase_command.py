"""``erase session ID`` and ``erase import ID``: deletion for whoever has the machine and no browser."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from sessions_app.models import Session, Tombstone
from tests.services.files import transcript
from tests.services.imports.test_imports import drop
from vcon_app.models import Import

pytestmark = pytest.mark.django_db


def test_a_session_goes_with_its_file(workspace, document_storage, capsys):
    drop(workspace, transcript(4))
    session = Session.objects.get()
    call_command("erase", "session", str(session.pk), "--reason", "they asked")
    assert capsys.readouterr().out == f"deleted the session {session.pk}\n"
    assert not Session.objects.exists() and not Import.objects.exists()
    assert {(each.by_kind, each.reason) for each in Tombstone.objects.all()} == {("command", "they asked")}


def test_an_import_goes_with_its_session(workspace, document_storage):
    imported = drop(workspace, transcript(4))
    call_command("erase", "import", str(imported.pk), reason="a wrong upload")
    assert not Session.objects.exists() and not Import.objects.exists()


@pytest.mark.parametrize("kind", ["session", "import"])
def test_what_is_not_there_and_what_is_no_id_is_said(db, kind):
    with pytest.raises(CommandError, match=f"there is no {kind}"):
        call_command("erase", kind, str(uuid4()), reason="x")
    with pytest.raises(CommandError, match=f"is no {kind} id"):
        call_command("erase", kind, "4711", reason="x")


def test_what_cannot_go_is_refused_with_the_reason(workspace, document_storage):
    short = drop(workspace, transcript(4), "short.jsonl")
    drop(workspace, transcript(8), "long.jsonl")
    with pytest.raises(CommandError, match=r"long\.jsonl"):
        call_command("erase", "import", str(short.pk), reason="x")
    assert Import.objects.count() == 2
