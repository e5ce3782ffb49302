"""Streams in the shape of Claude Code's that other programs print: whose they are, and what their numbers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told

QWEN = {"session_id": "0d6a2f3e-9f4b-4a53-b6a1-6cb1c1f0a001", "parent_tool_use_id": None}
AMP = {"session_id": "T-0d6a2f3e-9f4b-4a53-b6a1-6cb1c1f0a001", "parent_tool_use_id": None}


def qwen_said(number: int, block: dict[str, Any], **usage: int) -> dict[str, Any]:
    message = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "qwen3-coder-plus",
               "content": [block], "usage": {"input_tokens": 0, "output_tokens": 0} | usage}  # fmt: skip
    return {"type": "assistant", "uuid": f"m{number}", "message": message, **QWEN}


QWEN_INIT = {"type": "system", "subtype": "init", "uuid": "u0", "cwd": "/srv/clock", "tools": ["read_file"],
             "mcp_servers": [], "model": "qwen3-coder-plus", "permission_mode": "yolo", "qwen_code_version": "0.6.1",
             **QWEN}  # fmt: skip
QWEN_LINES = [
    QWEN_INIT,
    qwen_said(1, {"type": "thinking", "thinking": "Which spring does the clock have, and which key?"}),
    qwen_said(2, {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "spring"}},
              input_tokens=900, output_tokens=20, cache_read_input_tokens=600, total_tokens=920),
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "is_error": False, "content": "steel"}]}, **QWEN},
    qwen_said(3, {"type": "text", "text": "It is of steel."}, input_tokens=950, output_tokens=6),
]  # fmt: skip
QWEN_RESULT = {"type": "result", "subtype": "success", "uuid": "u9", "is_error": False, "duration_ms": 5,
               "num_turns": 2, "result": "It is of steel.", "usage": {"input_tokens": 1850, "output_tokens": 26},
               "permission_denials": [], "session_id": QWEN["session_id"]}  # fmt: skip


@pytest.mark.parametrize("lines", [False, True], ids=["json", "stream-json"])
def test_qwens_stream_is_qwens_and_its_cache_is_inside_of_its_input(lines: bool) -> None:
    values = [*QWEN_LINES, QWEN_RESULT]
    drafts = told(jsonl(*values) if lines else json.dumps(values).encode(), "qwen-code")
    assert tokens(drafts) == [300 + 950, 600, 0, 26]
    found = session(drafts)
    assert (found.agent_name, found.phase, found.metadata["recorder"]) == (
        "Qwen Code", "completed", {"name": "qwen-code", "version": "0.6.1"}
    )  # fmt: skip
    assert [event.kind for event in events(drafts)] == [
        "system", "reasoning", "tool_call", "tool_result", "agent_message", "status"
    ]  # fmt: skip
    assert {event.actor_name for event in events(drafts) if event.actor_kind == "agent"} == {"Qwen Code"}


def test_qwen_says_why_a_run_failed() -> None:
    failed = QWEN_RESULT | {"subtype": "error_max_turns", "is_error": True, "error": {"message": "No quota left"}}
    drafts = told(jsonl(*QWEN_LINES, failed), "qwen-code")
    assert (session(drafts).phase, events(drafts)[-1].kind, events(drafts)[-1].text) == (
        "crashed", "error", "No quota left"
    )  # fmt: skip


def amp_said(text: str, **usage: int) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": text}],
               "stop_reason": "end_turn", "usage": usage | {"max_tokens": 968000}}  # fmt: skip
    return {"type": "assistant", "message": message, **AMP}


ASKED = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Go on."}]}, **AMP}


def test_amps_stream_is_amps_and_words_said_twice_are_told_twice() -> None:
    init = {"type": "system", "subtype": "init", "cwd": "/srv/clock", "session_id": AMP["session_id"],
            "tools": ["Bash", "Read"], "mcp_servers": []}  # fmt: skip
    used = {"input_tokens": 10, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 90, "output_tokens": 4}
    failed = {"type": "result", "subtype": "error_during_execution", "duration_ms": 9, "is_error": True,
              "num_turns": 2, "error": "Out of credits", "session_id": AMP["session_id"],
              "permission_denials": ["Bash: rm"]}  # fmt: skip
    drafts = told(jsonl(init, ASKED, amp_said("Yes.", **used), ASKED, amp_said("Yes.", **used), failed), "amp")
    found = events(drafts)
    assert len({event.key for event in found}) == len(found)
    assert [event.text for event in found[1:]] == [
        "Go on.", "Yes.", "Go on.", "Yes.", "Out of credits", "Bash: rm"
    ]  # fmt: skip
    assert len({event.request for event in found if event.usage}) == 2
    assert tokens(drafts) == [20, 180, 1000, 8]
    assert (session(drafts).agent_name, session(drafts).phase) == ("Amp", "crashed")


@pytest.mark.parametrize("indent", [None, 2])
def test_cursors_result_alone_tells_what_was_said_and_used(indent: int | None) -> None:
    """``cursor-agent -p --output-format json``: https://cursor.com/docs/cli/reference/output-format."""
    result = {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1234, "duration_api_ms": 1234,
              "result": "The clock runs.", "session_id": "s-1", "request_id": "r-1",
              "usage": {"inputTokens": 30, "outputTokens": 5, "cacheReadTokens": 7, "cacheWriteTokens": 0}}  # fmt: skip
    drafts = told(json.dumps(result, indent=indent).encode() + b"\n", "cursor")
    assert [(event.kind, event.text) for event in events(drafts)] == [
        ("agent_message", "The clock runs."), ("status", ""), ("model_request", "")
    ]  # fmt: skip
    assert tokens(drafts) == [30, 7, 0, 5]
    assert (session(drafts).external_id, session(drafts).phase) == ("s-1", "completed")
