"""What programs around Codex log of its work: the events of its core, and the messages of its app server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told

THREAD, CHILD = "0199b2a0-0000-7000-8000-00000000000a", "0199b2a0-0000-7000-8000-00000000000b"
USED = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 10, "reasoning_output_tokens": 3}
SPENT = {"inputTokens": 100, "cachedInputTokens": 40, "outputTokens": 10, "totalTokens": 110}


def core(kind: str, **members: Any) -> dict[str, Any]:
    return {"id": "0", "msg": {"type": kind, **members}}


def rpc(method: str, /, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": THREAD, **params}}


def item(kind: str, /, stage: str = "completed", **members: Any) -> dict[str, Any]:
    return rpc(f"item/{stage}", turnId="t", item={"type": kind, **members})


def used(total: int, last: int) -> dict[str, Any]:
    stated = {"total": {"inputTokens": total, "outputTokens": 0}, "last": {"inputTokens": last, "outputTokens": 0}}
    return rpc("thread/tokenUsage/updated", turnId="t", tokenUsage=stated)


def said(values: list[dict[str, Any]]) -> list[tuple[str, str]]:
    found = events(told(jsonl(*values), "codex"))
    return [(event.kind, event.text) for event in found if event.kind not in ("system", "model_request")]


WORK = [
    core("task_started"),
    core("agent_reasoning", text="Which oil?"),
    core("exec_command_begin", call_id="c", command=["ls", "-l"], cwd="/w"),
    core("exec_command_output_delta", call_id="c", chunk="bGlu"),
    core("exec_command_end", call_id="c", stdout="linseed", stderr="", exit_code=0),
    core("agent_message_delta", delta="Oil"),
    core("agent_message", message="Oiled."),
]
TOLD = [
    ("user_message", "Oil it"), ("reasoning", "Which oil?"), ("tool_call", ""), ("tool_result", "linseed"),
    ("agent_message", "Oiled."),
]  # fmt: skip


@pytest.mark.parametrize("count", [{"info": {"total_token_usage": USED, "last_token_usage": USED}}, USED])
def test_what_exec_printed_before_its_items_is_a_session(count: dict[str, Any]) -> None:
    begun = [{"model": "sand-1", "workdir": "/w", "provider": "sandco"}, {"prompt": "Oil it"}]
    values = [*begun, *WORK, core("token_count", **count), core("task_complete", last_agent_message="Oiled.")]
    assert said(values) == TOLD
    found = told(jsonl(*values), "codex")
    assert tokens(found) == [60, 40, 0, 10]
    assert (session(found).model, session(found).phase) == ("sand-1", "completed")
    assert session(found).metadata["environment"] == {"cwd": "/w"}


def test_events_of_a_server_and_of_the_log_of_a_screen_are_the_same() -> None:
    begun = core("session_configured", session_id=THREAD, model="sand-1")
    work = [begun, core("user_message", message="Oil it"), *WORK]
    sent = [{"jsonrpc": "2.0", "method": "codex/event", "params": one} for one in work]
    logged = [{"ts": "2026-03-02T08:00:00Z", "dir": "to_tui", "kind": "codex_event", "payload": one} for one in work]
    assert said(sent) == said(logged) == TOLD
    assert session(told(jsonl(*sent), "codex")).external_id == THREAD


@pytest.mark.parametrize("change", [{"add": {"content": "a\n"}}, {"type": "add", "content": "a\n"}])
def test_a_patch_of_the_core_is_told_once_with_its_files(change: dict[str, Any]) -> None:
    begun = core("patch_apply_begin", call_id="p", changes={"/w/a": change})
    for ended in ({}, {"changes": {"/w/a": change}}):
        values = [core("task_started"), begun, core("patch_apply_end", call_id="p", success=True, **ended)]
        assert said(values) == [("file_change", "--- /w/a\n+++ /w/a\n@@ -0,0 +1,1 @@\n+a\n")]


def test_a_thread_that_the_app_server_gives_back_is_a_session() -> None:
    items = [{"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "Oil it"}]},
             {"type": "agentMessage", "id": "a", "text": "Oiled."}]  # fmt: skip
    found = said([{"id": 1, "result": {"thread": {"id": THREAD, "turns": [{"id": "t", "items": items}]}}}])
    assert found == [("user_message", "Oil it"), ("agent_message", "Oiled.")]


def test_two_dialects_of_one_server_are_told_once() -> None:
    begun = {"id": 1, "result": {"thread": {"id": THREAD}, "model": "sand-1", "cwd": "/w"}}
    asked = {"id": 2, **rpc("turn/start", input=[{"type": "text", "text": "Oil it"}])}
    event = {"method": "codex/event/agent_message", "params": {**core("agent_message", message="Oiled.")}}
    prompt = item("userMessage", id="u", content=[{"type": "text", "text": "Oil it"}])
    found = told(jsonl(begun, asked, prompt, event, item("agentMessage", id="a", text="Oiled.")), "codex")
    assert [event.text for event in events(found) if event.text] == ["Oil it", "Oiled."]
    assert {event.model for event in events(found) if event.kind == "agent_message"} == {"sand-1"}


def test_items_of_the_app_server_are_calls_changes_and_words() -> None:
    command = {"id": "c", "command": "ls", "cwd": "/w", "aggregatedOutput": "linseed", "exitCode": 0}
    update = {"path": "/w/a", "kind": {"type": "update", "move_path": None}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}
    values = [
        item("commandExecution", "started", **command, status="inProgress"),
        item("commandExecution", **command, status="completed"),
        item("fileChange", id="f", changes=[update], status="completed"),
        item("reasoning", id="r", summary=["Which oil?"], content=[]),
        item("mcpToolCall", id="m", server="shop", tool="buy", arguments={"oil": 1}, status="failed",
             error={"message": "closed"}),
        item("hookPrompt", id="h", fragments=[{"text": "Be kind", "hookRunId": "1"}]),
        item("plan", id="p", text="First the hinge"),
        rpc("turn/completed", turn={"id": "t", "status": "interrupted"}),
    ]  # fmt: skip
    assert said(values) == [
        ("tool_call", ""), ("tool_result", "linseed"), ("file_change", "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-a\n+b\n"),
        ("reasoning", "Which oil?"), ("tool_call", ""), ("tool_result", "closed"), ("injected_context", "Be kind"),
        ("agent_message", "First the hinge"), ("status", ""),
    ]  # fmt: skip
    found = told(jsonl(*values), "codex")
    assert [event.tool.status for event in events(found) if event.tool and event.kind == "tool_result"] == [
        "ok", "error",
    ]  # fmt: skip
    assert session(found).phase == "cancelled"


def test_tokens_that_a_resumed_thread_had_before_are_not_counted_again() -> None:
    past = {"id": "t0", "items": [{"type": "agentMessage", "id": "a0", "text": "Before"}]}
    resumed = {"id": 1, "result": {"thread": {"id": THREAD, "turns": [past]}, "model": "sand-1"}}
    values = [resumed, used(500, 200), rpc("turn/started", turn={"id": "t"}), used(530, 30), used(530, 30), resumed]
    found = told(jsonl(*values), "codex")
    assert tokens(found) == [30, 0, 0, 0]
    assert [event.text for event in events(found) if event.kind == "agent_message"] == ["Before"]


def test_each_thread_of_a_server_has_totals_of_its_own_and_the_second_is_a_sub_agent() -> None:
    started = rpc("thread/started", thread={"id": THREAD})
    other = {"method": "item/completed", "params": {
        "threadId": CHILD, "item": {"type": "agentMessage", "id": "b", "text": "Found"}}}  # fmt: skip
    theirs = {"method": "thread/tokenUsage/updated", "params": {"threadId": CHILD, "tokenUsage": {"total": SPENT}}}
    found = told(jsonl(started, used(50, 50), other, theirs, used(70, 20)), "codex")
    assert tokens(found) == [130, 40, 0, 10]
    assert [event.actor_kind for event in events(found) if event.text == "Found"] == ["subagent"]


@pytest.mark.parametrize(("word", "decision"), [("accept", "approved"), ("acceptForSession", "approved"),
                                                ("decline", "denied"), ("cancel", "denied")])  # fmt: skip
def test_what_a_person_decided_stands_with_its_call(word: str, decision: str) -> None:
    values = [
        item("commandExecution", "started", id="c", command="rm a", status="inProgress"),
        {"id": 7, **rpc("item/commandExecution/requestApproval", itemId="c", reason="It deletes")},
        {"id": 7, "result": {"decision": word}},
    ]
    call, asked, answered = events(told(jsonl(*values), "codex"))
    assert (asked.kind, asked.text, asked.parent) == ("approval", "It deletes", call.key)
    assert (answered.data["decision"], answered.data["by"], answered.parent) == (decision, "user", call.key)


def test_a_question_to_a_person_is_a_call_and_its_answer_the_result() -> None:
    asked = {"id": 3, **rpc("item/tool/requestUserInput", itemId="q", questions=[{"id": "a", "question": "Which?"}])}
    call, result = events(
        told(jsonl(asked, {"id": 3, "result": {"answers": {"a": {"answers": ["linseed"]}}}}), "codex")
    )
    assert (call.kind, result.kind, result.parent) == ("tool_call", "tool_result", call.key)
    assert result.tool and "linseed" in str(result.tool.result)


def test_what_an_item_of_exec_brought_beside_its_text_is_kept() -> None:
    state = {CHILD: {"status": "completed", "message": "The other hinge is fine"}}
    work = {"id": "i", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Look", "status": "completed",
            "receiver_thread_ids": [CHILD], "agents_states": state}  # fmt: skip
    values = [{"type": "thread.started", "thread_id": THREAD}, {"type": "item.completed", "item": work}]
    result = events(told(jsonl(*values), "codex"))[-1]
    assert result.tool and "The other hinge is fine" in str(result.tool.result)
    assert result.data["child_session"] == CHILD


def test_a_rollout_whose_messages_stand_inside_of_lines_is_read() -> None:
    values = [
        {"session_id": "hinge", "cwd": "/w", "timestamp": "2026-03-02T08:00:00Z"},
        {"type": "message", "message": {"role": "user", "content": "Oil it"}, "timestamp": "2026-03-02T08:00:01Z"},
        {"type": "message", "message": {"role": "assistant", "content": "Oiled."}, "timestamp": "2026-03-02T08:00:02Z"},
    ]
    assert said(values) == [("user_message", "Oil it"), ("agent_message", "Oiled.")]
    assert session(told(jsonl(*values), "codex")).external_id == "hinge"


@pytest.mark.parametrize("value", [None, 7, [], {}, "x", [None]])
def test_values_of_the_wrong_type_in_a_log_are_read_without_a_fault(value: Any) -> None:
    methods = ["turn/start", "thread/started", "turn/completed", "item/completed", "thread/tokenUsage/updated", "error"]
    names = ["input", "thread", "turn", "item", "tokenUsage", "error", "itemId"]
    values = [rpc(method, **dict.fromkeys(names, value)) for method in [*methods, "item/tool/requestApproval"]]
    cores = [
        core(kind, **dict.fromkeys(("command", "changes", "info", "invocation", "plan", "initial_messages"), value))
        for kind in ("session_configured", "exec_command_end", "patch_apply_end", "token_count", "plan_update")
    ]
    answers = [{"id": 1, "result": value}, {"id": 1, "result": {"thread": value, "decision": value}}]
    assert told(jsonl(*values, *cores, *answers, {"id": 2, "error": value}), "codex")
