"""``ingest``: files and folders through the pipeline of the upload page, a result line for each."""

from __future__ import annotations

import io
import json
import os
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import AuditEntry, Session
from tests.api.test_imports import FIELDS, LINES
from vcon_app.management.commands import ingest
from vcon_app.models import Import, SourceDocument


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch):
    """None runs in these tests, so that the command reads the files itself."""
    monkeypatch.setattr(ingest, "TAKE_OVER_AFTER", timedelta())


@pytest.fixture
def folder(tmp_path):
    for name, id_ in (("a.jsonl", "one"), ("sub/b.jsonl", "two"), (".hidden/c.jsonl", "three")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(json.dumps(line | {"sessionId": id_}) for line in LINES))
    return tmp_path


def run(*arguments):
    """Exit status of the command."""
    try:
        call_command("ingest", *map(str, arguments))
    except SystemExit as ended:
        return ended.code
    return 0


def test_a_folder_is_read_with_all_that_is_in_it(db, folder, capsys):
    assert run(folder) == 0
    out = capsys.readouterr()
    lines = out.out.splitlines()
    assert len(lines) == 2
    assert lines[0] == f"done    {folder / 'a.jsonl'}: 1 session, 2 events (claude-code)"
    assert str(folder / "sub/b.jsonl") in lines[1]
    assert out.err == ""
    assert set(Session.objects.values_list("external_id", flat=True)) == {"one", "two"}
    assert AuditEntry.objects.filter(action="import.started", actor_kind="command").count() == 2


