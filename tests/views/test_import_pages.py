"""A file on its way in: taken, read, told of; and every way in which that can be refused."""

from __future__ import annotations

import gzip
import hashlib
import html
import io
import json
import re
import zipfile

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from sessions_app.ids import uuid7
from sessions_app.models import Event, Session
from tests.formats.stores import made
from tests.services.files import transcript
from vcon_app.models import Import, SourceDocument
from vcon_app.services.documents import storage
from vcon_app.services.imports import import_jobs

from .build import TRANSCRIPT, session_of, words

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DOCUMENTS_DIR = tmp_path / "documents"


def upload(client, *files: tuple[str, bytes], headers=None, **form: str):
    """Send files as a browser does."""
    return client.post(
        "/imports/", {"file": [SimpleUploadedFile(name, content) for name, content in files], **form}, headers=headers
    )


async def body_of(answer) -> bytes:
    return b"".join([piece async for piece in answer.streaming_content])


@pytest.mark.parametrize("page", ["document", "raw"])
def test_a_document_whose_bytes_are_gone_is_told_as_that(reviewer, settings, page):
    upload(reviewer, ("shelf.json", TRANSCRIPT))
    for stored in settings.DOCUMENTS_DIR.rglob(SourceDocument.objects.get().sha256):
        stored.unlink()
    reviewer.raise_request_exception = False
    answer = reviewer.get(f"/imports/{Import.objects.get().id}/{page}")
    assert answer.status_code == 503
    assert "A stored file is missing" in words(answer) and "Retry-After" not in answer.headers


def test_a_storage_that_does_not_answer_is_told_as_that(reviewer, monkeypatch):
    def away(*_):
        raise storage.Unavailable("no route to the bucket")

    upload(reviewer, ("shelf.json", TRANSCRIPT))
    monkeypatch.setattr(storage.Folder, "open", away)
    reviewer.raise_request_exception = False
    answer = reviewer.get(f"/imports/{Import.objects.get().id}/document")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "The storage of files does not answer" in words(answer)


def read_all() -> None:
    """What the worker does."""
    for imported in Import.objects.filter(status=Import.Status.QUEUED):
        import_jobs.run(imported.id)


def test_a_store_and_the_files_beside_it_are_one_import(reviewer, workspace):
    database, log, index = made.in_use(made.crush(4), made.SAY_LATER)
    upload(reviewer, ("crush.db", database), ("crush.db-shm", index), ("crush.db-wal", log))
    read_all()
    imported = Import.objects.get()
    assert (imported.filename, imported.status) == ("crush.db", "done")
    assert "sqlite.wal" not in {finding["rule"] for finding in imported.findings}
    assert Event.objects.filter(text="Said later").count() == 1


def test_a_log_without_its_database_is_refused_in_words(reviewer, workspace):
    upload(reviewer, ("crush.db-wal", made.in_use(made.crush(4), made.SAY_LATER)[1]))
    read_all()
    assert "drop it together with the database" in Import.objects.get().error


def test_a_file_with_a_log_that_is_none_says_which_it_is(reviewer, workspace):
    answer = upload(reviewer, ("notes.db", b"no database"), ("notes.db-wal", b"and no log"))
    assert answer.status_code == 422
    assert "notes.db: it cannot be read with the log that came with it" in words(answer)


def test_a_file_becomes_a_session_and_the_page_says_so(reviewer, workspace):
    assert upload(reviewer, ("shelf.json", TRANSCRIPT)).url == "/imports/"
    assert "Waits for a worker." in words(reviewer.get("/imports/"))
    read_all()
    session = Session.objects.get()
    page = reviewer.get("/imports/")
    assert re.search(r"Done shelf\.json 1 session, \d+ events", words(page))
    assert f"/chat/{session.id}" in page.content.decode()
    detail = words(reviewer.get(f"/imports/{Import.objects.get().id}/"))
    assert hashlib.sha256(TRANSCRIPT).hexdigest() in detail
    assert "detected automatically" in detail
    assert "by Rosa" in detail


def test_a_session_that_broke_off_is_not_called_completed_on_the_page_of_its_file(reviewer):
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    asked = {"type": "user", "uuid": "u1", "sessionId": "s1", "message": {"role": "user", "content": "Go"}}
    called = asked | {"type": "assistant", "uuid": "u2", "message": {"id": "m1", "role": "assistant", "content": [use]}}
    lines = (json.dumps(line | {"timestamp": "2026-03-02T09:12:00Z"}).encode() for line in (asked, called))
    upload(reviewer, ("cut.jsonl", b"\n".join(lines)))
    read_all()
    page = words(reviewer.get(reverse("import-detail", args=[Import.objects.get().pk])))
    assert "Broke off" in page and "Completed" not in page


