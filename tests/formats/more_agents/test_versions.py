"""Older and newer versions of what agents write, files that begin in the middle, and members that are left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told
from vcon_app import registry
from vcon_app.drafts import SessionDraft
from vcon_app.formats.common.head import Head

AT = "2026-03-02T08:00:00Z"
SAID: dict[str, Any] = {
    "type": "message", "id": "e2", "parentId": "e1", "timestamp": AT,
    "message": {
        "role": "assistant", "content": [{"type": "text", "text": "Oiled."}], "model": "sand-1", "stopReason": "stop",
        "usage": {"input": 7, "output": 3, "cacheRead": 2, "cacheWrite": 1},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "header", [{"id": "s1"}, {"cwd": "/w"}, {"id": "s1", "cwd": "/w", "version": 3}, {"id": "s1", "timestamp": AT}]
)
def test_pi_is_known_by_any_of_its_headers(header: dict[str, Any]) -> None:
    assert tokens(told(jsonl({"type": "session", **header}, SAID), "pi")) == [7, 2, 1, 3]


def test_oh_my_pi_has_the_title_before_the_header() -> None:
    title = {"type": "title", "v": 1, "title": "The hinge"}
    drafts = told(jsonl(title, {"type": "session", "id": "s1", "timestamp": AT, "title": "First"}, SAID), "pi")
    assert session(drafts).title == "The hinge"
    assert "unknown" not in {event.kind for event in events(drafts)}


def test_pi_is_read_from_the_middle_of_a_file_and_with_times_in_its_messages() -> None:
    said = {**SAID, "message": {**SAID["message"], "timestamp": 1_772_438_400_000}}
    del said["timestamp"]
    drafts = told(jsonl(said), "pi")
    assert tokens(drafts) == [7, 2, 1, 3]
    assert events(drafts)[-1].at is not None


@pytest.mark.parametrize("cache", [{"cache": {"read": 2, "write": 1}}, {"cacheRead": 2, "cacheCreation": 1}])
def test_pi_has_had_other_names_for_the_cache(cache: dict[str, Any]) -> None:
    message = {**SAID["message"], "usage": {"input": 7, "output": 3} | cache}
    drafts = told(jsonl({"type": "session", "id": "s", "timestamp": AT}, {**SAID, "message": message}), "pi")
    assert tokens(drafts) == [7, 2, 1, 3]


def wire(*messages: tuple[str, dict[str, Any]]) -> bytes:
    rows = ({"timestamp": 1_772_438_400 + n, "message": {"type": kind, "payload": payload}}
            for n, (kind, payload) in enumerate(messages))  # fmt: skip
    return jsonl(*rows)


def test_kimi_tells_what_a_sub_agent_did_below_its_call_and_counts_it() -> None:
    used = {"input_other": 9, "output": 4, "input_cache_read": 5, "input_cache_creation": 0}
    data = wire(
        ("TurnBegin", {"user_input": "Count the bolts."}),
        ("ToolCall", {"id": "t1", "function": {"name": "Task", "arguments": "{}"}}),
        ("SubagentEvent", {"task_tool_call_id": "t1", "event": {"type": "TurnBegin", "payload": {"user_input": "Go"}}}),
        ("SubagentEvent", {"task_tool_call_id": "t1", "subagent_type": "coder", "event": {
            "type": "ContentPart", "payload": {"type": "text", "text": "Forty bolts."}}}),
        ("SubagentEvent", {"task_tool_call_id": "t1", "event": {"type": "StatusUpdate", "payload": {
            "token_usage": used, "message_id": "m1"}}}),
    )  # fmt: skip
    drafts = told(data, "kimi")
    call = next(event for event in events(drafts) if event.kind == "tool_call")
    said = next(event for event in events(drafts) if event.text == "Forty bolts.")
    assert (said.kind, said.actor_kind, said.actor_name, said.parent) == (
        "agent_message", "subagent", "coder", call.key
    )  # fmt: skip
    assert [event.text for event in events(drafts) if event.kind == "user_message"] == ["Count the bolts."]
    assert tokens(drafts) == [9, 5, 0, 4]


def test_kimi_tells_questions_beside_a_turn_plans_and_why_a_call_was_refused() -> None:
    data = wire(
        ("BtwBegin", {"id": "b", "question": "Which oil?"}), ("BtwEnd", {"id": "b", "response": "Linseed."}),
        ("BtwEnd", {"id": "c", "response": None, "error": "No model"}),
        ("PlanDisplay", {"content": "1. Oil it", "file_path": "/w/plan.md"}),
        ("ApprovalRequest", {"id": "a", "tool_call_id": "t", "action": "run", "description": "Run it"}),
        ("ApprovalResponse", {"request_id": "a", "response": "reject", "feedback": "Not today"}),
    )  # fmt: skip
    found = [(event.kind, event.text) for event in events(told(data, "kimi"))]
    assert found == [
        ("user_message", "Which oil?"), ("agent_message", "Linseed."), ("error", "No model"),
        ("artifact", "1. Oil it"), ("approval", "Run it"), ("approval", "Not today"),
    ]  # fmt: skip


def test_kimi_joins_what_a_model_streamed_of_a_call_and_of_a_text() -> None:
    def child(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "SubagentEvent", {"parent_tool_call_id": "t1", "event": {"type": kind, "payload": payload}}

    def call(call_id: str, begun: str | None) -> dict[str, Any]:
        return {"type": "function", "id": call_id, "function": {"name": "Shell", "arguments": begun}}

    messages = [
        ("ContentPart", {"type": "think", "think": "Which "}), ("ContentPart", {"type": "think", "think": "oil?"}),
        ("ContentPart", {"type": "text", "text": "I lo"}), ("ContentPart", {"type": "text", "text": "ok."}),
        ("ToolCall", call("t1", '{"comm')), ("ToolCallPart", {"arguments_part": 'and": '}),
        ("ToolCallPart", {"arguments_part": None}), ("ToolCallPart", {"arguments_part": '"ls"}'}),
        ("ToolResult", {"tool_call_id": "t1", "return_value": {"is_error": False, "output": "linseed"}}),
        ("ToolCall", {"id": "t3"}), ("ToolCallPart", {"arguments_part": "{}"}),
        child("ToolCall", call("t2", None)), child("ToolCallPart", {"arguments_part": '{"command": "pwd"}'}),
        ("ToolCallPart", {"arguments_part": "astray"}),
    ]  # fmt: skip
    found = events(told(wire(*messages), "kimi"))
    assert [(event.kind, event.text) for event in found[:3]] == [
        ("reasoning", "Which oil?"), ("agent_message", "I look."), ("tool_call", ""),
    ]  # fmt: skip
    arguments = [event.tool.arguments for event in found if event.kind == "tool_call" and event.tool]
    assert arguments == [{"command": "ls"}, {}, {"command": "pwd"}]
    assert found[3].parent == found[2].key


def test_kimi_is_read_as_it_was_sent_to_a_client() -> None:
    sent = [
        {"jsonrpc": "2.0", "method": "event", "params": {"type": "TurnBegin", "payload": {"user_input": "Oil it"}}},
        {"jsonrpc": "2.0", "method": "event", "params": {"type": "ContentPart", "payload": {
            "type": "text", "text": "Oiled"}}},
        {"jsonrpc": "2.0", "method": "request", "id": "1", "params": {"type": "ApprovalRequest", "payload": {
            "id": "a", "tool_call_id": "t", "action": "run", "description": "Run it"}}},
    ]  # fmt: skip
    found = events(told(jsonl(*sent), "kimi"))
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Oil it"), ("agent_message", "Oiled"), ("approval", "Run it"),
    ]  # fmt: skip


ROW: dict[str, Any] = {"type": "say", "say": "text", "text": "Grease the hub."}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([{**ROW, "say": "task"}], "cline-classic"),
        ([{"role": "user", "content": [{"type": "text", "text": "<user_message>\nOil\n</user_message>"}], "ts": 1}],
         "cline-classic"),
        ([{"role": "user", "content": [{"type": "text", "text": "Oil it"}], "ts": 1_772_438_400_000}], "cline-classic"),
        ({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "Done"}], "metrics": {
            "inputTokens": 5}}]}, "cline"),
        ({"tokenUsage": {"inputTokens": 4, "outputTokens": 2}, "assistantActiveTimeMs": 9}, "droid"),
        ({"model": "custom:sand", "autonomyMode": "auto-low", "reasoningEffort": "high"}, "droid"),
        ({"session_id": "v1", "start_time": AT, "stats": {"session_prompt_tokens": 3}}, "vibe"),
        ({"stats": {"usage_to_metrics": {"agent": {"accumulated_token_usage": {"prompt_tokens": 3}}}}}, "openhands"),
        ({"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [
            {"type": "text", "text": "Oil it"}]}}, "openhands"),
        ({"sessionId": "k", "history": [{"message": {"role": "user", "content": "Oil it", "id": "1"}}]}, "kiro"),
        ({"session_id": "h", "base_url": "https://x.example", "platform": "cli", "messages": [
            {"role": "user", "content": "Oil it"}]}, "hermes"),
        ({"sessionId": "g", "startTime": AT, "lastUpdated": AT, "messages": [
            {"id": "1", "timestamp": AT, "type": "user", "content": "Oil it"}]}, "gemini-cli"),
    ],
)  # fmt: skip
def test_a_document_is_known_without_what_may_be_left_out(value: Any, name: str) -> None:
    assert events(told(json.dumps(value).encode(), name))


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"type": "user", "content": "Oil it"}, {"type": "assistant", "content": "Done", "tool_calls": []}], "grok"),
        ([{"step_index": 0, "type": "USER_INPUT", "content": "Oil it"}], "antigravity"),
        ([{"source": "MODEL", "type": "PLANNER_RESPONSE", "content": "Done"}], "antigravity"),
        ([{"type": "user_input", "user_input": {"user_response": "Oil it"}}], "windsurf"),
        ([{"kind": "Prompt", "data": {"message_id": "m", "content": [{"kind": "text", "data": "Oil it"}]}}], "kiro"),
        ([{"role": "user", "content": [{"type": "toolResponse", "id": "t", "toolResult": {
            "status": "success", "value": [{"type": "text", "text": "Done"}]}}]}], "goose"),
        ([{"type": "session_start", "title": "Oil"}, {"type": "message", "message": {
            "role": "user", "content": [{"type": "text", "text": "Oil it"}]}}], "droid"),
    ],
)  # fmt: skip
def test_lines_are_known_without_what_may_be_left_out(rows: list[dict[str, Any]], name: str) -> None:
    assert any(event.text for event in events(told(jsonl(*rows), name)))


@pytest.mark.parametrize(
    "data",
    [
        json.dumps([{"role": "user", "content": "Oil it", "ts": 1}, {"role": "assistant", "content": "Done"}]).encode(),
        jsonl({"type": "user", "content": "Oil it"}, {"type": "assistant", "content": "Done"}),
    ],
)
def test_a_chat_that_any_program_may_have_written_is_not_said_to_be_of_one(data: bytes) -> None:
    assert registry.claims(Head(data), registry.readers()) in ([], ["openai-chat"])


def test_roo_says_what_a_condensation_cost_and_what_it_left() -> None:
    condensed = {"summary": "Two hubs are greased.", "cost": 0.25, "prevContextTokens": 9000, "newContextTokens": 800}
    row = {"type": "say", "say": "condense_context", "ts": 2, "contextCondense": condensed}
    told_of = events(told(json.dumps([{**ROW, "ts": 1}, row]).encode(), "cline-classic"))[-1]
    assert (told_of.kind, told_of.text, told_of.cost) == ("compaction", "Two hubs are greased.", Decimal("0.25"))


def test_grok_says_at_the_end_of_a_turn_what_it_used_by_model() -> None:
    used = {
        "inputTokens": 90,
        "cachedReadTokens": 50,
        "outputTokens": 8,
        "reasoningTokens": 3,
        "costUsdTicks": 25_000_000,
    }

    def turn(update: dict[str, Any]) -> dict[str, Any]:
        return {"method": "session/update", "timestamp": 1_772_438_400, "params": {"sessionId": "g", "update": update}}

    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Done"}}
    ends = [
        {"sessionUpdate": "turn_completed", "prompt_id": "p1", "usage": used},
        {"sessionUpdate": "turn_completed", "prompt_id": "p2", "usage": {"modelUsage": {"grok-sand": used}}},
    ]
    drafts = told(jsonl(turn(said), *map(turn, ends)), "acp")
    assert tokens(drafts) == [80, 100, 0, 16]
    assert [event.cost for event in events(drafts) if event.usage] == [Decimal("0.0025")] * 2
    assert events(drafts)[-1].model == "grok-sand"


def test_openhands_tells_calls_of_an_agent_behind_the_agent_client_protocol() -> None:
    call = {"kind": "ACPToolCallEvent", "source": "agent", "timestamp": "2026-03-02T08:00:00", "tool_call_id": "c",
            "title": "Read the gauge", "tool_kind": "read", "raw_input": {"path": "/w/gauge"}}  # fmt: skip
    ended = {**call, "id": "2", "status": "completed", "content": [
        {"type": "content", "content": {"type": "text", "text": "4 bar"}}]}  # fmt: skip
    found = events(told(jsonl({**call, "id": "1", "status": "pending"}, ended), "openhands"))
    assert [(event.kind, event.text) for event in found] == [("tool_call", ""), ("tool_result", "4 bar")]
    assert found[0].tool and found[0].tool.arguments == {"path": "/w/gauge"}
    assert found[1].tool and found[1].tool.status == "ok"


@pytest.mark.parametrize("key", ["stats", "full_state"])
def test_openhands_counts_the_last_total_that_its_server_sent(key: str) -> None:
    def sent(number: int, given: int, output: int) -> dict[str, Any]:
        used = {"prompt_tokens": given, "completion_tokens": output, "cache_read_tokens": 3, "cache_write_tokens": 0}
        stats = {"usage_to_metrics": {"agent": {
            "model_name": "sand-1", "accumulated_cost": 0.5 * number, "accumulated_token_usage": used}}}  # fmt: skip
        value = stats if key == "stats" else {"id": "o", "stats": stats}
        return {"kind": "ConversationStateUpdateEvent", "id": f"{number}", "source": "environment",
                "timestamp": "2026-03-02T08:00:00", "key": key, "value": value}  # fmt: skip

    found = events(told(jsonl(sent(1, 13, 2), sent(2, 43, 9)), "openhands"))
    totals = [event for event in found if event.usage]
    assert {event.request for event in totals} == {"total:agent"}
    assert [event.usage and (event.usage.input_tokens, event.usage.output_tokens) for event in totals] == [
        (10, 2), (40, 9),
    ]  # fmt: skip
    assert totals[-1].cost == Decimal(1)


@pytest.mark.parametrize("own", [None, {"inputTokens": 11, "outputTokens": 6}])
def test_amp_counts_the_ledger_of_older_threads_where_no_message_says_what_it_used(own: Any) -> None:
    answer = {"role": "assistant", "messageId": 1, "content": [{"type": "text", "text": "Done"}]}
    entry = {"model": "sand-1", "tokens": {"input": 9, "output": 4}, "operationType": "inference", "toMessageId": 1}
    asked = {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Oil it"}]}
    thread = {
        "v": 1, "id": "T-1", "created": 1_772_438_400_000, "usageLedger": {"events": [entry, entry]},
        "messages": [asked, answer | ({"usage": own} if own else {})],
    }  # fmt: skip
    assert tokens(told(json.dumps(thread).encode(), "amp")) == ([11, 0, 0, 6] if own else [18, 0, 0, 8])


@pytest.mark.parametrize("at", [1_772_438_400, 1_772_438_400_000, 1_772_438_400_000_000, 1_772_438_400_000_000_000])
@pytest.mark.parametrize("kind", [int, str, float])
def test_a_time_may_be_counted_in_any_unit_and_as_text(at: int, kind: type) -> None:
    lines = jsonl({"type": "session", "id": "s", "version": 3}, {**SAID, "timestamp": kind(at)})
    found = events(told(lines, "pi"))[-1]
    assert found.at == datetime(2026, 3, 2, 8, tzinfo=UTC)


UUID = "0f0e0d0c-1111-4222-8333-444455556666"


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"type": "message", "id": UUID, "timestamp": AT, "message": {"role": "user", "content": "Oil it"}}], "droid"),
        ([{"type": "message", "id": "0a1b2c3d", "parentId": None, "message": {"role": "user", "content": "X"}}], "pi"),
        ([{"type": "model_change", "id": "0a1b2c3d", "parentId": None, "timestamp": AT, "modelId": "sand"}], "pi"),
        ([{"type": "gemini", "id": "1", "timestamp": AT, "content": "Done", "model": "sand"}], "gemini-cli"),
        ([{"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {}}}], "claude-code"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_one_line_of_a_file_is_known_on_one_line_and_on_many(rows: Any, name: str, indent: int | None) -> None:
    assert events(told("\n".join(json.dumps(row, indent=indent) for row in rows).encode(), name))


def test_roo_tells_what_a_search_of_the_code_found_as_its_result() -> None:
    asked = {"type": "ask", "ask": "tool", "ts": 2, "text": json.dumps({"tool": "codebaseSearch", "query": "oil"})}
    found = {"type": "say", "say": "codebase_search_result", "ts": 3, "text": json.dumps({"results": ["oil.py"]})}
    last = events(told(json.dumps([{**ROW, "ts": 1}, asked, found]).encode(), "cline-classic"))[-2:]
    assert [event.kind for event in last] == ["tool_call", "tool_result"]
    assert last[1].parent == last[0].key


def test_goose_exports_a_session_as_one_document() -> None:
    said = {"role": "user", "created": 1_772_438_400, "content": [{"type": "text", "text": "Oil it"}]}
    export = {
        "id": "g", "name": "The hinge", "working_dir": "/w", "conversation": [said, {**said, "role": "assistant"}],
        "model_config": {"model_name": "sand-1"}, "accumulated_input_tokens": 5, "accumulated_output_tokens": 3,
    }  # fmt: skip
    drafts = told(json.dumps(export, indent=2).encode(), "goose")
    assert [event.kind for event in events(drafts)] == ["model_request", "user_message", "agent_message"]
    assert (session(drafts).title, session(drafts).model, tokens(drafts)) == ("The hinge", "sand-1", [5, 0, 0, 3])


def test_hermes_writes_trajectories_for_training_a_run_on_each_line() -> None:
    call = json.dumps({"name": "look", "arguments": {"at": "shelf"}})
    brought = json.dumps({"tool_call_id": "x", "name": "look", "content": "linseed"})
    turns = [
        {"from": "system", "value": "You oil things."},
        {"from": "human", "value": "Oil it"},
        {"from": "gpt", "value": f"<think>\nWhich oil?\n</think>\n<tool_call>\n{call}\n</tool_call>"},
        {"from": "tool", "value": f"<tool_response>\n{brought}\n</tool_response>"},
        {"from": "gpt", "value": "<think>\n</think>\nOiled with linseed."},
    ]  # fmt: skip
    run = {"conversations": turns, "timestamp": "2026-03-02T08:00:00", "model": "sand-1", "completed": True}
    drafts = told(jsonl(run, {**run, "conversations": turns[1:]}), "hermes")
    names = {draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}
    found = events(drafts)[:6]
    assert len(names) == 2
    assert [(event.kind, event.text) for event in found] == [
        ("system", "You oil things."), ("user_message", "Oil it"), ("reasoning", "Which oil?"), ("tool_call", ""),
        ("tool_result", "linseed"), ("agent_message", "Oiled with linseed."),
    ]  # fmt: skip
    assert found[4].parent == found[3].key
    assert found[3].model == "sand-1"


def test_a_date_without_signs_is_not_taken_for_a_count() -> None:
    lines = jsonl({"type": "session", "id": "s", "version": 3}, {**SAID, "timestamp": "20260302101500"})
    assert events(told(lines, "pi"))[-1].at is None


TIME = 1_772_438_400_000
ASKED = {"role": "user", "content": [{"type": "text", "text": "Oil it"}], "timestamp": TIME}
CALLED = {
    **SAID["message"], "content": [{"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}],
    "stopReason": "toolUse", "timestamp": TIME + 1,
}  # fmt: skip
BROUGHT = {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": False, "timestamp": TIME + 2,
           "content": [{"type": "text", "text": "linseed"}]}  # fmt: skip
DONE = {**SAID["message"], "timestamp": TIME + 3}
STREAM: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": "/w"},
    {"type": "agent_start"}, {"type": "turn_start"},
    *({"type": kind, "message": ASKED} for kind in ("message_start", "message_end")),
    {"type": "message_start", "message": {**CALLED, "content": []}},
    {"type": "message_update", "message": CALLED, "assistantMessageEvent": {"type": "toolcall_end"}},
    {"type": "message_end", "message": CALLED},
    {"type": "tool_execution_start", "toolCallId": "c", "toolName": "bash", "args": {}},
    {"type": "tool_execution_end", "toolCallId": "c", "toolName": "bash", "isError": False, "result": {
        "content": BROUGHT["content"]}},
    {"type": "message_end", "message": BROUGHT}, {"type": "turn_end", "message": CALLED, "toolResults": [BROUGHT]},
    {"type": "message_update", "message": {**DONE, "content": [{"type": "text", "text": "Oi"}]}},
    {"type": "message_end", "message": DONE}, {"type": "turn_end", "message": DONE, "toolResults": []},
    {"type": "agent_end", "messages": [ASKED, CALLED, BROUGHT, DONE]},
]  # fmt: skip
WHOLE = ["user_message", "tool_call", "tool_result", "agent_message"]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({line["type"] for line in STREAM}, WHOLE), ({"message_end"}, WHOLE), ({"agent_end"}, WHOLE),
        ({"turn_end"}, WHOLE[1:]), ({"agent_start", "message_end", "turn_end", "agent_end"}, WHOLE),
    ],
    ids=lambda kinds: f"{len(kinds)}",
)  # fmt: skip
def test_what_pi_prints_is_told_once_whichever_of_its_events_are_there(kinds: set[str], expected: list[str]) -> None:
    drafts = told(jsonl(*(line for line in STREAM if line["type"] in kinds)), "pi")
    found = [event for event in events(drafts) if event.data.get("type") != "session"]
    assert [event.kind for event in found] == expected
    assert tokens(drafts) == [14, 4, 2, 6]


def test_of_a_message_that_pi_never_ended_the_last_piece_is_told() -> None:
    last = events(told(jsonl(*STREAM[:13]), "pi"))[-1]
    assert (last.kind, last.text, last.usage and last.usage.quality) == ("agent_message", "Oi", "interrupted")


@pytest.mark.parametrize("kind", ["auto_compaction_end", "compaction_end"])
def test_pi_prints_what_a_compaction_left(kind: str) -> None:
    compacted = {"type": kind, "result": {"summary": "The hinge is oiled.", "tokensBefore": 9}, "aborted": False}
    last = events(told(jsonl(*STREAM, compacted), "pi"))[-1]
    assert (last.kind, last.text) == ("compaction", "The hinge is oiled.")


def test_events_of_any_other_agent_that_begin_and_end_are_not_pis() -> None:
    said = {"type": "message_end", "message": {"role": "assistant", "content": "Oiled"}}
    assert "pi" not in registry.claims(Head(jsonl({"type": "agent_start"}, said)), registry.readers())


def test_cline_tells_what_sub_agents_did_and_counts_what_they_used() -> None:
    def row(way: str, kind: str, value: Any) -> dict[str, Any]:
        return {"type": way, way: kind, "ts": 1, "text": value if isinstance(value, str) else json.dumps(value)}

    used = {"tokensIn": 9, "tokensOut": 4, "cacheReads": 2, "cacheWrites": 1, "cost": 0.5}
    prompts = {"prompts": ["Count the bolts"]}
    rows = [
        row("say", "task", "Oil it"), row("say", "api_req_started", {**used, "tokensIn": 100}),
        row("ask", "use_subagents", prompts), row("say", "use_subagents", prompts),
        row("say", "subagent", {"status": "completed", "items": [{"prompt": "Count the bolts", "result": "Forty"}]}),
        row("say", "subagent_usage", {"source": "subagents", **used}),
        row("ask", "act_mode_respond", {"response": "Forty bolts, and oiled."}),
        row("say", "command_permission_denied", "rm -r /w"),
        row("say", "api_req_started", {"streamingFailedMessage": "The line went dead"}),
        row("say", "plan_completion_result", "Next the hub."),
    ]  # fmt: skip
    drafts = told(json.dumps(rows).encode(), "cline-classic")
    assert tokens(drafts) == [109, 4, 2, 8]
    assert [event.cost for event in events(drafts) if event.usage] == [Decimal("0.5")] * 2
    assert len({event.request for event in events(drafts) if event.usage}) == 2
    found = [(event.kind, event.text) for event in events(drafts) if event.kind != "model_request"]
    assert found[1:] == [
        ("tool_call", ""), ("status", ""), ("tool_result", rows[4]["text"]),
        ("agent_message", "Forty bolts, and oiled."), ("approval", "rm -r /w"), ("error", "The line went dead"),
        ("agent_message", "Next the hub."),
    ]  # fmt: skip