def test_the_same_file_again_is_said_to_be_known(db, folder, capsys):
    run(folder / "a.jsonl")
    assert run(folder / "a.jsonl", folder / "a.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "imported before" in lines[1]


def test_one_file_that_fails_makes_the_exit_status_1_and_stops_no_other(db, folder, capsys):
    (folder / "broken.jsonl").write_bytes(b"\0\0\0")
    assert run(folder, folder / "not-there.jsonl") == 1
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["done", "done", "failed", "failed"]
    assert any("not-there.jsonl: No such file or directory" in line for line in lines)


def test_json_is_one_import_a_line(db, folder, capsys):
    (folder / "empty").write_bytes(b"")
    assert run(folder, folder / "not-there", "--json") == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_name = {row["path"].rsplit("/", 1)[-1]: row for row in rows}
    assert by_name["a.jsonl"].keys() >= FIELDS
    assert (by_name["a.jsonl"]["status"], len(by_name["a.jsonl"]["sessions"])) == ("done", 1)
    assert by_name["empty"]["status"] == "failed"
    assert by_name["not-there"]["status"] == "failed"


def test_an_agent_and_a_format_can_be_said(db, folder, capsys):
    assert run(folder / "a.jsonl", "--agent", "Note taker", "--format", "claude-code") == 0
    assert Session.objects.get().agent.name == "Note taker"
    with pytest.raises(CommandError):
        run(folder / "a.jsonl", "--format", "parchment")
    with pytest.raises(CommandError):
        run(folder / "a.jsonl", "--workspace", "nowhere")


def test_no_wait_leaves_the_reading_to_the_worker(db, folder, capsys):
    assert run(folder, "--no-wait", "--json") == 0
    assert {json.loads(line)["status"] for line in capsys.readouterr().out.splitlines()} == {"queued"}
    assert Import.objects.filter(status="queued").count() == 2


def test_a_folder_without_files_is_refused(db, tmp_path):
    with pytest.raises(CommandError, match="no files"):
        run(tmp_path)


def test_names_do_not_command_the_terminal(db, folder, capsys):
    name = os.fsencode(folder) + b"/x\x1b[2J\n\xff.jsonl"
    with open(name, "wb") as file:  # noqa: PTH123 - a name that is not UTF-8
        file.write((folder / "a.jsonl").read_bytes().replace(b"one", b"four"))
    assert run(folder / "sub" / "..") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


def test_a_file_over_the_limit_fails_by_name(db, folder, settings, capsys):
    settings.MAX_UPLOAD_BYTES = 10
    assert run(folder / "a.jsonl") == 1
    assert "a.jsonl: the file is larger than the limit" in capsys.readouterr().out


def test_a_link_in_a_folder_is_ignored_and_nothing_of_it_is_kept(db, folder, document_storage, capsys):
    secret = folder.parent / "secret.jsonl"
    secret.write_text("\n".join(json.dumps(line | {"sessionId": "secret"}) for line in LINES))
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "passwd.jsonl").symlink_to("/etc/passwd")
    (folder / "linked").symlink_to(folder.parent)
    assert run(folder) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("link.jsonl", "linked", "passwd.jsonl"):
        assert f"ignored {folder / name}: is a link, and links are not followed" in lines
    assert set(Session.objects.values_list("external_id", flat=True)) == {"one", "two"}
    assert SourceDocument.objects.count() == 2
    assert run(folder, "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ignored = {row["path"].rsplit("/", 1)[-1] for row in rows if row["status"] == "ignored"}
    assert ignored == {"link.jsonl", "linked", "passwd.jsonl"}


@pytest.mark.parametrize("name", ["link.jsonl", "linked"])
def test_a_link_that_is_an_argument_is_refused(db, folder, capsys, name):
    """As the shell makes them of a pattern: ``ingest folder/*``."""
    (folder / "link.jsonl").symlink_to("/etc/passwd")
    (folder / "linked").symlink_to("/etc")
    assert run(folder / name) == 1
    assert capsys.readouterr().out == f"failed  {folder / name}: is a link, and links are not followed\n"
    assert Import.objects.count() == SourceDocument.objects.count() == 0


def test_what_is_in_no_known_format_is_not_kept_for_others_to_read(db, folder, document_storage, capsys):
    (folder / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert run(folder / "id_rsa") == 1
    assert "Unsupported file format" in capsys.readouterr().out
    assert Import.objects.count() == SourceDocument.objects.count() == 0
    assert not document_storage.exists() or not any(path.is_file() for path in document_storage.rglob("*"))


# --- what agents keep in a home ---

DROID = ".factory/sessions/-srv-sea/0b1c-sea"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home in which Claude Code and Droid have worked."""
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = {"model": "glm-4.6", "autonomyMode": "auto-low", "tokenUsage": {"inputTokens": 70, "outputTokens": 9}}
    begin = {"type": "session_start", "id": "0b1c-sea", "title": "The sea", "version": 2, "cwd": "/srv/sea"}
    said = {"type": "message", "id": "m", "message": {"role": "user", "content": "How deep is it?"}}
    files = {
        ".claude/projects/-srv-a/one.jsonl": "\n".join(json.dumps(line | {"sessionId": "one"}) for line in LINES),
        f"{DROID}.jsonl": f"{json.dumps(begin)}\n{json.dumps(said)}\n",
        f"{DROID}.settings.json": json.dumps(settings),
        "letters.jsonl": "{}",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


def answer(monkeypatch, line):
    monkeypatch.setattr("sys.stdin", io.StringIO(line))


def test_what_agents_keep_is_shown_and_nothing_is_imported_without_a_yes(db, home, monkeypatch, capsys):
    answer(monkeypatch, "\n")
    assert run("--all") == 0
    told = capsys.readouterr().err
    assert "claude-code  1 file" in told and "droid        2 files" in told and "nothing was imported" in told
    assert not Import.objects.exists()


def test_a_yes_imports_what_was_shown_and_the_settings_beside_a_session_are_part_of_it(db, home, monkeypatch, capsys):
    answer(monkeypatch, "y\n")
    assert run("--from", "droid", "--from", "claude-code") == 0
    assert set(Session.objects.values_list("external_id", flat=True)) == {"one", "0b1c-sea"}
    droid = Session.objects.get(external_id="0b1c-sea")
    assert (droid.input_tokens, droid.output_tokens, droid.title) == (70, 9, "The sea")
    assert run("--from", "droid", "--yes") == 0
    assert capsys.readouterr().out.count("imported before") == 2


def test_a_home_without_that_agent_is_told(db, home, capsys):
    assert run("--from", "amp") == 0
    assert "nothing of amp lies in the usual places" in capsys.readouterr().err


def test_files_and_agents_are_not_named_at_once(db, home):
    for arguments in ((), (home / "letters.jsonl", "--all")):
        with pytest.raises(CommandError, match="name files or folders, or agents"):
            run(*arguments)


def test_a_link_in_the_place_of_an_agents_files_is_not_followed(db, home, capsys):
    (home / ".claude/projects/-srv-a/link.jsonl").symlink_to(home / "letters.jsonl")
    assert run("--from", "claude-code", "--yes") == 0
    assert Import.objects.count() == 1
