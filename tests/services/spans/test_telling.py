"""Spans become events of a session: in order, once each, whatever requests they come in, and while a trace is open."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from sessions_app.models import Event, Session
from sessions_app.queries.log.story import Story
from sessions_app.queries.log.timeline import Timeline
from sessions_app.services import audit
from vcon_app.formats import otel_genai
from vcon_app.formats.otel_genai import wire
from vcon_app.models import SpanPiece, SpanStream, Trace
from vcon_app.services.imports import import_jobs
from vcon_app.services.spans import receiving, telling

from .build import agent, chat, failed, request, span, tool

CONVERSATION = {"gen_ai__conversation__id": "tide-7"}
KEY = audit.Actor("api_key", "0199aaaa-0000-7000-8000-000000000001", "exporter")
FIRST = ("user", "When is the tide?")
SECOND = ("assistant", "At noon, I think. Let me look.")


@pytest.fixture
def send(workspace):
    def send(*spans: Any, by: audit.Actor = KEY, narrowed: bool = False, at: Any = workspace) -> int:
        return receiving.receive(receiving.Sender(at, by, narrowed), wire.from_protobuf(request(*spans)))

    return send


def forget() -> None:
    """As a worker that has just started."""
    telling.REMEMBERED = telling.Remembered()


def tell_all() -> None:
    for stream in SpanStream.objects.order_by("pk"):
        telling.tell(stream.pk)


def told(**which: Any) -> list[tuple[str, str]]:
    session = Session.objects.get(**which)
    return list(Event.objects.filter(session=session).order_by("seq").values_list("kind", "text"))


def turn(more: dict[str, Any] | None = None) -> list[Any]:
    """A turn of an agent: two requests, a tool between them."""
    more = CONVERSATION if more is None else more
    return [
        chat(2, 1, [FIRST], SECOND[1], **more),
        tool(3, 1, "almanac", "12:04", **more),
        chat(4, 1, [FIRST, SECOND], "At 12:04.", **more),
        agent(1, **more),
    ]


EVENTS = [
    ("status", "span 1"),
    ("user_message", "When is the tide?"),
    ("agent_message", "At noon, I think. Let me look."),
    ("tool_call", ""),
    ("tool_result", "12:04"),
    ("agent_message", "At 12:04."),
]


def test_a_whole_trace_is_a_session(send):
    assert send(*turn()) == 4
    tell_all()
    assert told() == EVENTS
    session = Session.objects.get()
    assert (session.origin, session.external_id, session.agent.name) == ("otlp", "tide-7", "harbour pilot")
    assert (session.status, session.phase, session.turn_count) == ("idle", "completed", 1)
    assert (session.input_tokens, session.output_tokens) == (200, 20)


@pytest.mark.parametrize("remembers", [True, False])
def test_one_span_a_request_gives_the_same_events(send, remembers):
    for each in turn():
        send(each)
        SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD)
        tell_all()
        if not remembers:
            forget()
    assert sorted(told()) == sorted(EVENTS)
    session = Session.objects.get()
    assert (session.input_tokens, session.tool_call_count, session.status) == (200, 1, "idle")


def test_a_span_waits_for_what_it_runs_in_but_not_for_long(send):
    send(*turn()[:3])
    tell_all()
    assert not Session.objects.exists()
    SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD)
    tell_all()
    session = Session.objects.get()
    assert (session.event_count, session.status, session.phase) == (5, "running", "active")
    send(turn()[3])
    tell_all()
    session.refresh_from_db()
    assert (session.event_count, session.status, session.phase) == (6, "idle", "completed")


def test_the_root_that_comes_last_is_told_as_late_and_is_no_row_of_the_story(send):
    send(*turn()[:3])
    SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD)
    tell_all()
    forget()
    send(turn()[3], span(90, 1, gen_ai__operation__name="chain"))
    tell_all()
    root, inner = Event.objects.filter(kind="status").order_by("seq")
    assert (root.text, root.data["late"], root.seq) == ("span 1", True, 6) and "late" not in inner.data
    session = Session.objects.get()
    story = [entry.seq for entry in Story(session, lambda row, origins: False).after(0).entries]
    assert root.seq not in story and inner.seq in story
    assert root.seq in [entry.seq for entry in Timeline(session.pk).after(0).entries]


def test_an_open_trace_from_which_nothing_comes_is_not_running(send):
    send(*turn()[:3])
    SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD)
    tell_all()
    assert telling.sweep() == 0
    SpanStream.objects.update(told_at=timezone.now() - telling.SILENT_AFTER - timedelta(seconds=1))
    assert telling.sweep() == 1
    assert Session.objects.get().status == "idle"


def test_what_is_sent_twice_is_told_once(send):
    send(*turn())
    tell_all()
    send(*turn())
    forget()
    tell_all()
    assert told() == EVENTS


def test_traces_of_one_conversation_are_one_session_and_history_is_not_repeated(send):
    send(*turn())
    tell_all()
    forget()
    history = [FIRST, SECOND, ("assistant", "At 12:04."), ("user", "And tonight?")]
    send(chat(22, 21, history, "At 00:31.", trace=2, **CONVERSATION), agent(21, trace=2, **CONVERSATION))
    tell_all()
    assert [text for kind, text in told() if kind == "user_message"] == ["When is the tide?", "And tonight?"]
    assert Session.objects.get().turn_count == 2


def test_spans_that_name_no_conversation_go_where_another_of_their_trace_says(send):
    send(*turn({})[:3])
    assert SpanStream.objects.count() == 0
    send(agent(1, **CONVERSATION))
    tell_all()
    assert Session.objects.get().external_id == "tide-7"
    assert sorted(told()) == sorted(EVENTS)


def test_a_trace_without_a_conversation_is_a_session_of_its_own(send):
    send(*turn({}))
    tell_all()
    assert Session.objects.get().external_id == Trace.objects.get().name


def test_a_trace_whose_root_never_comes_is_told_after_a_while(send):
    send(*turn({})[:3])
    assert receiving.sweep() == 0
    SpanPiece.objects.update(received_at=timezone.now() - receiving.HELD)
    assert receiving.sweep() == 1
    tell_all()
    assert Session.objects.get().event_count == 5


def test_a_sub_agent_stands_below_the_tool_that_started_it(send):
    inner = [("user", "Look at the almanac of 1911")]
    send(
        agent(1), chat(2, 1, [FIRST], "I ask the archivist."), tool(3, 1, "archivist"),
        agent(4, 3, "archivist"), chat(5, 4, inner, "It says noon."),
    )  # fmt: skip
    tell_all()
    said = Event.objects.get(text="It says noon.")
    assert (said.depth, said.actor_kind, said.actor_name) == (1, "subagent", "archivist")
    assert Session.objects.get().turn_count == 1


def test_tokens_of_a_wrapper_are_not_counted_again_in_either_order(send):
    inner, outer = chat(3, 2, [FIRST], "Noon.", trace=5), chat(2, 0, [FIRST], "Noon.", trace=5)
    send(inner, outer)
    tell_all()
    assert Session.objects.get().input_tokens == 100
    late = [chat(12, 0, [FIRST], "Noon.", trace=6), chat(13, 12, [FIRST], "Noon.", trace=6)]
    for each in late:
        send(each)
        tell_all()
    assert Session.objects.order_by("id").last().input_tokens == 100


def test_an_error_says_why(send):
    send(failed(tool(1, 0, "almanac", ""), "the almanac is wet"))
    tell_all()
    result = Event.objects.get(kind="tool_result")
    assert (result.tool_status, result.text) == ("error", "the almanac is wet")


def test_a_narrowed_key_adds_to_no_session_of_others(send):
    send(*turn())
    tell_all()
    other = audit.Actor("api_key", "0199aaaa-0000-7000-8000-000000000002", "other")
    send(chat(9, 0, [("user", "Forget the tide.")], "Yes.", trace=9, **CONVERSATION), by=other, narrowed=True)
    tell_all()
    assert Session.objects.count() == 2
    assert told(span_streams__owner="") == EVENTS


def test_what_comes_to_an_archived_session_is_another_version(send):
    send(*turn())
    tell_all()
    Session.objects.update(status="archived")
    send(tool(8, 0, "log book", trace=8, **CONVERSATION))
    tell_all()
    first, second = Session.objects.order_by("id")
    assert first.event_count == len(EVENTS)
    assert (second.event_count, second.metadata["version_of"]) == (2, str(first.pk))


def test_more_than_can_be_told_soon_is_refused_and_nothing_of_it_is_kept(send, monkeypatch):
    monkeypatch.setattr(receiving, "MOST_WAITING", 5)
    send(*turn())
    with pytest.raises(receiving.Busy):
        send(*turn())
    assert SpanPiece.objects.count() == 1


def test_spans_that_break_the_reader_are_set_aside_and_the_others_are_told(send, monkeypatch):
    reads = wire.spans_in

    def spans_in(records, order, place, believed):
        spans = reads(records, order, place, believed)
        if order and any(each.name == "poison" for each in spans):
            raise ZeroDivisionError
        return spans

    send(*turn())
    send(span(50, 0, trace=7, name="poison", **CONVERSATION))
    send(tool(60, 0, "log book", trace=8, **CONVERSATION))
    monkeypatch.setattr(wire, "spans_in", spans_in)
    tell_all()
    assert [kind for kind, _ in told()][-3:] == ["unknown", "tool_call", "tool_result"]
    assert SpanPiece.objects.get(round=telling.ASIDE).spans == 1
    assert not SpanPiece.objects.filter(round=None).exists()


def test_what_came_in_pieces_is_what_a_file_of_it_all_tells(send, workspace):
    spans = turn()
    for each in (spans[:2], spans[2:]):
        send(*each)
    tell_all()
    records = wire.from_protobuf(request(*spans))
    drafts = otel_genai.read(io.BytesIO(orjson.dumps({"resourceSpans": records})))
    read = [(draft.kind, draft.text) for draft in drafts if hasattr(draft, "kind")]
    assert read == told()


def test_what_an_agent_ended_with_is_told_where_no_request_said_it(send):
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "High water is at 12:04."}]}]
    again = [{"role": "assistant", "parts": [{"type": "text", "content": "At 12:04."}]}]
    send(*turn()[:3], agent(1, gen_ai__output__messages=answer, **CONVERSATION))
    send(chat(22, 21, [FIRST], "At 12:04.", trace=2), agent(21, trace=2, gen_ai__output__messages=again))
    tell_all()
    assert ("agent_message", "High water is at 12:04.") in told(external_id="tide-7")
    said = [text for kind, text in told(external_id=f"{2:032x}") if kind == "agent_message"]
    assert said == ["At 12:04."]


def test_spans_without_an_id_are_each_a_span(send):
    for text in ("12:04", "18:20"):
        nameless = tool(0, 0, "almanac", text, **CONVERSATION)
        nameless.span_id = b""
        send(nameless)
        tell_all()
    assert [text for kind, text in told() if kind == "tool_result"] == ["12:04", "18:20"]


def test_no_more_than_fits_into_memory_is_told_at_once(send, monkeypatch):
    monkeypatch.setattr(telling, "MOST_BYTES", 1)
    for number in (1, 2, 3):
        send(tool(number, 0, "almanac", **CONVERSATION))
    tell_all()
    assert SpanStream.objects.get().rounds == 3
    assert Session.objects.get().tool_call_count == 3


def test_a_round_that_cannot_be_read_again_holds_nothing_up(send, monkeypatch):
    send(tool(1, 0, "almanac", **CONVERSATION))
    tell_all()
    forget()
    reads = telling.Conversation.drafts

    def drafts(self, spans):
        if any(span.id.endswith("1") for span in spans):
            raise ZeroDivisionError
        return reads(self, spans)

    monkeypatch.setattr(telling.Conversation, "drafts", drafts)
    send(tool(2, 0, "log book", **CONVERSATION))
    tell_all()
    assert Session.objects.get().tool_call_count == 2
    assert sorted(SpanPiece.objects.values_list("round", flat=True)) == [1, 2]


def test_a_file_that_names_the_conversation_of_an_exporter_adds_nothing_to_it(send, workspace):
    send(*turn())
    tell_all()
    before = told()
    values = [{"key": "gen_ai.conversation.id", "value": {"stringValue": "tide-7"}},
              {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
              {"key": "gen_ai.tool.name", "value": {"stringValue": "refund"}}]  # fmt: skip
    forged = {"traceId": "9" * 32, "spanId": "9" * 16, "name": "execute_tool refund", "attributes": values,
              "startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}  # fmt: skip
    file = orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [forged]}]}]})
    imported = import_jobs.start_import(workspace, "spans.json", [file], by=KEY)
    import_jobs.run(imported.pk)
    assert told(origin=Session.Origin.OTLP) == before
    assert Session.objects.get(origin=Session.Origin.IMPORT).external_id == "tide-7"
