"""Spans over OTLP/HTTP: who may send them, in which encodings, and what is answered to what is none."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from sessions_app.models import Role, Session
from tests.services.spans.build import agent, chat, request, tool
from vcon_app.api import spans as api_spans
from vcon_app.models import SpanPiece, SpanStream, Trace
from vcon_app.services.spans import receiving, telling

from ..client import ok, refused

PATHS = ["/api/v1/otlp/v1/traces", "/v1/traces"]
PATH = PATHS[0]
PROTOBUF = "application/x-protobuf"
SPANS = [
    chat(2, 1, [("user", "Which buoy is out?")], "The green one."),
    tool(3, 1, "lantern"),
    agent(1, gen_ai__conversation__id="buoys"),
]
BODY = request(*SPANS)


def tell_all():
    for stream in SpanStream.objects.all():
        telling.tell(stream.pk)


@pytest.mark.parametrize("path", PATHS)
def test_protobuf_is_answered_in_protobuf_once_it_is_kept(api, path):
    answer = api.send("POST", path, BODY, PROTOBUF)
    assert (answer.status_code, answer.headers["Content-Type"], answer.content) == (200, PROTOBUF, b"")
    assert SpanPiece.objects.get().spans == 3


def test_a_packed_body_and_json_tell_the_same(api, workspace):
    value = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "chat",
             "startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000001000000000",
             "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "7"}}]}  # fmt: skip
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]})
    assert ok(api.send("POST", PATH, gzip.compress(body.encode()), **{"Content-Encoding": "gzip"})) == {}
    tell_all()
    session = Session.objects.get()
    assert (session.external_id, session.input_tokens) == ("5b8efff798038103d269b633813fc60c", 7)
    shown = ok(api.get(f"sessions/{session.pk}"))
    assert (shown["origin"], shown["status"]) == ("otlp", "idle")


@pytest.mark.parametrize(
    ("body", "kind", "packing", "status", "word"),
    [
        (b"\xff\xff", PROTOBUF, "", 400, "ExportTraceServiceRequest"),
        (b"[]", "application/json", "", 400, "resourceSpans"),
        (b'{"resourceSpans": {}}', "application/json", "", 400, "resourceSpans"),
        (b"{", "application/json", "", 400, "not JSON"),
        (b"{}", "text/plain", "", 415, PROTOBUF),
        (b"{}", "application/json", "br", 415, "gzip"),
        (b"{}", "application/json", "gzip", 400, "gzip"),
        (gzip.compress(BODY, mtime=0)[:-9], PROTOBUF, "gzip", 400, "too early"),
    ],
)
def test_what_is_no_request_is_refused_in_words(api, body, kind, packing, status, word):
    headers = {"Content-Encoding": packing} if packing else {}
    assert word in refused(api.send("POST", PATH, body, kind, **headers), status)["detail"]
    assert not SpanPiece.objects.exists()


def test_a_bomb_is_not_unpacked(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100_000
    bomb = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    packed = bomb.compress(bytes(20 * api_spans.MOST_UNPACKED * 1000)) + bomb.compress(bytes(10_000_000)) + bomb.flush()
    assert "larger" in refused(api.send("POST", PATH, packed, PROTOBUF, **{"Content-Encoding": "gzip"}), 413)["detail"]


def test_a_request_without_spans_is_no_error(api):
    assert ok(api.send("POST", PATH, b"{}")) == {}
    assert not SpanPiece.objects.exists()


def test_who_may_not_write_is_refused(api, viewer):
    refused(viewer.send("POST", PATH, BODY, PROTOBUF), 403)
    viewer.key = None
    refused(viewer.send("POST", PATH, BODY, PROTOBUF), 401)
    assert not SpanPiece.objects.exists()


def test_an_agent_key_sends_into_sessions_of_its_own(api, workspace, key_for):
    own = key_for(workspace, Role.AGENT, "exporter")
    api.send("POST", PATH, BODY, PROTOBUF)
    own.send("POST", PATH, BODY, PROTOBUF)
    tell_all()
    assert Session.objects.count() == 2
    assert len(own.all("sessions")) == 1


def test_spans_of_another_workspace_are_another_session(api, stranger):
    api.send("POST", PATH, BODY, PROTOBUF)
    stranger.send("POST", PATH, BODY, PROTOBUF)
    tell_all()
    assert len(api.all("sessions")) == len(stranger.all("sessions")) == 1
    assert Session.objects.values("workspace").distinct().count() == 2


def test_too_many_that_wait_are_sent_again_later(api, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_WAITING", 4)
    api.send("POST", PATH, BODY, PROTOBUF)
    answer = api.send("POST", PATH, BODY, PROTOBUF)
    assert "wait" in refused(answer, 429)["detail"]
    assert answer.headers["Retry-After"] == str(api_spans.RETRY_SECONDS)


def test_an_erased_session_takes_its_spans_with_it(api, admin):
    api.send("POST", PATH, BODY, PROTOBUF)
    tell_all()
    assert admin.client.delete(f"/api/v1/sessions/{Session.objects.get().pk}", headers=admin.headers).status_code == 204
    assert not SpanPiece.objects.exists()
    assert not SpanStream.objects.exists()
    assert not Trace.objects.exists()


def test_nul_in_names_and_texts_is_no_fault(api):
    named = {"traceId": "t\0race", "spanId": "a\0b", "name": "execute_tool x\0", "attributes": [
        {"key": "gen_ai.tool.name", "value": {"stringValue": "la\0mp"}},
        {"key": "gen_ai.conversation.id", "value": {"stringValue": "bu\0oys"}},
    ]}  # fmt: skip
    ok(api.send("POST", PATH, json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [named]}]}]})))
    tell_all()
    assert Session.objects.get().external_id == "bu\ufffdoys"
