"""Sessions out over the API: a file that no browser runs, and what it could not carry."""

from __future__ import annotations

import asyncio
import errno
import io
from pathlib import Path

import pytest
from django.conf import settings
from django.test import AsyncClient
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.services import audit
from sessions_app.services.log import events, links
from tests.services.build import call, result, user
from vcon_app.formats import bundle
from vcon_app.formats.common.zips import Archive
from vcon_app.models import Export
from vcon_app.services.documents.storage import INCOMING, Folder
from vcon_app.services.erasure import erasing, file_removal
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.services.imports import import_jobs
from vcon_app.services.trust import own_keys

from .client import ok, pointers, refused
from .sessions.live import elsewhere
from .test_imports import file

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def imported(api):
    taken = ok(api.upload(file(name='no"tes é.jsonl')), 202)
    import_jobs.run(taken["id"])
    return ok(api.get(f"imports/{taken['id']}"))["sessions"][0]


def fetch(api, session, format, **headers):
    """The answer; ``body`` reads its file."""
    return asyncio.run(_fetch(api, session, format, headers))


async def _fetch(api, session, format, headers=None):
    address, headers = f"/api/v1/sessions/{session}/export", {**api.headers, **(headers or {})}
    answer = await AsyncClient().get(address, {"format": format}, headers=headers)
    if answer.streaming:
        answer.file = b"".join([piece async for piece in answer])
    return answer


def body(answer):
    return answer.file


def test_the_original_is_equal_byte_for_byte(api, imported):
    answer = fetch(api, imported, "original")
    assert answer.status_code == 200
    assert body(answer) == file().getvalue()
    assert answer.headers["Countersign-Loss"] == "none"
    assert answer.headers["Content-Length"] == str(len(file().getvalue()))
    assert answer.headers["Content-Disposition"] == "attachment; filename*=utf-8''no%22tes%20%C3%A9.jsonl"


def test_downloads_are_attachments_that_no_browser_renders(api, imported):
    for format in ("original", "html"):
        answer = fetch(api, imported, format)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Content-Disposition"].startswith("attachment")


def test_every_format_is_written_and_reported(api, imported):
    for format in export_options.formats_of(Session.objects.get(pk=imported)):
        answer = fetch(api, imported, format)
        assert answer.status_code == 200, format
        assert answer.headers["Content-Type"].startswith(export_options.media_types(format)[0])
        assert len(body(answer)) == int(answer.headers["Content-Length"])
        report = ok(api.get(f"sessions/{imported}/export/report", {"format": format}))
        assert report["loss"] == answer.headers["Countersign-Loss"]
        assert sum(row["count"] for row in report["items"]) == (0 if report["loss"] == "none" else int(report["loss"]))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("application/llmfeed+json", "application/llmfeed+json"),
        ("application/llmfeed+json;q=0.5, application/session+llmfeed", "application/session+llmfeed"),
        ("text/html, */*;q=0.8", "application/session+llmfeed"),
        ("image/png", "application/session+llmfeed"),
    ],
)
def test_a_feed_is_served_as_the_type_that_is_asked_for(api, imported, asked, told):
    answer = fetch(api, imported, "llmfeed", Accept=asked)
    assert (answer.headers["Content-Type"], answer.headers["Vary"]) == (told, "Accept")
    assert answer.headers["Content-Disposition"].endswith('.session.llmfeed.json"')


def test_a_format_that_is_none_is_refused_with_those_there_are(api, imported):
    for path in ("export", "export/report"):
        problem = refused(api.get(f"sessions/{imported}/{path}", {"format": "stone"}), 422)
        assert pointers(problem) == {"/format"}
        assert "original" in problem["detail"]
        assert pointers(refused(api.get(f"sessions/{imported}/{path}"), 422)) == {"/format"}


def test_session_that_was_not_imported_has_no_original(api, session):
    refused(fetch(api, session.id, "original"), 422)


def test_a_stranger_is_told_nothing(stranger, session):
    refused(fetch(stranger, session.id, "html"), 404)
    refused(stranger.get(f"sessions/{session.id}/export/report", {"format": "html"}), 404)


def test_a_viewer_may_take_a_session_away(viewer, imported):
    assert fetch(viewer, imported, "original").status_code == 200


