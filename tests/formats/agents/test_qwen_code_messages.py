"""What lines say: prompts, thoughts, calls and answers to them, tokens, branches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.formats.corpus import calls_in
from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, Usage
from vcon_app.formats import qwen_code
from vcon_app.formats.common.head import Head

from ..checks import check_odd_values, drafts_of, events, findings, jsonl, session

SESSION = "6f1d2c3b-0000-4000-8000-000000000001"


def line(kind: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    message = {"message": {"role": role, "parts": list(parts)}} if parts else {}
    base = {"uuid": "u1", "sessionId": SESSION, "timestamp": "2026-10-05T08:00:00Z", "type": kind, "cwd": "/srv"}
    return base | message | more


def system(subtype: str, **payload: Any) -> dict[str, Any]:
    return line("system", subtype=subtype, systemPayload=payload)


def call(name: str = "rm", call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def result(status: str, **response: Any) -> dict[str, Any]:
    answer = {"functionResponse": {"id": "c1", "name": "rm", "response": response}}
    return line("tool_result", answer, toolCallResult={"callId": "c1", "status": status})


def decided(decision: str) -> dict[str, Any]:
    event = {"event.name": "qwen-code.tool_call", "function_name": "rm", "function_args": {}, "decision": decision}
    return system("ui_telemetry", uiEvent=event)


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(qwen_code, jsonl(*values))


def told(*values: dict[str, Any]) -> list[EventDraft]:
    return events(drafts(*values))


def kinds(*values: dict[str, Any]) -> list[str]:
    return [event.kind for event in told(*values)]


def test_pieces_of_a_thought_are_one_and_the_last_part_carries_the_tokens() -> None:
    counts = {"promptTokenCount": 100, "candidatesTokenCount": 9, "cachedContentTokenCount": 40}
    parts = [{"text": "Let me", "thought": True}, {"text": " see.", "thought": True}, {"text": "Sorted"}, {"text": "."}]
    found = told(line("assistant", *parts, call(), usageMetadata=counts, model="qwen3-coder-plus"))
    assert [(event.kind, event.text) for event in found] == [
        ("reasoning", "Let me see."), ("agent_message", "Sorted."), ("tool_call", ""),
    ]  # fmt: skip
    assert [event.usage for event in found] == [None, None, Usage(60, 40, None, 9)]
    assert {event.model for event in found} == {"qwen3-coder-plus"}


@pytest.mark.parametrize(("total", "output"), [(109, 9), (114, 14), (None, 14)])
def test_thoughts_are_inside_or_outside_as_the_total_tells(total: int | None, output: int) -> None:
    counts = {"promptTokenCount": 100, "candidatesTokenCount": 9, "thoughtsTokenCount": 5, "totalTokenCount": total}
    assert told(line("assistant", {"text": "x"}, usageMetadata=counts))[0].usage == Usage(100, None, None, output, 5)


def test_a_response_without_parts_still_counts() -> None:
    found = told(line("assistant", usageMetadata={"promptTokenCount": 5}, message={"parts": []}))[0]
    assert found.kind == "model_request" and found.usage == Usage(input_tokens=5)


def test_telemetry_repeats_tokens_and_tells_what_the_responses_miss() -> None:
    event = {"event.name": "qwen-code.api_response", "input_token_count": 100, "output_token_count": 30}
    found = drafts(line("assistant", {"text": "x"}, usageMetadata={"promptTokenCount": 100, "candidatesTokenCount": 9}),
                   system("ui_telemetry", uiEvent=event))  # fmt: skip
    assert sum(event.usage is not None for event in events(found)) == 1
    assert "30 output tokens, the responses in the file 9" in findings(found)["qwen-code.total"].message


def test_text_added_to_a_prompt_is_context() -> None:
    found = told(line("user", {"text": "Sort @a"}, {"text": "…"}, systemPayload={"displayText": "Sort @a"}))
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Sort @a"), ("injected_context", "Sort @a\n…"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "more", [{"subtype": "notification"}, {"provenance": "goal_control"}, {"provenance": "system"}]
)
def test_injected_messages_start_no_turn(more: dict[str, str]) -> None:
    assert kinds(line("user", {"text": "Done."}, **more)) == ["injected_context"]


@pytest.mark.parametrize(
    ("status", "response", "outcome"),
    [
        ("success", {"output": "ok"}, "ok"),
        ("error", {"error": "no"}, "error"),
        ("cancelled", {"error": "[Operation Cancelled]"}, "cancelled"),
        ("executing", {"output": "…"}, None),
        ("executing", {"error": "no"}, "error"),
    ],
)
def test_a_result_says_how_it_went(status: str, response: dict[str, str], outcome: str | None) -> None:
    found = told(line("assistant", call()), result(status, **response))
    tool = found[1].tool
    assert tool and (tool.status, tool.name, found[1].parent) == (outcome, "rm", found[0].key)


def test_a_persons_answer_is_an_approval_and_a_rule_is_not() -> None:
    found = told(line("assistant", call()), decided("accept"), result("success", output=""))
    assert [event.kind for event in found] == ["tool_call", "approval", "tool_result"]
    assert found[1].data["decision"] == "approved" and found[1].data["inferred"] is False
    assert found[1].parent == found[0].key
    assert kinds(line("assistant", call()), decided("auto_accept")) == ["tool_call", "system"]


def test_refusal_becomes_one_approval() -> None:
    refused = result("cancelled", error="[Operation Cancelled] Reason: User did not allow tool call")
    assert kinds(line("assistant", call()), decided("reject"), refused) == ["tool_call", "approval", "tool_result"]
    found = told(line("assistant", call()), refused)
    assert [event.kind for event in found] == ["tool_call", "approval", "tool_result"]
    assert found[1].data["inferred"] is True and found[2].tool and found[2].tool.status == "denied"


def test_lines_of_one_message_share_its_uuid_and_have_keys_of_their_own() -> None:
    found = told(line("assistant", {"text": "a", "thought": True}), line("assistant", {"text": "b"}))
    assert found[0].key == "u1" and found[1].key.startswith("u1:")


def test_a_title_by_hand_beats_a_generated_one() -> None:
    titles = [system("custom_title", customTitle="A", titleSource="auto"), system("custom_title", customTitle="B"),
              system("custom_title", customTitle="C", titleSource="auto")]  # fmt: skip
    assert [session(drafts(*titles[:n])).title for n in (1, 2, 3)] == ["A", "B", "B"]


def test_a_branch_counts_only_what_is_new() -> None:
    copied = {"forkedFrom": {"sessionId": "old", "messageUuid": "u1"}}
    found = drafts(
        line("user", {"text": "Sort."}, **copied), line("assistant", call(), **copied), line("user", {"text": "Go."})
    )
    assert [event.kind for event in events(found)] == ["injected_context", "injected_context", "user_message"]
    assert calls_in(found) == 0 and session(found).metadata["forked_from"] == "old"


def test_a_session_that_another_one_started_stands_below_it() -> None:
    assert session(drafts(system("parent_session", parentSessionId="p"))).parent_external_id == "p"


def test_a_sub_agents_lines_in_its_parents_file_are_one_level_down() -> None:
    side = {"isSidechain": True, "agentId": "explore-7f3c", "agentName": "Explore"}
    found = told(line("user", {"text": "Sort."}), line("assistant", {"text": "Nine."}, **side))
    assert [(event.depth, event.actor_kind, event.actor_name) for event in found] == [
        (0, "person", ""), (1, "subagent", "Explore"),
    ]  # fmt: skip


def test_a_typed_command_is_a_persons_act_unless_the_model_gets_it() -> None:
    command = {"phase": "invocation", "rawCommand": "/review all"}
    found = told(system("slash_command", **command), system("slash_command", **command, sentToModel=True))
    assert [event.kind for event in found] == ["user_message", "system"]
    assert found[0].data == {"command": "/review", "args": "all"}


def test_unknown_subtypes_and_parts_are_kept_raw() -> None:
    found = drafts(system("moon"), line("assistant", {"song": 1}), line("dance"))
    assert [event.kind for event in events(found)] == ["unknown"] * 3
    assert events(found)[1].data["raw"] == {"song": 1}


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    paths = sorted((SAMPLES / "qwen-code").glob("*.jsonl"))
    lines = [json.loads(text) for path in paths for text in path.read_text().splitlines()]
    check_odd_values(qwen_code, jsonl(line("user", {"text": "Sort."})), lines)


@pytest.mark.parametrize(
    "value",
    [
        {"uuid": "u", "sessionId": "s", "type": "user", "message": {"content": "Claude Code"}},
        {"id": "1", "sessionId": "s", "message": {"parts": []}},
        {"uuid": "u", "parts": []},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: dict[str, Any]) -> None:
    assert not qwen_code.detect(Head(jsonl(value)))


def test_two_objects_glued_on_the_first_line_are_recognised() -> None:
    glued = jsonl(line("user", {"text": "a"}))[:-1] + jsonl(line("assistant", {"text": "b"}, uuid="u2"))
    assert qwen_code.detect(Head(glued))
    assert [event.kind for event in events(drafts_of(qwen_code, glued))] == ["user_message", "agent_message"]