def test_several_files_come_at_once(reviewer):
    upload(reviewer, ("one.json", TRANSCRIPT), ("two.json", TRANSCRIPT.replace(b"Restock", b"Sweep")))
    assert set(Import.objects.values_list("filename", flat=True)) == {"one.json", "two.json"}


def test_a_hostile_name_is_a_name_and_nothing_else(reviewer, settings):
    upload(reviewer, ("../../etc/passwd", TRANSCRIPT), ("..\\..\\evil\u202ecod.exe\n", b"no"))
    names = set(Import.objects.values_list("filename", flat=True))
    assert names == {"passwd", "evilcod.exe"}
    stored = [path for path in settings.DOCUMENTS_DIR.rglob("*") if path.is_file()]
    assert sorted(path.name for path in stored) == sorted(SourceDocument.objects.values_list("sha256", flat=True))


def test_the_original_comes_back_as_an_attachment_that_no_browser_renders(reviewer):
    upload(reviewer, ('<img src=x onerror="alert(1)">.html', TRANSCRIPT))
    imported = Import.objects.get()
    answer = reviewer.get(f"/imports/{imported.id}/document")
    assert async_to_sync(body_of)(answer) == TRANSCRIPT
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    assert answer.headers["Content-Length"] == str(len(TRANSCRIPT))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.json", b"", "it is empty"),
        ("cut.json", b'{"vcon": "0.0.2", "dialog": [{', "the file ends in the middle"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(99), "it is a PNG image"),
        ("words.txt", b"Dear Kim,\n", "it is text, not JSON"),
        ("zeros", bytes(4000), "it is a binary file of a kind not known here"),
        ("tags.json", b'{"<script>alert(1)</script>": 1}', "<script>"),
        (
            "update.json",
            b'{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}}',
            "It is one",
        ),
    ],
)
def test_a_file_that_cannot_be_read_says_why(reviewer, name, content, says):
    upload(reviewer, (name, content))
    read_all()
    imported = Import.objects.get()
    for path in ("/imports/", f"/imports/{imported.id}/"):
        page = reviewer.get(path)
        assert "Failed" in words(page) and name in words(page)
        assert says in words(page)
        assert "<script>alert" not in page.content.decode()
        assert "Traceback" not in page.content.decode()
    assert not Session.objects.exists()


def test_the_names_of_all_formats_stand_only_where_there_is_room(reviewer):
    upload(reviewer, ("words.txt", b"Dear Kim,\nthe jars are here."))
    read_all()
    assert "Known are" not in words(reviewer.get("/imports/"))
    page = words(reviewer.get(f"/imports/{Import.objects.get().id}/"))
    assert "Known are" not in page and "formats are read" in page and "Claude Code" in page


def test_a_file_over_the_limit_is_refused_by_name_and_the_others_come_in(reviewer, settings):
    settings.MAX_UPLOAD_BYTES = 1_000
    answer = upload(reviewer, ("huge.json", bytes(1_001)), ("shelf.json", TRANSCRIPT))
    assert answer.status_code == 422
    assert "huge.json: the file has 1.0 kB, the limit is 1.0 kB" in words(answer)
    assert Import.objects.get().filename == "shelf.json"
    assert SourceDocument.objects.count() == 1


@pytest.mark.parametrize("headers", [None, HTMX])
def test_upload_without_a_file_is_refused(reviewer, headers):
    answer = reviewer.post("/imports/", headers=headers)
    assert answer.status_code == 422
    assert "No file came with this" in words(answer)


def test_upload_with_an_unknown_format_is_refused(reviewer):
    answer = upload(reviewer, ("shelf.json", TRANSCRIPT), format="papyrus")
    assert answer.status_code == 422
    assert '"papyrus" is not a format' in words(answer)
    assert not Import.objects.exists()


def test_the_same_bytes_again_say_of_what_they_are_a_copy(reviewer):
    upload(reviewer, ("first.json", TRANSCRIPT))
    read_all()
    upload(reviewer, ("second.json", TRANSCRIPT))
    assert "second.json The same bytes as first.json , imported just now" in words(reviewer.get("/imports/"))
    assert Session.objects.count() == 1


