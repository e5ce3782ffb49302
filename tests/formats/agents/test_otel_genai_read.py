"""OpenTelemetry spans: which are counted, whose session they are, where sub-agents stand; what is odd about a file."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import otel_genai
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions, tokens

SAMPLE = (SAMPLES / "otel-genai" / "tides.jsonl").read_bytes()
CHAT = {"gen_ai.operation.name": "chat"}


def value_of(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def span(id: str, parent: str = "", at: int = 1, until: int = 0, trace: str = "t1", **more: Any) -> dict[str, Any]:
    made = {"traceId": trace, "spanId": id, "parentSpanId": parent, "name": id, **more}
    made |= {"startTimeUnixNano": f"{at}000000000", "endTimeUnixNano": f"{until or at + 1}000000000"}
    attributes = made.get("attributes", {})
    return made | {"attributes": [{"key": key, "value": value_of(value)} for key, value in attributes.items()]}


def chat(id: str, *place: Any, **more: Any) -> dict[str, Any]:
    attributes = CHAT | {name.replace("__", "."): value for name, value in more.items()}
    return span(id, *place, attributes=attributes)


def request(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": list(spans)}]}]}


def drafts(*spans: Any) -> list[Any]:
    return read(otel_genai, request(*spans))


def tool(id: str, *place: Any, **attributes: Any) -> dict[str, Any]:
    return span(id, *place, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": id, **attributes})


def agent(id: str, *place: Any, **attributes: Any) -> dict[str, Any]:
    return span(id, *place, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": id, **attributes})


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def asked(id: str, at: int, messages: list[Any], answer: list[Any], **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps(answer), **more}
    return span(id, "", at, attributes=CHAT | attributes)


@pytest.mark.parametrize(
    "value",
    [
        request(chat("a")),
        [request(chat("a"))],
        [{"trace_id": "t", "span_id": "s", "attributes": {"gen_ai.system": "openai"}}],
        {"name": "x", "context": {"trace_id": "t", "span_id": "s"}, "attributes": {"llm.model_name": "m"}},
    ],
)
def test_otlp_and_printed_spans_are_claimed(value: Any) -> None:
    assert otel_genai.detect(Head(json.dumps(value).encode()))
    assert len(sessions(read(otel_genai, value))) == 1


@pytest.mark.parametrize(
    "value", [{"spans": []}, [{"trace_id": "t", "span_id": "s", "attributes": {"http.route": "/"}}], {"traceId": "t"}]
)
def test_other_traces_are_not_claimed(value: Any) -> None:
    assert not otel_genai.detect(Head(json.dumps(value).encode()))


def test_requests_alone_are_counted_for_agents_repeat_their_tokens() -> None:
    tokens_ = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    found = drafts(agent("boss", "", 1, 9, **tokens_), span("a", "boss", 2, attributes=CHAT | tokens_))
    assert counted(found) == [Usage(input_tokens=10, output_tokens=2)]


def test_cached_tokens_are_part_of_the_input() -> None:
    usage = {"gen_ai__usage__input_tokens": 100, "gen_ai__usage__cache_read__input_tokens": 60}
    found = drafts(chat("a", **usage, gen_ai__usage__cache_creation__input_tokens=30))
    assert counted(found) == [Usage(input_tokens=10, cache_read_tokens=60, cache_write_tokens=30)]
    outside = drafts(chat("a", gen_ai__usage__input_tokens=10, gen_ai__usage__cache_read__input_tokens=60))
    assert counted(outside) == [Usage(input_tokens=10, cache_read_tokens=60)]


def test_a_request_inside_of_a_request_is_the_same_one() -> None:
    usage = {"gen_ai__usage__input_tokens": 10}
    assert tokens(drafts(chat("outer", "", 1, 5, **usage), chat("inner", "outer", 2, 4, **usage)))["input"] == 10


def test_two_spans_of_one_response_are_counted_once() -> None:
    usage = {"gen_ai__usage__output_tokens": 10, "gen_ai__response__id": "resp_1"}
    assert tokens(drafts(chat("a", **usage), chat("b", **usage)))["output"] == 10


def test_last_ended_copy_of_a_repeated_span_counts() -> None:
    early, late = (
        chat("a", "", 1, 2, gen_ai__usage__output_tokens=1),
        chat("a", "", 1, 5, gen_ai__usage__output_tokens=7),
    )
    for order in ([early, late], [late, early]):
        found = drafts(*order)
        assert [usage.output_tokens for usage in counted(found)] == [7]
        assert "otel-genai.repeated-spans" in findings(found)


def test_the_session_is_the_conversation_of_the_span_or_above_it_else_the_trace() -> None:
    one = {"gen_ai.conversation.id": "c1"}
    found = drafts(agent("boss", "", 1, 9, **one), chat("a", "boss", 2), chat("b", "", 3, 0, "t2"))
    assert [session.external_id for session in sessions(found)] == ["c1", "t2"]


def test_only_the_new_messages_of_each_input_become_events() -> None:
    first, answer, more = message("user", "Hi"), message("assistant", "Yes?"), message("user", "Ho")
    found = drafts(asked("a", 1, [first], [answer]), asked("b", 5, [first, answer, more], [message("assistant", "So")]))
    assert [(event.kind, event.text) for event in events(found)] == [
        ("user_message", "Hi"), ("agent_message", "Yes?"), ("user_message", "Ho"), ("agent_message", "So"),
    ]  # fmt: skip


def test_calls_without_spans_are_told_when_their_result_comes_back() -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "weigh", "arguments": {"n": 1}}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": {"g": 61}}]}
    first = message("user", "Hi")
    found = events(drafts(asked("a", 1, [first], [call]), asked("b", 5, [first, call, result], [])))
    assert [event.kind for event in found] == [
        "user_message", "model_request", "tool_call", "tool_result", "model_request",
    ]  # fmt: skip
    assert found[2].tool.arguments == {"n": 1} and found[3].tool.result == {"g": 61}
    assert found[3].parent == found[2].key


def test_calls_with_spans_are_told_where_they_ran() -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "weigh", "arguments": {"n": 1}}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "61 g"}]}
    ran = tool("weigh", "", 3, **{"gen_ai.tool.call.id": "c", "gen_ai.tool.call.arguments": '{"n": 1}'})
    found = drafts(asked("a", 1, [], [call]), ran, asked("b", 5, [call, result], []))
    assert kinds(found).count("tool_call") == 1
    assert events(found)[0].data["calls"][0]["name"] == "weigh"


@pytest.mark.parametrize("failed", [False, True])
def test_the_span_of_a_tool_that_comes_after_its_result_was_told_is_no_second_call(failed: bool) -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "weigh", "arguments": {"n": 1}}]}
    result = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "61 g"}]}
    ran = tool("weigh", "", 3, **{"gen_ai.tool.call.id": "c"}) | ({"status": {"code": 2}} if failed else {})
    lines = [request(asked("a", 1, [], [call])), request(asked("b", 5, [call, result], [])), request(ran)]
    found = events(read(otel_genai, b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    told = next(event for event in found if event.kind == "tool_call")
    assert [event.kind for event in found if event.parent == told.key] == [
        "tool_result", "error" if failed else "status",
    ]  # fmt: skip
    assert sum(event.kind == "tool_call" for event in found) == 1


def test_what_a_span_brought_is_told_where_nobody_stated_when_it_ended() -> None:
    ended, open_ = tool("radio", **{"gen_ai.tool.call.result": "The tug comes"}), tool("sonar")
    ran = agent("pilot", **{"gen_ai.output.messages": json.dumps([message("assistant", "She is moored.")])})
    for untimed in (ended, open_, ran):
        del untimed["startTimeUnixNano"], untimed["endTimeUnixNano"]
    told = {(one.kind, one.text) for one in events(drafts(ended, open_, ran))}
    assert {("tool_result", "The tug comes"), ("agent_message", "She is moored.")} <= told
    assert [one.kind for one in events(drafts(open_))] == ["tool_call"]


def test_spans_below_a_tool_belong_to_a_sub_agent_also_when_sent_first() -> None:
    inner, outer = chat("inner", "helper", 3), tool("helper", "boss", 2, 6)
    lines = b"\n".join(json.dumps(request(item)).encode() for item in (inner, outer, chat("ask", "boss", 1)))
    found = {event.key: event for event in events(read(otel_genai, lines))}
    assert [event.kind for event in found.values()] == ["tool_call", "model_request", "tool_result", "model_request"]
    assert (found["t1:inner:r"].depth, found["t1:inner:r"].parent) == (1, "t1:helper")


def test_an_agent_that_an_agent_starts_is_handed_over_to() -> None:
    found = drafts(
        agent("boss", "", 1, 9), chat("ask", "boss", 2), agent("peer", "boss", 4, 8), chat("inner", "peer", 5)
    )
    handoff = next(event for event in events(found) if event.kind == "handoff")
    below = [event for event in events(found) if event.depth == 1]
    assert [event.parent for event in below] == [handoff.key] and below[0].actor_kind == "subagent"


def test_a_tool_and_a_request_that_failed_say_why() -> None:
    failed = {"code": 2, "message": "the scale is broken"}
    broken = tool("weigh") | {"status": failed}
    found = events(drafts(broken, chat("a", "", 4) | {"status": failed}))
    assert found[1].tool.status == "error" and found[1].text == "the scale is broken"
    assert (found[-1].kind, found[-1].text) == ("error", "the scale is broken")


def test_a_name_with_thousands_of_parts_is_no_trap() -> None:
    name = "gen_ai.prompt.0." + "a." * 5_000 + "b"
    assert_sound(drafts(span("a", attributes=CHAT | {name: "x"})))


def test_ids_in_base64_are_those_in_hex() -> None:
    coded = base64.b64encode(bytes.fromhex("a1" * 8)).decode()
    found = drafts(agent("a1" * 8, "", 1, 9, **{"gen_ai.conversation.id": "c"}), chat("b", coded, 2))
    assert [session.external_id for session in sessions(found)] == ["c"]


def test_spans_that_are_not_about_models_are_told_quietly_and_unknown_operations_as_such() -> None:
    found = drafts(span("GET /"), span("x", attributes={"gen_ai.operation.name": "frobnicate"}))
    assert kinds(found) == ["status", "unknown"]
    assert "frobnicate" in findings(found)["otel-genai.unknown-type"].message


def test_lines_that_are_appended_add_to_what_was_there() -> None:
    lines = SAMPLE.splitlines(keepends=True)
    whole = events(read(otel_genai, SAMPLE))
    for count in range(2, len(lines)):
        before = events(read(otel_genai, b"".join(lines[:count])))
        assert [event.key for event in whole][: len(before)] == [event.key for event in before]


def test_lines_without_span_are_reported_and_invalid_json_is_refused() -> None:
    assert findings(read(otel_genai, {"resourceSpans": []}))["otel-genai.no-span"].severity == "warning"
    with pytest.raises(FormatError):
        read(otel_genai, b'{"resourceSpans": [')


def test_any_part_of_a_file_may_be_anything() -> None:
    for line in SAMPLE.splitlines():
        for value in mutants(json.loads(line)):
            if isinstance(value, dict):
                assert_sound(read(otel_genai, value))
