"""``export``: one session to a file or to standard output."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import Session
from sessions_app.services import audit, workspaces
from tests.api.test_imports import LINES
from vcon_app.services.exports import export_jobs
from vcon_app.services.imports import import_jobs

DATA = "\n".join(json.dumps(line) for line in LINES).encode()


@pytest.fixture
def imported_session(db) -> Session:
    taken = import_jobs.start_import(workspaces.default_workspace(), "notes.jsonl", [DATA], by=audit.COMMAND)
    import_jobs.run(taken.id)
    return Session.objects.get()


def test_the_original_goes_to_standard_output_byte_for_byte(imported_session, capfdbinary):
    call_command("export", str(imported_session.id), "--format", "original")
    assert capfdbinary.readouterr().out == DATA


def test_a_file_is_written_where_it_was_said(imported_session, tmp_path):
    call_command("export", str(imported_session.id), "--format", "html", "--output", str(tmp_path / "page.html"))
    assert b"<html" in (tmp_path / "page.html").read_bytes()


def test_a_folder_gets_a_file_of_its_own_name(imported_session, tmp_path):
    call_command("export", str(imported_session.id), "--format", "original", "--output", str(tmp_path))
    assert (tmp_path / "notes.jsonl").read_bytes() == DATA


def test_a_large_session_is_written_without_a_worker(imported_session, tmp_path, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 0)
    call_command("export", str(imported_session.id), "--format", "html", "--output", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size > 0


@pytest.mark.parametrize(
    ("id_", "format", "said"),
    [
        ("x", "original", "no session id"),
        ("01900000-0000-7000-8000-000000000000", "original", "no session 019"),
        (None, "stone", "original"),
    ],
)
def test_impossible_export_is_refused(imported_session, id_, format, said):
    with pytest.raises(CommandError, match=said):
        call_command("export", id_ or str(imported_session.id), "--format", format)


def test_a_place_that_cannot_be_written_is_refused(imported_session, tmp_path):
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command(
            "export", str(imported_session.id), "--format", "original", "--output", str(tmp_path / "no" / "folder")
        )


def test_options_of_the_format_are_options_of_the_command(imported_session, tmp_path):
    target = tmp_path / "out.vcon"
    call_command("export", str(imported_session.id), "--format", "vcon", "--bodies", "string", "--output", str(target))
    [trace] = [item for item in json.loads(target.read_bytes())["analysis"] if item["type"] == "agent_trace"]
    assert isinstance(trace["body"], str)


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("vcon", ["--bodies", "xml"], "one of json, string"),
        ("html", ["--verdicts"], '"html" has no option "verdicts"'),
        ("vcon", ["--verdicts", "perhaps"], "true or false"),
    ],
)
def test_invalid_option_of_the_format_is_refused(imported_session, format, options, said):
    with pytest.raises(CommandError, match=said):
        call_command("export", str(imported_session.id), "--format", format, *options)


def test_who_exports_is_told_that_nobody_granted_to_hand_it_on(imported_session, tmp_path, capsys):
    grants = [{"purpose": "agent_session_redistribution", "granted": False}]
    imported_session.metadata = {"lawful_basis": [{"lawful_basis": "contract", "purpose_grants": grants}]}
    imported_session.save()
    call_command("export", str(imported_session.id), "--format", "html", "--output", str(tmp_path / "page.html"))
    assert "do not hand it on: its legal basis denies redistribution" in capsys.readouterr().err