def test_to_htmx_an_upload_answers_with_the_rows(reviewer):
    answer = upload(reviewer, ("shelf.json", TRANSCRIPT), headers=HTMX)
    assert answer.status_code == 200
    assert answer.content.decode().lstrip().startswith('<section id="imports"')


def test_rows_are_asked_for_again_only_while_something_runs(reviewer):
    upload(reviewer, ("shelf.json", TRANSCRIPT))
    imported = Import.objects.get()
    Import.objects.update(status="running", progress=0.42)
    for path in ("/imports/", f"/imports/{imported.id}/"):
        page = reviewer.get(path, headers=HTMX)
        assert "every 1500ms" in page.content.decode()
        assert "42 % read" in words(page)
    Import.objects.update(status="queued")
    read_all()
    for path in ("/imports/", f"/imports/{imported.id}/"):
        assert "every" not in reviewer.get(path, headers=HTMX).content.decode()


def test_a_reason_begins_as_a_sentence(reviewer, workspace):
    upload(reviewer, ("run.jsonl.gz", gzip.compress(transcript(400))[:-40]))
    import_jobs.run(Import.objects.get().pk)
    assert "Its compressed data ends in the middle: the file was cut off" in words(reviewer.get("/imports/"))


def test_remarks_are_told_in_the_sentence_and_listed_with_rule_and_place(reviewer, workspace):
    upload(reviewer, ("shelf.json", TRANSCRIPT))
    read_all()
    odd = {"rule": "time.made", "severity": "info", "message": "time made up"}
    places = [odd | {"path": f"/dialog/{number}"} for number in range(7)]
    bad = {"rule": "call.open", "severity": "warning", "path": "L3", "message": "a call has no <b>result</b>"}
    Import.objects.update(findings=[*places, bad])
    assert "2 warnings: a call has no <b>result</b>; time made up" in words(reviewer.get("/imports/"))
    page = words(reviewer.get(f"/imports/{Import.objects.get().id}/"))
    assert page.index("call.open") < page.index("time.made"), "what is worse comes first"
    assert "2 more places" in page and "/dialog/6" in page


def test_older_imports_follow(reviewer, workspace):
    document = SourceDocument.objects.create(workspace=workspace, sha256="0" * 64, size=1)
    for number in range(35):
        Import.objects.create(
            id=uuid7(), workspace=workspace, document=document, filename=f"file-{number:02}", status="done"
        )
    first = reviewer.get("/imports/").content.decode()
    more = re.search(r'href="(\?before=[^"]*)"', first)[1]
    rest = words(reviewer.get(f"/imports/{more}", headers=HTMX))
    assert "file-34" in first and "file-05" in first and "file-04" not in first
    assert all(f"file-{number:02}" in rest for number in range(5)) and "file-05" not in rest


@pytest.mark.parametrize("before", ["x", "%00", "9" * 400])
def test_a_nonsense_place_in_the_list_is_told(reviewer, before):
    assert reviewer.get(f"/imports/?before={before}").status_code == 404


def test_of_an_archive_the_page_says_which_file_gave_which_session(reviewer):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("logs/shelf.json", TRANSCRIPT)
        archive.writestr("milk.txt", b"Buy milk")
    upload(reviewer, ("all.zip", packed.getvalue()))
    read_all()
    page = words(reviewer.get(f"/imports/{Import.objects.get().id}/"))
    assert re.search(r"\d+ events from logs/shelf\.json", page)
    assert "Format zip archive, detected automatically" in page
    assert "not recognised, left out milk.txt" in page
    session = Session.objects.get()
    assert "in it logs/shelf.json" in words(reviewer.get(reverse("session-facts", args=[session.agent_id, session.id])))


BATCH = "0192f0c1-7aaa-4bbb-8ccc-0123456789ab"


def test_a_row_leads_to_the_sessions_of_its_file_however_many_they_are(reviewer, monkeypatch):
    monkeypatch.setattr("vcon_app.views.imports.LINKED", 0)
    upload(reviewer, ("restock.llmfeed.json", TRANSCRIPT))
    read_all()
    imported = Import.objects.get()
    row = reviewer.get("/imports/").content.decode()
    assert f'href="/sessions/?import={imported.pk}">Show the sessions</a>' in row and "Restock the shelf" not in row
    assert "Restock the shelf" in words(reviewer.get(f"/sessions/?import={imported.pk}"))


