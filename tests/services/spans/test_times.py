"""Times that no span ran at: they are said as the exporter's, and move no session."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from sessions_app.models import Event, Session, Turn
from sessions_app.models.session_order import STARTED
from vcon_app.formats import otel_genai
from vcon_app.formats.otel_genai import wire
from vcon_app.models import SpanPiece

from .build import agent, chat, request, tool
from .test_telling import FIRST, send, tell_all  # noqa: F401 - send is a fixture

NANOSECONDS = 10**9
FAR, THEN = 2**64 - 1, "2554-07-21T23:34:33.709553Z"
"""As late as a span of protobuf can say."""
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def at(span: Any, start: int, end: int) -> Any:
    span.start_time_unix_nano, span.end_time_unix_nano = start, end
    return span


def nano(moment: datetime) -> int:
    return int(moment.timestamp()) * NANOSECONDS


def said() -> dict[str, str]:
    return {event.data["span"]: event.data["exporter_says"] for event in Event.objects.exclude(kind="tool_result")
            if "exporter_says" in event.data}  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "claims"),
    [
        (FAR, FAR, f"{THEN} to {THEN}"),
        (1, 2, "1970-01-01T00:00:00Z to 1970-01-01T00:00:00Z"),
        (nano(datetime(1999, 12, 31, tzinfo=UTC)), FAR, f"1999-12-31T00:00:00Z to {THEN}"),
    ],
)
def test_a_session_whose_times_cannot_be_began_when_it_came(send, start, end, claims):  # noqa: F811
    began_when_it_came(send, start, end)
    assert set(said().values()) == {claims}


def test_neither_does_one_that_begins_in_two_days(send):  # noqa: F811
    began_when_it_came(send, nano(timezone.now() + timedelta(days=2)), FAR)


def began_when_it_came(export: Any, start: int, end: int) -> None:
    export(
        at(chat(2, 1, [FIRST], "At noon."), start, end), at(tool(3, 1, "almanac"), start, end), at(agent(1), start, end)
    )
    tell_all()
    session, piece = Session.objects.get(), SpanPiece.objects.get()
    assert (session.started_at, session.ended_at) == (piece.received_at, None)
    assert set(Event.objects.values_list("at", flat=True)) == {None}
    assert set(Turn.objects.values_list("started_at", "ended_at")) == {(None, None)}
    assert sorted(Event.objects.values_list("kind", flat=True)) == [
        "agent_message", "status", "tool_call", "tool_result", "user_message"]  # fmt: skip
    assert len(said()) == 3


def test_what_others_of_its_spans_say_stands_and_it_is_not_above_a_later_one(send):  # noqa: F811
    begin = nano(NOW)
    send(at(chat(2, 1, [FIRST], "At noon."), begin, begin + NANOSECONDS), at(tool(3, 1, "almanac"), begin, FAR),
         at(agent(1), begin, begin + 5 * NANOSECONDS))  # fmt: skip
    send(at(agent(1, trace=2), nano(NOW + timedelta(hours=1)), nano(NOW + timedelta(hours=2))))
    tell_all()
    later, odd = Session.objects.order_by(STARTED.desc())
    assert (odd.started_at, odd.ended_at) == (NOW, NOW + timedelta(seconds=5))
    assert later.started_at == NOW + timedelta(hours=1)
    result = Event.objects.get(kind="tool_result")
    assert result.at == NOW and said() == {"span 3": f"2026-11-20T00:00:00Z to {THEN}"}


def test_an_end_before_the_beginning_is_none_and_the_result_stays_behind_its_call(send):  # noqa: F811
    begin = nano(NOW)
    send(at(tool(3, 1, "almanac", "12:04"), begin, begin - 60 * NANOSECONDS), at(agent(1), begin, begin + NANOSECONDS))
    tell_all()
    call, result = Event.objects.filter(kind__startswith="tool").order_by("seq")
    assert (call.kind, call.at, result.text, result.at) == ("tool_call", NOW, "12:04", NOW)
    assert "seconds" not in call.data and Session.objects.get().started_at == NOW


@pytest.mark.parametrize("per_second", [10**3, 10**6, 10**9])
def test_counts_of_milliseconds_and_microseconds_are_read_as_such(send, per_second):  # noqa: F811
    begin = int(NOW.timestamp()) * per_second
    send(at(agent(1), begin, begin + per_second))
    tell_all()
    assert (Event.objects.get().at, said()) == (NOW, {})


def test_a_file_says_what_it_left_out():
    records = wire.from_protobuf(request(at(agent(1), 5, 10), at(agent(2), 5, 10)))
    records[0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"] = "9999-12-31T00:00:00Z"
    read = list(otel_genai.read(io.BytesIO(orjson.dumps({"resourceSpans": records}))))
    found = [draft.message for draft in read if getattr(draft, "rule", "") == "otel-genai.odd-times"]
    assert found == [
        "1 spans state times that cannot be, such as 9999-12-31T00:00:00Z to 1970-01-01T00:00:00Z; they have none here"
    ]
