"""Files in over the API: taken at once, read by a worker, told in the shape that was promised."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from sessions_app.models import Agent, Event
from tests.formats.stores import made
from vcon_app.models import Import, SourceDocument
from vcon_app.services.imports import import_jobs

from .client import ok, pointers, refused

FIELDS = {
    "id",
    "status",
    "filename",
    "sha256",
    "size",
    "format",
    "duplicate_of",
    "sessions",
    "events",
    "findings",
    "signature",
    "error",
    "created_at",
    "finished_at",
}
LINES = [
    {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "5e55",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": {"role": "user", "content": "Sum up the notes"},
    },
    {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "sessionId": "5e55",
        "timestamp": "2026-03-01T10:00:03.000Z",
        "message": {
            "id": "m1",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "Three notes."}],
            "usage": {"input_tokens": 12, "output_tokens": 4},
        },
    },
]


def file(content=None, name="notes.jsonl"):
    data = content if content is not None else "\n".join(json.dumps(line) for line in LINES).encode()
    stream = io.BytesIO(data)
    stream.name = name
    return stream


def finished(api, answer):
    """What a worker makes of it."""
    taken = ok(answer, 202)
    import_jobs.run(taken["id"])
    return ok(api.get(f"imports/{taken['id']}"))


def test_a_file_is_taken_in_before_it_is_read(api):
    taken = ok(api.upload(file()), 202)
    assert taken.keys() >= FIELDS
    assert (taken["status"], taken["format"], taken["sessions"], taken["finished_at"]) == ("queued", None, [], None)
    assert (taken["filename"], taken["size"], len(taken["sha256"])) == ("notes.jsonl", len(file().getvalue()), 64)
    assert taken["signature"]["state"] == "uncheckable"
    assert taken["queued_behind"] == 0


def test_an_import_says_behind_how_many_of_its_key_it_waits(api):
    first = ok(api.upload(file()), 202)
    second = ok(api.upload(file(b"{}")), 202)
    assert second["queued_behind"] == ok(api.get(f"imports/{second['id']}"))["queued_behind"] == 1
    assert [row["queued_behind"] for row in ok(api.get("imports"))["items"]] == [1, 0]
    assert finished(api, api.upload(file(b"[]")))["queued_behind"] is None
    assert first["queued_behind"] == 0


def test_import_reports_its_sessions_and_findings(api):
    done = finished(api, api.upload(file()))
    assert (done["status"], done["format"], done["error"], done["duplicate_of"]) == ("done", "claude-code", None, None)
    assert done["events"] == 2
    assert done["signature"] == {"covers": None, "state": "unsigned", "signer": None, "detail": ""}
    session = ok(api.get(f"sessions/{done['sessions'][0]}"))
    assert session["imported_from"] == {"import_id": done["id"], "format": "claude-code"}
    assert (session["origin"], session["external_id"], session["signature"]) == ("import", "5e55", done["signature"])
    assert session["usage"]["total_tokens"] == 16
    event = ok(api.get(f"sessions/{session['id']}/events"))["items"][0]
    assert event["source"]["document"] == done["sha256"]
    assert event["source"]["pointer"].startswith("L1")
    assert ok(api.get("imports"))["items"] == [done]


def test_the_same_bytes_again_are_the_same_import(api):
    first = finished(api, api.upload(file()))
    again = ok(api.upload(file(name="copy.jsonl")), 202)
    assert (again["status"], again["duplicate_of"], again["sessions"]) == ("done", first["id"], first["sessions"])
    assert (again["events"], again["id"] != first["id"], again["format"]) == (0, True, "claude-code")
    assert ok(api.get(f"sessions/{first['sessions'][0]}"))["imported_from"]["import_id"] == first["id"]


def test_an_agent_can_be_named_by_name_or_id(api, agent):
    done = finished(api, api.upload(file(), {"agent": "Note taker"}))
    assert ok(api.get(f"sessions/{done['sessions'][0]}"))["agent"]["name"] == "Note taker"
    assert Agent.objects.get(name="Note taker").runtime == "external"
    other = b"\n".join(json.dumps(line | {"sessionId": "other"}).encode() for line in LINES)
    done = finished(api, api.upload(file(other), {"agent": str(agent.id)}))
    assert ok(api.get(f"sessions/{done['sessions'][0]}"))["agent"]["id"] == str(agent.id)


def test_an_agent_of_another_workspace_is_not_found(api, stranger):
    theirs = ok(stranger.post("agents", {"name": "Theirs"}), 201)
    assert pointers(refused(api.upload(file(), {"agent": theirs["id"]}), 422)) == {"/agent"}


def test_a_format_that_is_none_is_refused_with_those_there_are(api):
    problem = refused(api.upload(file(), {"format": "parchment"}), 422)
    assert pointers(problem) == {"/format"}
    assert "claude-code" in problem["detail"]
    assert not Import.objects.exists()


def test_a_form_without_a_file_is_refused(api):
    answer = api.client.post("/api/v1/imports", {"agent": "A"}, headers=api.headers)
    assert pointers(refused(answer, 422)) == {"/file"}


def test_two_files_at_once_are_refused_for_one_would_be_lost(api):
    sent = {"file": [file(name="a.jsonl"), file(name="b.jsonl")]}
    problem = refused(api.client.post("/api/v1/imports", sent, headers=api.headers), 422)
    assert pointers(problem) == {"/file"} and "2 files" in problem["detail"]
    assert not Import.objects.exists()


def test_a_form_that_is_cut_off_is_refused(api):
    refused(api.send("POST", "imports", b"--x\r\nContent-Disp", "multipart/form-data; boundary=x"), 422)
    refused(api.send("POST", "imports", b"x", "multipart/form-data"), 400)


def test_a_file_over_the_limit_is_413_and_leaves_nothing(api, settings):
    settings.MAX_UPLOAD_BYTES = 100
    problem = refused(api.upload(file(b"x" * 101)), 413)
    assert pointers(problem) == {"/file"}
    assert not Import.objects.exists()
    assert not SourceDocument.objects.exists()


@pytest.mark.parametrize("content", [b"", b"\0" * 1000, b"{", b"not json at all", b"[" * 5000, b'{"a": NaN}'])
def test_a_file_that_cannot_be_read_says_why(api, content):
    failed = finished(api, api.upload(file(content, "strange.bin")))
    assert failed["status"] == "failed"
    assert "strange.bin" in failed["error"]
    assert (failed["sessions"], failed["events"]) == ([], 0)
    assert failed["finished_at"].endswith("Z")


@pytest.mark.parametrize("name", ["../../etc/passwd", "..\\..\\windows", "a\r\nb.txt", "\u202egnp.exe", "x" * 900])
def test_file_name_is_cleaned_of_path_separators(api, name):
    taken = ok(api.upload(file(name=name)), 202)
    assert "/" not in taken["filename"]
    assert "\\" not in taken["filename"]
    assert "\n" not in taken["filename"]
    assert len(taken["filename"]) <= 255


def test_imports_of_another_workspace_are_not_there(api, stranger):
    taken = ok(api.upload(file()), 202)
    refused(stranger.get(f"imports/{taken['id']}"), 404)
    assert ok(stranger.get("imports"))["items"] == []


def test_of_an_archive_each_member_says_what_it_gave_and_who_signed_it(api):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a/notes.jsonl", file().getvalue())
        archive.writestr("b/notes.jsonl", file().getvalue())
        archive.writestr("milk.txt", b"Buy milk")
    taken = ok(api.upload(file(packed.getvalue(), "all.zip")), 202)
    import_jobs.run(taken["id"])
    done = ok(api.get(f"imports/{taken['id']}"))
    [session] = done["sessions"]
    assert [(member["name"], member["session"], member["events"]) for member in done["members"]] == [
        ("a/notes.jsonl", session, 2), ("b/notes.jsonl", session, 0),
    ]  # fmt: skip
    assert {member["signature"]["state"] for member in done["members"]} == {"unsigned"}
    assert (done["format"], done["events"]) == ("zip", 2)
    assert [finding["path"] for finding in done["findings"]] == ["milk.txt"]
    assert ok(api.get(f"sessions/{session}"))["imported_from"] == {"import_id": taken["id"], "format": "claude-code"}


def test_a_store_that_comes_with_its_log_has_the_rows_that_stand_there(api):
    database, log, _ = made.in_use(made.crush(4), made.SAY_LATER)
    files = {"file": file(database, "crush.db"), "log": file(log, "crush.db-wal")}
    done = finished(api, api.upload(files["file"], {"log": files["log"]}))
    assert "sqlite.wal" not in {finding["rule"] for finding in done["findings"]} and done["status"] == "done"
    assert Event.objects.filter(text="Said later").count() == 1


def test_a_log_that_belongs_to_nothing_is_refused(api):
    problem = refused(api.upload(file(b"{}"), {"log": file(b"no log", "a-wal")}), 422)
    assert pointers(problem) == {"/log"}