def test_files_that_came_at_once_are_added_up_and_lead_to_their_sessions(reviewer):
    upload(reviewer, ("one.json", TRANSCRIPT), batch=BATCH, folder="week/monday")
    upload(reviewer, ("two.json", b"{"), batch=BATCH)
    assert "0 of 2 done" in words(reviewer.get("/imports/"))
    read_all()
    upload(reviewer, ("other.json", TRANSCRIPT.replace(b"Restock", b"Sweep")))
    page = words(reviewer.get(f"/imports/?batch={BATCH}"))
    assert "1 of 2 done 1 failed" in page and "week/monday/" in page and "other.json" not in page
    sessions = reviewer.get(f"/imports/batches/{BATCH}/")
    assert f"/chat/{Session.objects.get().id}" in sessions.content.decode()
    assert "2 files came at once: 1 done, 1 failed" in words(sessions)


def test_imports_are_filtered_by_how_they_stand(reviewer):
    upload(reviewer, ("good.json", TRANSCRIPT), ("bad.json", b"{"))
    read_all()
    failed = words(reviewer.get("/imports/?status=failed"))
    assert "bad.json" in failed and "good.json" not in failed
    assert "No imports match this filter." in words(reviewer.get("/imports/?status=open"))
    assert '"lost" is no status of an import; use one of open, done, failed' in words(
        reviewer.get("/imports/?status=lost")
    )


def test_the_next_rows_keep_the_filter(reviewer, monkeypatch):
    monkeypatch.setattr("vcon_app.views.imports.ROWS", 1)
    upload(reviewer, ("bad.json", b"{"), ("worse.json", b"[{"))
    read_all()
    page = reviewer.get("/imports/?status=failed").content.decode()
    further = re.search(r'href="(\?status=failed&amp;before=[^"]+)"', page)[1]
    assert "bad.json" in words(reviewer.get(f"/imports/{html.unescape(further)}"))


def test_a_batch_of_another_workspace_does_not_exist(reviewer, charlie):
    upload(reviewer, ("one.json", TRANSCRIPT), batch=BATCH)
    assert charlie.get(f"/imports/batches/{BATCH}/").status_code == 404
    assert "No imports match this filter." in words(charlie.get(f"/imports/?batch={BATCH}"))


CRITICAL = b'{"vcon": "0.4.0", "critical": ["zq"], "parties": [], "dialog": [{"body": "<b>not read</b>"}]}'


def test_a_file_that_must_not_be_read_is_shown_raw(reviewer, charlie):
    upload(reviewer, ("sealed.vcon", CRITICAL))
    read_all()
    imported = Import.objects.get()
    raw = f"/imports/{imported.id}/raw"
    assert raw in reviewer.get(f"/imports/{imported.id}/").content.decode()
    page = reviewer.get(raw).content.decode()
    assert "&lt;b&gt;not read&lt;/b&gt;" in page and "<b>not read" not in page
    assert charlie.get(raw).status_code == 404


def test_a_session_says_which_parts_of_its_file_are_encrypted(reviewer):
    body = {"ciphertext": "AAAA", "iv": "AAAA", "tag": "AAAA", "protected": "eyJhbGciOiJub25lIn0"}
    vcon = {
        "vcon": "0.4.0",
        "uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b0031",
        "created_at": "2026-05-04T07:30:00Z",
        "parties": [{"name": "Ada"}],
        "dialog": [
            {"type": "text", "start": "2026-05-04T07:30:00Z", "parties": [0], "body": "The shed?", "encoding": "none"}
        ],
        "analysis": [{"type": "summary", "vendor": "x", "dialog": 0, "encoding": "jwe", "body": body}],
    }
    upload(reviewer, ("sealed.vcon", json.dumps(vcon).encode()))
    read_all()
    session = Session.objects.get()
    page = words(reviewer.get(f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}"))
    assert "Parts of this file are encrypted and cannot be read here : /analysis/0 ." in page


def test_what_an_agent_reports_is_not_said_of_a_file(reviewer, agent):
    said = {"sealed": ["/analysis/0"], "redacted": {"uuid": "x"}, "amended": {"uuid": "x"}}
    session = session_of(agent, "Reported", metadata={"vcon": said})
    page = words(reviewer.get(f"/dashboard/sub-agents/{agent.pk}/chat/{session.pk}"))
    assert "Reported" in page
    assert "encrypted and cannot be read" not in page and "removed before" not in page and "changed version" not in page


def test_bytes_that_are_no_text_are_only_handed_out(reviewer):
    upload(reviewer, ("odd.bin", b"\x00\x01binary"))
    read_all()
    page = words(reviewer.get(f"/imports/{Import.objects.get().id}/raw"))
    assert "It is a binary file." in page and "\x01" not in page
