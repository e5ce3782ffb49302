"""Spans over OTLP/HTTP: who may send them, in which encodings, and what is answered to what is none."""

from __future__ import annotations

import gzip
import json
import zlib
from datetime import timedelta

import psycopg
import pytest
from django.db import OperationalError
from django.utils import timezone

from sessions_app.models import Event, QueuedTask, Role, Session
from sessions_app.services.upkeep import disk
from tests.services.spans.build import agent, chat, request, tool
from vcon_app.api import spans as api_spans
from vcon_app.formats.otel_genai import wire
from vcon_app.models import SpanPiece, SpanStream, Trace
from vcon_app.services import task_names
from vcon_app.services.spans import receiving, telling

from ..client import PROBLEM, ok, refused
from .status import told

PATHS = ["/api/v1/otlp/v1/traces", "/v1/traces"]
PATH = PATHS[0]
PROTOBUF, JSON = "application/x-protobuf", "application/json"
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
        (b"[]", JSON, "", 400, "resourceSpans"),
        (b'{"resourceSpans": {}}', JSON, "", 400, "resourceSpans"),
        (b"{", JSON, "", 400, "not JSON"),
        (
            b'{"resourceSpans": [], "resourceSpans": [{}]}',
            JSON,
            "",
            400,
            '"resourceSpans" stands in an object more than',
        ),
        (b'{"resourceSpans": [{"scopeSpans" :[], "x": ":", "scopeSpans": []}]}', JSON, "", 400, "more than once"),
        (b'{"resourceSpans": [{"": 1, "": 2}]}', JSON, "", 400, '"" stands in an object'),
        (b"{}", "text/plain", "", 415, PROTOBUF),
        (b"{}", JSON, "br", 415, "gzip"),
        (BODY, PROTOBUF, "br", 415, "gzip"),
        (b"{}", JSON, "gzip", 400, "gzip"),
        (gzip.compress(BODY, mtime=0)[:-9], PROTOBUF, "gzip", 400, "too early"),
        (gzip.compress(BODY, mtime=0) + b"more", PROTOBUF, "gzip", 400, "gzip"),
        (gzip.compress(b"", mtime=0) * 99, PROTOBUF, "gzip", 400, "members"),
    ],
)
def test_what_is_no_request_is_refused_in_words(api, body, kind, packing, status, word):
    headers = {"Content-Encoding": packing} if packing else {}
    answer = api.send("POST", PATH, body, kind, **headers)
    if kind in (PROTOBUF, JSON):
        message, wrong = told(answer, status, kind)
        assert word in message and wrong == ([("", message)] if status == 400 else [])
    else:
        assert word in refused(answer, status)["detail"]
    assert not SpanPiece.objects.exists()


def test_a_bomb_is_not_unpacked(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100_000
    bomb = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    packed = bomb.compress(bytes(20 * api_spans.MOST_UNPACKED * 1000)) + bomb.compress(bytes(10_000_000)) + bomb.flush()
    answer = api.send("POST", PATH, packed, PROTOBUF, **{"Content-Encoding": "gzip"})
    assert "larger" in told(answer, 413, PROTOBUF)[0]


def test_a_body_may_be_packed_in_several_members(api):
    packed = gzip.compress(BODY[:20]) + gzip.compress(BODY[20:]) + bytes(3)
    assert api.send("POST", PATH, packed, PROTOBUF, **{"Content-Encoding": "gzip"}).status_code == 200
    assert SpanPiece.objects.get().spans == 3


def test_half_of_a_pair_at_the_end_of_a_cut_text_costs_none_of_the_spans(api):
    """SDKs in JavaScript cut attributes to a length, in the middle of an emoji too, and write the half as an escape."""
    said = [{"role": "user", "parts": [{"type": "text", "content": "Which buoy is out? @"}]}]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said), "count": 0}
    spans = [{"traceId": "5b" * 16, "spanId": "ee" * 8, "name": "chat", "attributes": attributes}]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    body = body.replace("@", "\\ud83d").replace('"count": 0', f'"count": {2**70}')
    assert ok(api.send("POST", PATH, body.encode())) == {}
    tell_all()
    assert Event.objects.get(kind="user_message").text == "Which buoy is out? \ufffd"


