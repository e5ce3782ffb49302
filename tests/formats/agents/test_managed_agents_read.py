"""Events of a Managed Agents session: approvals, order, tokens, sub-agents, and what is odd about a file."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import managed_agents
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions

SAMPLE = [json.loads(line) for line in (SAMPLES / "managed-agents" / "session.jsonl").read_text().splitlines()]
TIME = "2026-11-02T07:00:00Z"


def event(id: str, type: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": type, "processed_at": TIME, **more}


def say(id: str, text: str, **more: Any) -> dict[str, Any]:
    return event(id, "user.message", content=[{"type": "text", "text": text}], **more)


def call(id: str, **more: Any) -> dict[str, Any]:
    return event(id, "agent.tool_use", name="bash", input={"command": "ls"}, **more)


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def drafts(*values: Any) -> list[Any]:
    return read(managed_agents, jsonl(*values))


@pytest.mark.parametrize(
    "data",
    [
        jsonl(say("sevt_1", "Hi"), event("sevt_2", "session.status_running")),
        json.dumps([say("sevt_1", "Hi"), event("sevt_2", "session.status_running")]).encode(),
        json.dumps({"data": [say("sevt_1", "Hi"), event("sevt_2", "status_running")], "next_page": None}).encode(),
        json.dumps({"events": [say("sevt_1", "Hi"), event("sevt_2", "session.status_running")]}).encode(),
        b"".join(
            f"event: message\ndata: {json.dumps(e)}\n\n".encode()
            for e in (say("sevt_1", "Hi"), event("sevt_2", "session.status_running"))
        ),
    ],
)
def test_lines_lists_pages_and_streams_are_read_alike(data: bytes) -> None:
    assert managed_agents.detect(Head(data))
    assert [(e.kind, e.key) for e in events(read(managed_agents, data))] == [
        ("user_message", "sevt_1"),
        ("status", "sevt_2"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "session.start", "id": "1", "data": {}, "timestamp": TIME},  # Copilot CLI
        {"type": "user", "uuid": "u", "processed_at": TIME},
        {"type": "session", "id": "abc", "cwd": "/srv"},  # pi
        {"data": [{"type": "list", "id": "1"}]},
        {"type": ["user.message"], "id": "sevt_1"},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: Any) -> None:
    assert not managed_agents.detect(Head(json.dumps(value).encode() + b"\n"))


def test_a_question_and_its_answer_are_two_approvals_below_the_call() -> None:
    found = events(
        drafts(
            call("sevt_1", evaluated_permission="ask", evaluation={"type": "always_ask"}),
            event("sevt_2", "user.tool_confirmation", tool_use_id="sevt_1", result="deny", deny_message="Not now."),
            event("sevt_3", "agent.tool_result", tool_use_id="sevt_1", is_error=True, content=[]),
        )
    )
    _, ask, answer, result = found
    assert [event.kind for event in found] == ["tool_call", "approval", "approval", "tool_result"]
    assert (ask.data["decision"], ask.parent, ask.tool.arguments) == ("pending", "sevt_1", {"command": "ls"})
    assert (answer.data["decision"], answer.data["by"], answer.text) == ("denied", "user", "Not now.")
    assert (answer.parent, result.parent, result.tool.status) == ("sevt_1", "sevt_1", "denied")


def test_a_call_that_a_person_allowed_may_still_fail() -> None:
    *_, answer, result = events(
        drafts(
            call("sevt_1", evaluated_permission="ask"),
            event("sevt_2", "user.tool_confirmation", tool_use_id="sevt_1", result="allow"),
            event("sevt_3", "agent.tool_result", tool_use_id="sevt_1", is_error=True),
        )
    )
    assert (answer.data["decision"], result.tool.status) == ("approved", "error")


def test_call_refused_by_the_policy_is_an_approval_by_the_policy() -> None:
    policy = {"type": "auto", "evaluated_permission": {"type": "deny", "reason_code": "high_risk"}}
    _, refused = events(drafts(call("sevt_1", evaluated_permission="deny", evaluation=policy)))
    assert refused.data == {"type": "policy", "decision": "denied", "by": "policy", "reason": "high_risk"}


def test_a_verdict_that_is_not_known_decides_nothing() -> None:
    found = drafts(call("sevt_1"), event("sevt_2", "user.tool_confirmation", tool_use_id="sevt_1", result="perhaps"))
    assert kinds(found) == ["tool_call", "unknown"]


def test_a_queued_event_is_told_where_it_was_taken_up() -> None:
    queued = say("sevt_1", "Hi", processed_at=None)
    running = event("sevt_2", "session.status_running")
    assert [e.key for e in events(drafts(queued, running, say("sevt_1", "Hi")))] == ["sevt_2", "sevt_1"]
    *_, last = events(drafts(queued, running))
    assert (last.key, last.at, last.data["queued"]) == ("sevt_1", None, True)


def test_a_stream_over_a_list_tells_each_event_once() -> None:
    found = drafts(say("sevt_1", "Hi"), event("sevt_2", "agent.thinking"), say("sevt_1", "Hi"))
    assert kinds(found) == ["user_message", "reasoning"]
    assert "1 events" in findings(found)["managed-agents.repeated-events"].message


def test_a_page_that_is_sorted_the_newest_first_is_turned() -> None:
    page = [say("sevt_2", "two", processed_at="2026-11-02T08:00:00Z"), say("sevt_1", "one")]
    assert [event.text for event in events(read(managed_agents, {"data": page}))] == ["one", "two"]


def test_pieces_of_an_answer_wait_for_the_whole() -> None:
    start = {"type": "event_start", "event": {"type": "agent.message", "id": "sevt_1"}}
    delta = {"type": "content_delta", "index": 0, "content": {"type": "text", "text": "Good"}}
    piece = {"type": "event_delta", "event_id": "sevt_1", "delta": delta}
    whole = event("sevt_1", "agent.message", content=[{"type": "text", "text": "Good morning"}])
    assert [e.text for e in events(drafts(start, piece, whole))] == ["Good morning"]
    cut = drafts(say("sevt_0", "Hi"), start, piece)
    assert kinds(cut) == ["user_message"]
    assert "'Good'" in findings(cut)["managed-agents.unfinished-event"].message


def test_tokens_are_those_of_the_requests_and_the_last_snapshot_is_the_check() -> None:
    used = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}
    end = event("sevt_2", "span.model_request_end", model_request_start_id="sevt_1", model_usage=used)
    first = event("sevt_3", "session.usage", usage={"input_tokens": 1, "list_cost": {"amount": "187"}})
    last = event("sevt_4", "session.usage", usage={"input_tokens": 6, "output_tokens": 2})
    found = drafts(end, first, last)
    (usage,) = counted(found)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (5, 2, 7, 3)
    assert "states 6 input_tokens" in findings(found)["managed-agents.totals"].message
    assert sessions(found)[-1].metadata["total_cost_usd"] == "1.87"
    assert all(event.cost is None for event in events(found))


def test_a_count_that_is_not_stated_is_not_zero() -> None:
    (usage,) = counted(drafts(event("sevt_1", "span.model_request_end", model_usage={"output_tokens": 2})))
    assert usage.input_tokens is None and usage.cache_read_tokens is None


@pytest.mark.parametrize(
    ("ending", "phase"),
    [
        ([event("e", "session.status_idle", stop_reason={"type": "end_turn"})], "completed"),
        ([event("e", "session.status_idle", stop_reason={"type": "requires_action", "event_ids": []})], "active"),
        ([event("e", "session.status_idle", stop_reason={"type": "retries_exhausted"})], "crashed"),
        ([event("e", "session.status_running")], "active"),
        ([event("e", "session.error", error={"message": "x", "retry_status": {"type": "retrying"}})], None),
        (
            [
                event("e", "session.error", error={"message": "x", "retry_status": {"type": "terminal"}}),
                event("f", "session.status_terminated"),
            ],
            "crashed",
        ),
    ],
)
def test_how_a_session_ended_is_told_by_its_last_status(ending: list[Any], phase: str | None) -> None:
    assert sessions(drafts(say("sevt_1", "Hi"), *ending))[-1].phase == phase


def test_a_sub_agents_events_stand_below_the_event_that_started_it() -> None:
    found = events(read(managed_agents, jsonl(*SAMPLE)))
    below = [event for event in found if event.depth == 1]
    assert {event.parent for event in below if event.kind != "tool_result" and event.kind != "approval"} == {"sevt_12"}
    assert [event.kind for event in below][:2] == ["user_message", "tool_call"]
    assert [event.kind for event in found if event.depth == 0].count("user_message") == 3


def test_the_session_object_names_the_session_wherever_it_stands() -> None:
    found = drafts(say("sevt_1", "Hi"), SAMPLE[0])
    assert {session.external_id for session in sessions(found)} == {"sesn_orchard1"}
    wrapped = read(managed_agents, {"session": SAMPLE[0], "events": [say("sevt_1", "Hi")]})
    assert sessions(wrapped)[0].external_id == "sesn_orchard1" and sessions(wrapped)[-1].model == "claude-opus-5-5"


def test_the_first_half_gives_the_first_events_of_the_whole() -> None:
    lines = jsonl(*SAMPLE).splitlines(keepends=True)
    before, after = (events(read(managed_agents, b"".join(part))) for part in (lines[:20], lines))
    assert before == after[: len(before)] and len(before) > 15


def test_an_event_knows_its_bytes() -> None:
    data = jsonl(*SAMPLE)
    for found in events(read(managed_agents, data)):
        assert json.loads(data[found.offset : found.offset + found.length])


def test_invalid_json_is_refused() -> None:
    with pytest.raises(FormatError):
        list(managed_agents.read(io.BytesIO(b"hello\n")))


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            assert_sound(read(managed_agents, value))
            if isinstance(value[0], dict):
                assert_sound(read(managed_agents, jsonl(*value)))


def test_without_a_session_object_the_first_thread_that_runs_names_the_agent() -> None:
    running = event("sevt_2", "session.thread_status_running", session_thread_id="t", agent_name="Irrigator")
    assert sessions(drafts(say("sevt_1", "Hi"), running))[0].agent_name == "Irrigator"
