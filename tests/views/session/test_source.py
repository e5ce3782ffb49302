"""The very bytes an event was read from, and what was found odd there."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import AsyncIterator, Iterable

import pytest
from asgiref.sync import async_to_sync

from sessions_app.models import Event, Session
from sessions_app.services.log import events, links
from vcon_app.models import Import, ImportedSession
from vcon_app.services.documents import documents, event_bytes

from ...services.stored import stored
from .build import Page, asked, other, path_of, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}
LINES = [{"type": "user", "text": "Hello"}, {"type": "odd", "text": "<script>alert(1)</script>"}]
FILE = b"\n".join(json.dumps(line).encode() for line in LINES) + b"\n"


def imported(agent, data: bytes, new: Iterable, findings: Iterable = ()) -> Session:
    """A session as if it was read from a file of these bytes."""
    document = documents.store(agent.workspace, [data])
    session = session_with(agent, [])
    events.append(session.pk, list(new), document=document.sha256, origin=links.RUNTIME)
    made = Import.objects.create(
        workspace=agent.workspace, document=document, filename="a <b>.jsonl", status="done", format="claude-code",
        findings=list(findings), signature={"state": "unsigned"},
    )  # fmt: skip
    ImportedSession.objects.create(imported=made, session=session, document=document, events=session.event_count)
    session.refresh_from_db()
    return session


@pytest.fixture
def imported_session(agent) -> Session:
    first = len(json.dumps(LINES[0]))
    findings = [
        {"rule": "unknown-type", "severity": "warning", "path": "L2", "message": "Nobody knows <odd>"},
        {"rule": "other", "severity": "info", "path": "L22", "message": "Elsewhere"},
        {"rule": "inside", "severity": "info", "path": "L2/text", "message": "A script"},
    ]
    return imported(agent, FILE, [
        asked("p", "Hello", pointer="L1/text", offset=0, length=first),
        other("u", "unknown", data={"type": "odd"}, pointer="L2", offset=first + 1, length=len(FILE) - first - 2),
        said("m", "Sent, not read"),
    ], findings)  # fmt: skip


def source(session, seq: int) -> str:
    return f"/sessions/{session.pk}/events/{seq}/source"


def test_the_record_is_the_bytes_of_its_line(viewer, imported_session):
    response = viewer.get(source(imported_session, 2), **FETCHED)
    assert "as it stands in the file" in Page(response.content).text
    assert '"text": "<script>alert(1)</script>"' in Page(response.content).text
    assert not Page(response.content).all("script")


async def everything(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


def test_a_download_is_exactly_those_bytes_and_never_rendered(viewer, imported_session):
    response = viewer.get(f"{source(imported_session, 2)}?download=1")
    assert async_to_sync(everything)(response.streaming_content) == FILE.split(b"\n")[1]
    assert response.headers["Content-Disposition"] == 'attachment; filename="event-2.json"'
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"].startswith("sandbox")
    assert response.headers["Content-Type"] == "application/octet-stream"


def test_the_inspector_names_the_file_the_place_and_what_is_odd_there(viewer, imported_session):
    text = Page(viewer.get(f"{path_of(imported_session)}/events/2?tab=source", **FETCHED).content).text
    for words in ("a <b>.jsonl", "L2", "Nobody knows <odd>", "A script"):
        assert words in text
    assert "Elsewhere" not in text
    assert (
        "No problems found"
        in Page(viewer.get(f"{path_of(imported_session)}/events/1?tab=source", **FETCHED).content).text
    )


def test_an_event_from_no_file_says_so(viewer, agent):
    session = session_with(agent, [said("m", "Live")])
    assert "from no file" in Page(viewer.get(f"{path_of(session)}/events/1?tab=raw", **FETCHED).content).text
    assert viewer.get(source(session, 1)).status_code == 404


def test_a_stranger_finds_no_source(charlie, imported_session):
    assert charlie.get(source(imported_session, 2)).status_code == 404


def test_a_remark_leads_to_the_event_it_is_about(viewer, imported_session):
    page = Page(viewer.get(f"{path_of(imported_session)}/facts", **FETCHED).content)
    assert [link["href"] for link in page.all("a") if "?at=" in (link["href"] or "")][
        0
    ] == f"{path_of(imported_session)}?at=L2"
    assert viewer.get(f"{path_of(imported_session)}?at=L2").url == f"{path_of(imported_session)}?event=2&tab=source#e-2"
    assert viewer.get(f"{path_of(imported_session)}?at=L2/message/deep").url.endswith("#e-2")


def test_the_head_counts_remarks_and_tells_the_signature(viewer, imported_session):
    text = Page(viewer.get(path_of(imported_session)).content).text
    assert "3 import warnings" in text and "Unsigned" in text and "read from a <b>.jsonl" in text


def test_a_pointer_leads_into_documents_and_through_strings_that_hold_json(agent):
    inner = {"entries": [{"text": "first"}, {"a/b": {"~": "found"}}]}
    payload = base64.urlsafe_b64encode(json.dumps({"body": json.dumps(inner)}).encode()).decode().rstrip("=")
    assert event_bytes.at_pointer({"x": [1, {"y": 2}]}, "/x/1/y") == 2
    assert event_bytes.at_pointer({"payload": payload}, "/payload/body/entries/1/a~1b/~0") == "found"


@pytest.mark.parametrize("pointer", ["/nowhere", "/x/9", "/x/-1", "/x/one", "/text/deep", "/number/0"])
def test_a_pointer_to_nothing_says_so(agent, pointer):
    data = b'{"x": [1], "text": "plain words", "number": 7}'
    session = imported(agent, data, [said("m", "?", pointer=pointer)])
    event = Event.objects.get(session=session, seq=1)
    with pytest.raises(event_bytes.NotShown, match="cannot be found again"):
        event_bytes.read(event, session.import_links.get().document)


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data.decode().encode("utf-16")], ids=["gzip", "utf-16"])
def test_a_line_of_a_file_that_is_packed_or_in_utf16_is_found_by_its_number(agent, pack):
    session = imported(agent, pack(b'{"a": 1}\n{"text": "two"}\n'), [said("m", "?", pointer="L2/text")])
    event, document = Event.objects.get(session=session, seq=1), session.import_links.get().document
    assert event_bytes.read(event, document).data == b'{"text": "two"}'
    event.pointer = "L9"
    with pytest.raises(event_bytes.NotShown, match="Line 9 cannot be found again"):
        event_bytes.read(event, document)


def test_a_packed_file_that_is_cut_off_is_told_and_no_fault(viewer, agent):
    session = imported(agent, gzip.compress(FILE)[:-9], [said("m", "?", pointer="L2")])
    assert "its compressed data ends in the middle" in Page(viewer.get(source(session, 1), **FETCHED).content).text


def test_a_document_that_is_gone_is_told_and_no_fault(viewer, imported_session):
    stored(imported_session.import_links.get().document).unlink()
    assert "not in the storage any more" in Page(viewer.get(source(imported_session, 2), **FETCHED).content).text


def test_a_large_record_is_cut_and_says_so(viewer, agent):
    data = b'{"text": "' + b"x" * 400_000 + b'"}'
    session = imported(agent, data, [said("m", "?", pointer="L1", offset=0, length=len(data))])
    text = Page(viewer.get(source(session, 1), **FETCHED).content).text
    assert "The first 262 kB of 400 kB" in text