def test_a_large_session_is_waited_for_until_a_worker_has_written_it(api, session, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 1)
    events.append(session.id, [user(), call("c"), result("c")], origin=links.RUNTIME)

    async def run():
        waiting = asyncio.create_task(_fetch(api, session.id, "html"))
        while not await elsewhere(Export.objects.exists):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        assert not waiting.done()
        export = await elsewhere(Export.objects.get)
        await elsewhere(export_jobs.run, export.id)
        return await asyncio.wait_for(waiting, 10)

    answer = asyncio.run(run())
    assert answer.status_code == 200
    assert len(body(answer)) == int(answer.headers["Content-Length"]) > 0


def test_an_export_that_failed_says_so(api, session, monkeypatch):
    monkeypatch.setattr(export_jobs.storage, "of_exports", lambda: Folder(Path("/dev/null/no-folder")))
    events.append(session.id, [user()], origin=links.RUNTIME)
    assert "could not be written" in refused(fetch(api, session.id, "html"), 500)["detail"]


def test_an_export_that_finds_the_disk_full_is_507_and_is_written_when_there_is_room(api, session, monkeypatch):
    class FullFolder(Folder):
        def take(self, path: Path, name: str) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    events.append(session.id, [user()], origin=links.RUNTIME)
    with monkeypatch.context() as full:
        full.setattr(export_jobs.storage, "of_exports", lambda: FullFolder(Path(settings.DATA_DIR) / "exports"))
        assert "The disk of the server is full" in refused(fetch(api, session.id, "html"), 507)["detail"]
    waiting = Export.objects.get()
    assert (waiting.status, waiting.error) == (Export.Status.QUEUED, None)
    assert not any(path.name.startswith(INCOMING) for path in (Path(settings.DATA_DIR) / "exports").iterdir())
    export_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert waiting.status == Export.Status.DONE
    assert fetch(api, session.id, "html").status_code == 200


@pytest.mark.parametrize("step", ["_write", "_keep"])
def test_a_session_that_is_erased_while_it_is_exported_is_404(api, imported, monkeypatch, step):
    """The row of the export goes with the session: that it was not there any more was a fault of ours."""
    does = getattr(export_jobs, step)

    def erased_first(*args):
        erasing.erase_session(Session.objects.get(pk=imported), by=audit.COMMAND)
        file_removal.sweep()
        return does(*args)

    monkeypatch.setattr(export_jobs, step, erased_first)
    answer = fetch(api, imported, "jsonl")
    assert "no such session" in refused(answer, 404)["detail"]


def test_a_bundle_is_a_zip_that_verifies(api, imported):
    answer = fetch(api, imported, "bundle")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip")
    assert answer.headers["Content-Disposition"].endswith('.bundle.zip"')
    vcon = fetch(api, imported, "vcon")
    assert answer.headers["Countersign-Loss"] == vcon.headers["Countersign-Loss"]
    archive = Archive(io.BytesIO(body(answer)))
    report = bundle.verify(archive, [own_keys.own_anchor()], timezone.now())
    assert (report.signature.state, report.findings) == ("valid", [])
    assert b"".join(archive.chunks(bundle.session_in(archive))) == file().getvalue()


def test_an_export_says_whether_it_may_be_handed_on_and_checks_when_asked(api, imported):
    grants = [{"purpose": "agent_session_redistribution", "granted": False}]
    basis = {"lawful_basis": "contract", "expiration": None, "purpose_grants": grants}
    Session.objects.filter(pk=imported).update(metadata={"lawful_basis": [basis]})

    assert fetch(api, imported, "jsonl").headers["Countersign-Redistribution"] == "denied"
    told = ok(api.get(f"sessions/{imported}/export/report?format=jsonl"))
    assert told["redistribution"] == "denied"
    assert told["legal_basis"][0]["purposes"] == {"agent_session_redistribution": "denied"}
    refused(api.get(f"sessions/{imported}/export?format=jsonl&redistribution=check"), 409)
    maybe = refused(api.get(f"sessions/{imported}/export?format=jsonl&redistribution=maybe"), 422)
    assert pointers(maybe) == {"/redistribution"}
