"""AG-UI recordings: pieces become messages and calls, interrupts approvals, and what has not ended waits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import ag_ui
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions

SAMPLE = [json.loads(line) for line in (SAMPLES / "ag-ui" / "thread.jsonl").read_text().splitlines()]
START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def text(id: str, *pieces: str, end: bool = True, **more: Any) -> list[dict[str, Any]]:
    found = [{"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant", **more}]
    found += [{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": piece} for piece in pieces]
    return found + ([{"type": "TEXT_MESSAGE_END", "messageId": id}] if end else [])


def call(id: str, arguments: str, end: bool = True) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "look"}]
    found.append({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments})
    return found + ([{"type": "TOOL_CALL_END", "toolCallId": id}] if end else [])


def result(id: str, content: str = "ok") -> dict[str, Any]:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"{id}-r", "toolCallId": id, "content": content}


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def drafts(*values: Any) -> list[Any]:
    return read(ag_ui, list(values))


def talk(found: list[Any]) -> list[tuple[str, str]]:
    return [(e.kind, e.text) for e in events(found) if e.kind not in ("status", "system", "model_request")]


@pytest.mark.parametrize(
    "data",
    [
        jsonl(START, *text("a", "Hi"), END),
        json.dumps([START, *text("a", "Hi"), END]).encode("utf-8-sig"),
        b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in (START, *text("a", "Hi"), END)),
        json.dumps({"one": [START, *text("a", "Hi"), END]}).encode(),
    ],
)
def test_lines_lists_streams_and_named_lists_are_read_alike(data: bytes) -> None:
    assert ag_ui.detect(Head(data))
    found = read(ag_ui, data)
    assert {session.external_id for session in sessions(found)} == {"t"}
    assert talk(found) == [("agent_message", "Hi")]


@pytest.mark.parametrize(
    "value",
    [
        [{"type": "USER_INPUT", "content": "x"}],  # Antigravity
        [{"role": "assistant", "rawRepresentation": {"type": "RUN_STARTED"}}],  # .NET updates
        [{"type": "RAW", "event": {}}],
        {"type": ["RUN_STARTED"]},
        {"messages": [{"role": "user", "content": "Hi"}], "model": "m"},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: Any) -> None:
    assert not ag_ui.detect(Head(json.dumps(value).encode() + b"\n"))


def test_messages_at_the_same_time_are_kept_apart() -> None:
    a, b = text("a", "1", "2"), text("b", "x")
    found = drafts(START, a[0], b[0], a[1], b[1], a[2], b[2], a[3], END)
    assert talk(found) == [("agent_message", "x"), ("agent_message", "12")]


def test_chunks_end_with_the_first_event_that_is_none_of_them() -> None:
    chunks = [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "1"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "2"},
    ]
    other = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "3"}
    found = drafts(START, *chunks, other, {"type": "STEP_STARTED", "stepName": "s"}, result("c"), END)
    assert talk(found) == [("agent_message", "12"), ("agent_message", "3"), ("tool_result", "ok")]


def test_arguments_come_in_pieces_and_stay_text_where_they_are_no_json() -> None:
    found = [e for e in events(drafts(START, *call("c", '{"a":'), *call("d", '{"a": 1}'), END)) if e.tool]
    assert [event.tool.arguments for event in found] == ['{"a":', {"a": 1}]
    assert "arguments" in found[0].data


def test_a_result_ends_a_call_whose_end_was_not_recorded() -> None:
    found = drafts(START, *call("c", "{}", end=False), result("c"), END)
    called, answered = (event for event in events(found) if event.tool)
    assert (called.kind, answered.kind, answered.parent) == ("tool_call", "tool_result", called.key)
    assert answered.tool.status is None


def test_a_call_that_waits_is_told_once_though_a_later_run_tells_it_again() -> None:
    again = {**START, "runId": "r2"}
    assert (
        kinds(drafts(START, *call("c", "{}"), END, again, *call("c", "{}"), result("c"), END)).count("tool_call") == 1
    )
    assert (
        kinds(drafts(START, *call("c", "{}"), result("c"), END, again, *call("c", "{}"), END)).count("tool_call") == 2
    )


def test_calls_left_open_by_a_run_end_with_it() -> None:
    assert talk(drafts(START, *text("a", "half", end=False), END)) == [("agent_message", "half")]


def test_open_calls_of_a_growing_recording_are_not_closed() -> None:
    open_ = [START, *text("a", "half", end=False)]
    for data in (jsonl(*open_), json.dumps(open_).encode()[:-1]):
        found = read(ag_ui, data)
        assert talk(found) == [] and "'half'" in findings(found)["ag-ui.unfinished"].message
    assert talk(read(ag_ui, open_)) == [("agent_message", "half")]  # a whole list does not grow


@pytest.mark.parametrize("cut", range(1, len(SAMPLE)))
def test_a_recording_that_has_grown_tells_the_same_events_and_then_more(cut: int) -> None:
    before, after = (events(read(ag_ui, jsonl(*SAMPLE[:until]))) for until in (cut, len(SAMPLE)))
    assert before == after[: len(before)]


def test_the_input_of_a_run_tells_what_the_person_said_once() -> None:
    history = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Hi"}]
    first = {**START, "input": {"messages": history[:1]}}
    second = {**START, "runId": "r2", "input": {"messages": history}}
    found = drafts(first, END, second, END)
    assert talk(found) == [("user_message", "Hi"), ("user_message", "Hi")]


def test_a_streamed_answer_that_comes_back_in_the_history_is_not_told_again() -> None:
    with_id = {"id": "a", "role": "assistant", "content": "Hello"}
    without = {"role": "assistant", "content": "Hello"}
    for message in (with_id, without):
        again = {**START, "runId": "r2", "input": {"messages": [message]}}
        assert talk(drafts(START, *text("a", "Hello"), END, again, END)) == [("agent_message", "Hello")]


def test_the_input_alone_is_a_recording_too() -> None:
    value = {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "Hi"}]}
    assert ag_ui.detect(Head(json.dumps(value).encode()))
    found = read(ag_ui, value)
    assert sessions(found)[0].external_id == "t" and talk(found) == [("user_message", "Hi")]


def test_a_snapshot_tells_messages_calls_and_results_that_were_not_streamed() -> None:
    messages = [
        {"id": "u", "role": "user", "content": "Weather?"},
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "function": {"name": "look", "arguments": '{"a": 1}'}}],
        },
        {"id": "r", "role": "tool", "toolCallId": "c", "content": "", "error": "no network"},
    ]
    found = events(drafts(START, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, END))
    called, answered = (event for event in found if event.tool)
    assert called.tool.arguments == {"a": 1}
    assert (answered.parent, answered.tool.status, answered.data) == (called.key, "error", {"error": "no network"})


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, "approved"),
        ({"status": "resolved", "payload": {"approved": False}}, "denied"),
        ({"status": "resolved", "payload": {"response": "Ada"}}, "answered"),
        ({"status": "resolved"}, "answered"),
        ({"status": "cancelled", "payload": {"approved": True}}, "cancelled"),
    ],
)
def test_an_interrupt_and_its_answer_are_approvals(answer: dict[str, Any], decision: str) -> None:
    interrupt = {"id": "i", "reason": "tool_call", "message": "Delete?", "toolCallId": "c"}
    paused = {**END, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}
    resumed = {**START, "runId": "r2", "input": {"messages": [], "resume": [{"interruptId": "i", **answer}]}}
    found = drafts(START, *call("c", "{}"), paused, resumed)
    question, answered = (event for event in events(found) if event.kind == "approval")
    assert (question.text, question.tool.name, question.data["decision"]) == ("Delete?", "look", "pending")
    assert (answered.data["decision"], answered.data["by"], answered.parent) == (decision, "user", question.key)


@pytest.mark.parametrize(
    ("last", "phase"),
    [
        (END, "completed"),
        ({**END, "outcome": {"type": "interrupt", "interrupts": [{"id": "i"}]}}, "active"),
        ({**END, "outcome": "interrupt", "interrupt": {"id": "i", "reason": "x"}}, "active"),
        ({"type": "RUN_ERROR", "message": "no"}, "crashed"),
        ({"type": "STEP_STARTED", "stepName": "s"}, "active"),
    ],
)
def test_the_last_run_tells_how_the_session_ended(last: dict[str, Any], phase: str) -> None:
    assert sessions(drafts(START, last))[-1].phase == phase


def test_cached_tokens_are_taken_out_of_the_input() -> None:
    entry = {"model": "m", "inputTokens": 10, "cachedInputTokens": 6, "cacheWriteInputTokens": 1, "outputTokens": 3}
    (usage,) = counted(drafts(START, {**END, "usage": [entry]}))
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens) == (3, 6, 1, 3)
    assert usage.quality == "aggregate" and usage.reasoning_tokens is None


def test_cached_tokens_that_cannot_be_part_of_the_input_stand_beside_it_and_are_reported() -> None:
    found = drafts(START, {**END, "usage": [{"inputTokens": 5, "cachedInputTokens": 9}]})
    (usage,) = counted(found)
    assert (usage.input_tokens, usage.cache_read_tokens) == (5, 9)
    assert findings(found)["ag-ui.tokens"].severity == "warning"


def test_each_thread_is_a_session_and_one_that_comes_back_another() -> None:
    other = {**START, "threadId": "t2"}
    found = drafts(START, *text("a", "1"), other, *text("b", "2"), START, *text("c", "3"), END)
    assert [session.external_id for session in sessions(found)] == ["t", "t", "t2", "t2", "t#2", "t#2"]
    assert "ag-ui.repeated-session" in findings(found)


def test_events_before_the_first_run_belong_to_its_thread() -> None:
    found = drafts({"type": "CUSTOM", "name": "hello", "value": 1}, START, *text("a", "Hi"), END)
    assert {session.external_id for session in sessions(found)} == {"t"}


def test_thoughts_without_ids_are_told_apart_by_where_they_end() -> None:
    old = [{"type": "THINKING_START", "title": "Plan"}, {"type": "THINKING_CONTENT", "delta": "Hm."}]
    twice = [*old, {"type": "THINKING_END"}, *old, {"type": "THINKING_END"}]
    found = events(drafts(START, *twice, END))
    assert [(e.text, e.data["title"]) for e in found if e.kind == "reasoning"] == [("Hm.", "Plan")] * 2


def test_times_are_milliseconds() -> None:
    assert events(drafts({**START, "timestamp": 1790000000500}))[0].at.isoformat() == "2026-09-21T14:13:20.500000+00:00"


def test_invalid_json_is_refused() -> None:
    with pytest.raises(FormatError):
        read(ag_ui, b'{"threadId": ')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, list):
            assert_sound(read(ag_ui, value))


@pytest.mark.parametrize(
    ("outcome", "phase"),
    [({"type": "success"}, "completed"), ({"type": "cancelled"}, "cancelled"), ("cancelled", "cancelled"),
     ({"type": "error"}, "crashed"), ({"type": "interrupt", "interrupts": []}, "active"), (None, "completed")],
)  # fmt: skip
def test_a_run_ends_as_its_outcome_says(outcome: Any, phase: str) -> None:
    found = drafts(START, *text("a", "Hi"), {**END, "outcome": outcome})
    assert sessions(found)[-1].phase == phase


def test_an_outcome_says_why_and_what_is_still_to_be_done() -> None:
    ended = {**END, "outcome": {"type": "cancelled", "reason": "zq stopped by hand", "pendingToolCallIds": ["c1"]}}
    last = events(drafts(START, *text("a", "Hi"), ended))[-1]
    assert (last.kind, last.text, last.data["pendingToolCallIds"]) == ("status", "zq stopped by hand", ["c1"])


def test_an_error_whose_code_is_that_somebody_cancelled_is_no_crash() -> None:
    found = drafts(START, *text("a", "Hi"), {"type": "RUN_ERROR", "message": "zq stopped", "code": "abort"})
    assert sessions(found)[-1].phase == "cancelled" and "error" not in kinds(found)


def test_events_of_a_sub_agent_whose_start_was_not_recorded_are_not_those_of_the_agent() -> None:
    inner = [one | {"subagentRunId": "zq-run"} for one in text("a", "Hi")]
    (said,) = [one for one in events(drafts(START, *inner, END)) if one.kind == "agent_message"]
    assert (said.depth, said.actor_kind, said.actor_name) == (1, "subagent", "zq-run")
