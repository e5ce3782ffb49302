"""What became of calls, runs and contexts, as agents say it beside the words: errors, exit codes, summaries."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.reads import events, read, sessions
from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.formats.agents import amp, cline, droid, goose, grok, hermes, kimi, pi

AT = "2026-03-02T08:00:00Z"


def pi_lines(*messages: dict[str, Any]) -> bytes:
    head = {"type": "session", "version": 3, "id": "s", "timestamp": AT}
    entries = ({"type": "message", "id": f"e{n}", "timestamp": AT, "message": one} for n, one in enumerate(messages))
    return jsonl(head, *entries)


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ({"role": "branchSummary", "summary": "Went back", "fromId": "e1"}, "injected_context", "Went back"),
        ({"role": "compactionSummary", "summary": "All before", "tokensBefore": 9}, "compaction", "All before"),
        ({"role": "custom", "customType": "note", "content": "Noted"}, "injected_context", "Noted"),
    ],
)  # fmt: skip
def test_pi_tells_what_stands_in_the_place_of_what_was_said(message: Any, kind: str, text: str) -> None:
    told = events(read(pi, pi_lines(message)))[-1]
    assert (told.kind, told.text) == (kind, text)


def test_openclaw_what_its_gateway_wrote_has_no_model_and_a_refused_prompt_is_an_error() -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "Back soon"}]}
    data = pi_lines(
        said | {"provider": "anthropic", "model": "tide-2"}, said | {"provider": "openclaw", "model": "mirror"}
    )
    data += jsonl({"type": "custom", "customType": "openclaw:prompt-error", "id": "x", "data": {"error": "no key"}})
    found = read(pi, data)
    assert sessions(found)[-1].model == "tide-2"
    assert [(one.kind, one.model) for one in events(found)[-2:]] == [("agent_message", None), ("error", None)]
    assert events(found)[-1].text == "no key"


def test_kimi_a_turn_that_failed_is_an_error_in_its_words() -> None:
    meta = {"type": "metadata", "protocol_version": "1.5", "created_at": 1772438400000}
    failed = {"type": "turn.ended", "reason": "error", "error": {"message": "The provider is away"}}
    told = [(one.kind, one.text) for one in events(read(kimi, jsonl(meta, failed, {"type": "turn.ended"})))]
    assert told[1:] == [("error", "The provider is away"), ("system", "")]


@pytest.mark.parametrize(
    ("content", "flags", "status"),
    [
        ('{"output": "", "exit_code": 2, "error": null}', {}, "error"),
        ('{"output": "x", "exit_code": 0, "error": null}', {}, "ok"),
        ('{"output": "x", "exit_code": 0, "error": "timed out"}', {}, "error"),
        ('{"exit_code": "two"}', {}, None), ("plain words", {}, None), ("plain words", {"is_error": True}, "error"),
    ],
)  # fmt: skip
def test_a_result_that_says_how_it_ended_has_that_status(
    content: str, flags: dict[str, Any], status: str | None
) -> None:
    head = {"role": "session_meta", "model": "tide-2", "platform": "cli"}
    row = {"role": "tool", "content": content, "tool_call_id": "a", **flags}
    (told,) = [one for one in events(read(hermes, jsonl(head, row))) if one.kind == "tool_result"]
    assert (told.text, told.tool and told.tool.status) == (content, status)


def test_grok_a_result_that_is_an_error_is_one() -> None:
    asked = {"type": "user", "content": "Hi", "prompt_index": 0}
    row = {"type": "tool_result", "tool_call_id": "a", "content": "nothing there", "is_error": True}
    assert [one.tool.status for one in events(read(grok, jsonl(asked, row))) if one.tool] == ["error"]


def test_amp_a_command_that_ended_with_another_code_than_0_failed() -> None:
    runs = [{"status": "done", "result": {"output": "x", "exitCode": code}} for code in (0, 3)]
    results = [{"type": "tool_result", "toolUseID": f"c{n}", "run": run} for n, run in enumerate(runs)]
    thread = {"v": 1, "id": "T-1", "created": 1772438400000, "nextMessageId": 1, "agentMode": "smart",
              "messages": [{"role": "user", "messageId": 0, "content": results}]}  # fmt: skip
    assert [one.tool.status for one in events(read(amp, thread)) if one.tool] == ["ok", "error"]


def test_cline_answers_that_are_json_in_a_text_are_told_as_answers() -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": False,
             "content": json.dumps([{"query": "ls", "result": "no such folder", "success": False}])}  # fmt: skip
    session = {"version": 1, "updated_at": AT, "agent": "lead", "sessionId": "s",
               "messages": [{"id": "1", "role": "user", "content": [block]}]}  # fmt: skip
    (told,) = [one for one in events(read(cline, session)) if one.kind == "tool_result"]
    assert told.tool and (told.text, told.tool.status) == ("no such folder", "error")
    assert told.tool.result == [{"query": "ls", "result": "no such folder", "success": False}]


def test_droid_a_compaction_is_told_with_its_summary() -> None:
    head = {"type": "session_start", "id": "s"}
    state = {"type": "compaction_state", "id": "c", "timestamp": AT, "summaryText": "What was said", "summaryTokens": 3}
    told = events(read(droid, jsonl(head, state)))[-1]
    assert (told.kind, told.text, told.data["summaryTokens"]) == ("compaction", "What was said", 3)


def test_a_stream_of_droid_that_lists_its_tools_is_not_taken_for_claude_code() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "tools": ["Read"], "model": "tide-2"}
    said = {"type": "message", "role": "user", "id": "1", "text": "Hi", "timestamp": 1772438400000, "session_id": "s"}
    assert registry.detect(io.BytesIO(jsonl(init, said)))[0] == "droid"


@pytest.mark.parametrize("left_out", ["working_dir", "description", "message_count", "id"])
def test_the_totals_of_a_goose_session_count_whatever_else_its_first_line_says(left_out):
    first, *messages = (json.loads(line) for line in (SAMPLES / "goose" / "session.jsonl").read_bytes().splitlines())
    del first[left_out]
    data = jsonl(first, *messages)
    assert registry.detect(io.BytesIO(data))[0] == "goose"
    (total,) = [event.usage for event in events(goose.read(io.BytesIO(data))) if event.kind == "model_request"]
    assert total and (total.input_tokens, total.output_tokens) == (1200, 80)
