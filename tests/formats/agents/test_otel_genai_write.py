"""A session as an OTLP document: valid, and the same conversation and tokens when it is read again."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from vcon_app import registry
from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import otel_genai

from ..vcon_tools import Log

START = datetime(2026, 5, 4, 8, tzinfo=UTC)
OPTIONS = {"created_at": START, "product_version": "1.0"}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def call(key: str, seconds: float, name: str = "Bash", depth: int = 0, parent: str | None = None) -> EventDraft:
    tool = ToolDraft(key, name, None, {"command": "ls"})
    return EventDraft("tool_call", key, at(seconds), "agent", "Crane", tool=tool, depth=depth, parent=parent)


def result(key: str, seconds: float, status: str | None = "ok") -> EventDraft:
    return EventDraft(
        "tool_result", f"{key}r", at(seconds), "tool", "Bash", text="a.txt", parent=key,
        tool=ToolDraft(key, "Bash", None, None, None, status),
    )  # fmt: skip


SESSION = SessionDraft(
    "run-7", title="Tidy up", agent_name="Crane", model="m-1", user_id="ann", metadata={"provider": "anthropic"}
)
EVENTS = [
    EventDraft("user_message", "u", at(0), "person", "Ann", text="Tidy up."),
    EventDraft("reasoning", "r", at(1), "agent", "Crane", text="First look.", request="q1"),
    EventDraft("agent_message", "a", at(2), "agent", "Crane", text="I look.", model="m-1", request="q1",
               usage=Usage(10, 100, 5, 7, 3), cost=Decimal("0.01")),
    call("c1", 3), result("c1", 5),
    call("c2", 6, "Task"),
    EventDraft("agent_message", "s", at(7), "subagent", "helper", text="Found it.", depth=1, parent="c2"),
    result("c2", 8, "error"),
    call("c3", 9),
    EventDraft("approval", "p", at(9), "person", "Ann", text="ok", data={"status": "approved"}),
    EventDraft("agent_message", "z", at(10), "agent", "Crane", text="Done.", usage=Usage(1, None, None, 2)),
]  # fmt: skip


def document(losses: Losses | None = None, events: list[EventDraft] = EVENTS) -> bytes:
    return b"".join(otel_genai.write(SESSION, Log(events), losses or Losses(), options=OPTIONS))


def spans(data: bytes) -> list[dict[str, Any]]:
    return json.loads(data)["resourceSpans"][0]["scopeSpans"][0]["spans"]


def read(data: bytes) -> tuple[SessionDraft, list[EventDraft]]:
    found = list(otel_genai.read(io.BytesIO(data)))
    (session,) = [one for one in found if isinstance(one, SessionDraft)]
    return session, [one for one in found if isinstance(one, EventDraft)]


def test_our_own_reader_recognises_it_and_finds_the_conversation() -> None:
    data = document()
    session, events = read(data)

    assert registry.detect(io.BytesIO(data))[0] == "otel-genai"
    assert (session.external_id, session.title, session.agent_name, session.user_id) == (
        "run-7", "Tidy up", "Crane", "ann",
    )  # fmt: skip
    told = [
        (one.kind, one.text, one.at) for one in events if one.kind in ("user_message", "agent_message", "reasoning")
    ]
    assert told == [
        ("user_message", "Tidy up.", at(0)), ("reasoning", "First look.", at(2)), ("agent_message", "I look.", at(2)),
        ("agent_message", "Found it.", at(7)), ("agent_message", "Done.", at(10)),
    ]  # fmt: skip


def test_calls_have_their_arguments_times_and_outcomes_and_an_open_one_has_none() -> None:
    events = read(document())[1]
    calls = {one.tool.call_id: one for one in events if one.kind == "tool_call" and one.tool}
    results = {one.tool.call_id: one.tool.status for one in events if one.kind == "tool_result" and one.tool}

    assert calls.keys() == {"c1", "c2", "c3"} and calls["c1"].tool.arguments == {"command": "ls"}
    assert results == {"c1": "ok", "c2": "error"}
    assert next(one.depth for one in events if one.text == "Found it.") == 1


def test_tokens_and_cost_are_those_of_the_session() -> None:
    usages = [one.usage for one in read(document())[1] if one.usage]
    assert usages == [Usage(10, 100, 5, 7, 3), Usage(1, None, None, 2)]
    assert [one.cost for one in read(document())[1] if one.cost is not None] == [Decimal("0.01")]


def test_ids_are_hexadecimal_one_trace_and_parents_are_there() -> None:
    found = spans(document())
    ids = {span["spanId"] for span in found}

    assert len(ids) == len(found) and {len(one) for one in ids} == {16} and {int(one, 16) > 0 for one in ids} == {True}
    assert {len(span["traceId"]) for span in found} == {32} and len({span["traceId"] for span in found}) == 1
    assert all(span["parentSpanId"] in ids for span in found if "parentSpanId" in span)
    assert [span["name"] for span in found if "parentSpanId" not in span] == ["invoke_agent Crane"]


def test_spans_begin_one_after_the_other_also_where_the_log_has_one_time() -> None:
    same = [EventDraft("agent_message", f"k{n}", at(0), "agent", "Crane", text=f"{n}") for n in range(4)]
    losses = Losses()
    session, events = read(document(losses, same))

    assert [one.text for one in events if one.kind == "agent_message"] == ["0", "1", "2", "3"]
    assert any("times" in row["what"] for row in losses.rows())


def test_the_report_names_what_has_no_span() -> None:
    losses = Losses()
    document(losses)
    assert "events of kind approval" in {row["what"] for row in losses.rows()}


def test_the_report_says_that_a_call_without_a_name_has_one_in_its_span() -> None:
    losses = Losses()
    document(losses, [EventDraft("tool_call", "c", at(0), "agent", "Crane", tool=ToolDraft("c1", None))])
    assert "that nobody named a tool" in {row["what"] for row in losses.rows()}
    losses = Losses()
    document(losses, [call("c", 0)])
    assert "that nobody named a tool" not in {row["what"] for row in losses.rows()}


def test_words_of_any_kind_are_valid_json_and_come_back() -> None:
    odd = 'a "quote", \\ \u202e {"json": 1} \x00 \ud83d'
    (event,) = [one for one in read(document(events=[EventDraft("user_message", "u", at(0), text=odd)]))[1]
                if one.kind == "user_message"]  # fmt: skip
    assert event.text.startswith('a "quote", \\ ')


def test_a_time_that_otlp_cannot_count_is_written_as_the_nearest_and_told():
    losses = Losses()
    far = [EventDraft("agent_message", "a", datetime(year, 1, 1, tzinfo=UTC), text="x") for year in (1900, 9999)]
    document = json.loads(b"".join(otel_genai.write(SESSION, Log(far), losses, options=OPTIONS)))
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    times = [int(span[name]) for span in spans for name in ("startTimeUnixNano", "endTimeUnixNano") if name in span]
    assert (min(times), max(times)) == (0, 2**64 - 1)
    assert any("2554" in row["what"] for row in losses.rows())