def test_a_request_of_many_traces_is_taken_apart_once(api, monkeypatch):
    """A collector batches; as many sessions as spans, looked through for each of them, took minutes."""
    placed = []
    monkeypatch.setattr(wire, "trace_of", lambda span, _real=wire.trace_of: placed.append(span) or _real(span))
    many = request(*(agent(1, trace=number) for number in range(1, 40)), *(tool(2, 1, "lantern", trace=7),))
    assert api.send("POST", PATH, many, PROTOBUF).status_code == 200
    assert len(placed) == 40 and SpanPiece.objects.count() == 39
    tell_all()
    assert Session.objects.count() == 39
    assert Event.objects.filter(session__external_id=f"{7:032x}", kind="tool_call").count() == 1


def test_streams_that_no_worker_was_told_of_are_found_by_the_sweep(api, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_WOKEN", 2)
    monkeypatch.setattr(receiving, "MOST_SWEPT", 3)
    api.send("POST", PATH, request(*(agent(1, trace=number) for number in range(1, 8))), PROTOBUF)
    assert QueuedTask.objects.filter(task=task_names.TELL_SPANS).count() == 2
    SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD - timedelta(seconds=1))
    assert receiving.sweep() == 3


def test_a_field_and_a_parameter_that_are_unknown_are_named(api):
    message, wrong = told(api.send("POST", f"{PATH}?workspace=b", b'{"spans": []}'), 422, JSON)
    assert '"workspace"' in message and [field for field, _ in wrong] == ["/workspace"]
    message, wrong = told(api.send("POST", PATH, b'{"spans": []}'), 422, JSON)
    assert '"spans"' in message and wrong == [("/spans", message)]


def test_spans_wait_at_their_exporter_while_the_disk_is_full(api, monkeypatch):
    def full(*_):
        raise OperationalError("no room") from psycopg.errors.DiskFull("no room")

    monkeypatch.setattr(receiving, "receive", full)
    answer = api.send("POST", PATH, BODY, PROTOBUF)
    assert told(answer, 503, PROTOBUF) == (disk.REFUSED, []) and answer.headers["Retry-After"]


def test_a_fault_of_ours_is_told_without_a_word_of_it(api, monkeypatch):
    monkeypatch.setattr(receiving, "receive", lambda *_: 1 / 0)
    for kind, body in ((PROTOBUF, BODY), (JSON, b"{}")):
        assert "fault of ours" in told(api.send("POST", PATH, body, kind), 500, kind)[0]


def test_other_methods_and_what_is_sent_as_something_else_are_problems(api):
    assert api.get(PATH).headers["Content-Type"] == PROBLEM
    refused(api.send("POST", PATH, BODY, "text/plain"), 415)


def test_a_request_without_spans_is_no_error(api):
    assert ok(api.send("POST", PATH, b"{}")) == {}
    assert not SpanPiece.objects.exists()


@pytest.mark.parametrize(("kind", "body"), [(PROTOBUF, BODY), (JSON, b"{}"), (f"{JSON}; charset=utf-8", b"{}")])
@pytest.mark.parametrize("path", PATHS)
def test_who_may_not_write_is_refused(api, viewer, path, kind, body):
    encoding = kind.partition(";")[0]
    assert "viewer" in told(viewer.send("POST", path, body, kind), 403, encoding)[0]
    viewer.key = None
    answer = viewer.send("POST", path, body, kind)
    assert "API key" in told(answer, 401, encoding)[0] and "Bearer" in answer.headers["WWW-Authenticate"]
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
    assert "wait" in told(answer, 429, PROTOBUF)[0]
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
