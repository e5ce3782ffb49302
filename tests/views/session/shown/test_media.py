"""Images, sound and files of an event on its page: from the bytes of its record, for those who may read it."""

from __future__ import annotations

import base64
import copy
import json

import pytest

from sessions_app.models import Event, Session
from sessions_app.services import audit
from tests.formats.vcon.clean import CLEAN
from tests.rendering.test_media import PNG, SVG, WAVE, text
from vcon_app.services.erasure import erasing

from .. import build
from ..build import Page, path_of, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}


def claude_code() -> bytes:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": text(PNG)}}
    common = {"sessionId": "11111111-2222-4333-8444-555555555555", "cwd": "/work", "version": "2.0.0"}
    lines = [
        {"type": "user", "uuid": "u1", "timestamp": "2026-03-02T09:00:00Z", "message":
            {"role": "user", "content": [{"type": "text", "text": "What is on it?"}, image]}},
        {"type": "assistant", "uuid": "u2", "timestamp": "2026-03-02T09:00:01Z", "message": {
            "id": "m1", "role": "assistant", "model": "claude-opus-4-5",
            "content": [{"type": "tool_use", "id": "t1", "name": "Screenshot", "input": {"window": 1}}],
            "usage": {"input_tokens": 5, "output_tokens": 5}}},
        {"type": "user", "uuid": "u3", "timestamp": "2026-03-02T09:00:02Z", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Taken"}, image]}]}},
    ]  # fmt: skip
    return b"".join(json.dumps(common | line).encode() + b"\n" for line in lines)


FILES = (("plan.png", "image/png", PNG), ("call.wav", "audio/wav", WAVE), ("x.svg", "image/svg+xml", SVG))


def vcon() -> bytes:
    file = copy.deepcopy(CLEAN)
    look = {"type": "image", "mimeType": "image/png", "data": text(PNG)}
    entry = file["analysis"][0]["body"]["session"]["entries"][-1]
    entry["content"] = [{"type": "text", "text": "Done: two litres."}, look]
    for name, mediatype, data in FILES:
        file["attachments"].append({
            "purpose": "agent_artifact", "start": "2026-04-01T08:00:00Z", "party": 1, "dialog": 1, "filename": name,
            "mediatype": mediatype, "encoding": "base64url",
            "body": base64.urlsafe_b64encode(data).decode().rstrip("="),
        })  # fmt: skip
    return json.dumps(file).encode()


@pytest.fixture
def pictured(import_document) -> Session:
    return Session.objects.get(import_links__imported=import_document(claude_code(), "pictured.jsonl"))


def test_a_message_with_an_image_asks_for_it_and_shows_it(viewer, pictured):
    base = path_of(pictured)
    page = Page(viewer.get(f"{base}?show=everything").content)
    asked = [found["hx-get"] for found in page.all("p") if found.get("class") == "media-link small"]
    assert asked == [f"{base}/events/1/media", f"{base}/events/3/media"], "the second inside of its call"
    listed = Page(viewer.get(asked[0], **FETCHED).content)
    assert [(one["src"], one["width"]) for one in listed.all("img")] == [(f"{base}/events/1/media/1", "3")]
    shown = viewer.get(f"{base}/events/1/media/1")
    assert (shown.content, shown.headers["Content-Type"]) == (PNG, "image/png")
    assert shown.headers["Content-Disposition"] == 'inline; filename="event-1-1.png"'
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.headers["Content-Security-Policy"].startswith("sandbox")
    assert "no-cache" in shown.headers["Cache-Control"]
    taken = viewer.get(f"{base}/events/1/media/1?download=1")
    assert taken.headers["Content-Disposition"].startswith("attachment")
    assert taken.headers["Content-Type"] == "application/octet-stream"


def test_a_result_with_an_image_shows_it_in_its_call_and_in_the_inspector(viewer, pictured):
    base = path_of(pictured)
    result = Event.objects.get(session=pictured, kind="tool_result")
    call = Event.objects.get(session=pictured, kind="tool_call")
    wanted = f"{base}/events/{result.seq}/media"
    assert wanted in viewer.get(f"{base}/events/{call.seq}/body", **FETCHED).content.decode()
    assert wanted in viewer.get(f"{base}/events/{call.seq}?tab=result", **FETCHED).content.decode()
    assert viewer.get(f"{wanted}/1").content == PNG


def test_an_attachment_of_a_vcon_is_seen_heard_or_taken_away(viewer, import_document):
    session = Session.objects.get(import_links__imported=import_document(vcon()))
    said = Event.objects.get(session=session, kind="agent_message", text="Done: two litres.")
    page = viewer.get(f"{path_of(session)}?show=everything").content.decode()

    assert f"/events/{said.seq}/media" in page
    assert viewer.get(f"{path_of(session)}/events/{said.seq}/media/1").content == PNG
    kinds = {}
    for event in Event.objects.filter(session=session, kind="artifact").order_by("seq"):
        listed = Page(viewer.get(f"{path_of(session)}/events/{event.seq}/media", **FETCHED).content)
        kinds[event.data.get("name")] = [name for name, _ in listed.tags if name in ("img", "audio")]
        if event.data.get("name") == "x.svg":
            handed = viewer.get(f"{path_of(session)}/events/{event.seq}/media/1")
            assert handed.headers["Content-Disposition"].startswith("attachment")
            assert (handed.content, handed.headers["Content-Type"]) == (SVG, "application/octet-stream")
    assert kinds == {None: [], "plan.png": ["img"], "call.wav": ["audio"], "x.svg": []}


def test_an_address_is_never_fetched_by_the_page(viewer, agent):
    far = {"type": "image_url", "image_url": {"url": "https://example.org/spy.png"}}
    session = session_with(agent, [build.said("m", "Look", data={"attachments": [far]})])
    listed = Page(viewer.get(f"{path_of(session)}/events/1/media", **FETCHED).content)
    assert "https://example.org/spy.png" in listed.text
    assert not listed.all("img")


def test_nobody_else_sees_it_and_nobody_after_it_was_deleted(client, viewer, charlie, pictured):
    address = f"{path_of(pictured)}/events/1/media/1"
    assert charlie.get(address).status_code == 404
    assert client.get(address).status_code == 302
    for wrong in ("events/1/media/2", "events/1/media/0", "events/99/media/1", "events/2/media/1"):
        assert viewer.get(f"{path_of(pictured)}/{wrong}").status_code == 404
    erasing.erase_session(pictured, by=audit.COMMAND)
    assert viewer.get(address).status_code == 404
