"""Logs that agents send by OpenTelemetry: prompts, calls and tokens of several programs, each counted once."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told
from vcon_app import registry
from vcon_app.drafts import FormatError, SessionDraft

T0 = 1_790_000_000


def value_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value_of(inner)} for key, inner in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(inner) for inner in value]}}
    return {"intValue": str(value)} if type(value) is int else {"stringValue": str(value)}


def record(number: int, name: str, body: Any = None, span: str = "", **attributes: Any) -> dict[str, Any]:
    pairs = {"event.name": name} | {key.replace("__", "."): value for key, value in attributes.items()}
    return {"timeUnixNano": str((T0 + number) * 10**9), "body": value_of(body or name), "spanId": span, "traceId": span,
            "attributes": [{"key": key, "value": value_of(value)} for key, value in pairs.items()]}  # fmt: skip


def request(*records: dict[str, Any]) -> dict[str, Any]:
    resource = {"attributes": [{"key": "service.version", "value": {"stringValue": "2.1.9"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


def test_claude_code_logs_prompts_calls_and_what_each_response_cost() -> None:
    own = {"session__id": "s-1", "user__email": "ada@example.org"}
    data = jsonl(
        request(record(1, "user_prompt", "claude_code.user_prompt", prompt="Wind the clock.", prompt_length=15, **own)),
        request(
            record(2, "api_request", "claude_code.api_request", model="tide-2", input_tokens=7, output_tokens="5",
                   cache_read_tokens=90, cache_creation_tokens=3, cost_usd="0.25", request_id="r1", **own),
            record(3, "tool_decision", "claude_code.tool_decision", tool_name="Bash", decision="accept",
                   source="user_temporary", tool_use_id="t1", **own),
            record(4, "tool_result", "claude_code.tool_result", tool_name="Bash", success="false", tool_use_id="t1",
                   tool_parameters='{"command": "wind"}', error="No key", **own),
            record(5, "user_prompt", "claude_code.user_prompt", prompt_length=4, session__id="s-2"),
        ),
    )  # fmt: skip
    drafts = told(data, "otel-logs")
    found = events(drafts)
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Wind the clock."), ("model_request", ""), ("approval", ""), ("tool_call", ""),
        ("tool_result", "No key"), ("user_message", ""),
    ]  # fmt: skip
    assert tokens(drafts) == [7, 90, 3, 5]
    assert (found[1].cost, found[1].model) == (Decimal("0.25"), "tide-2")
    assert found[3].tool and found[4].tool
    assert (found[3].tool.arguments, found[4].tool.status, found[4].parent) == (
        {"command": "wind"}, "error", found[3].key
    )  # fmt: skip
    assert (found[2].data["decision"], found[2].data["by"], found[5].data["length"]) == ("approved", "user", 4)
    assert [draft.external_id for draft in drafts if isinstance(draft, SessionDraft)] == ["s-1"] * 2 + ["s-2"] * 2
    assert (session(drafts).agent_name, found[0].at and int(found[0].at.timestamp())) == ("Claude Code", T0 + 1)
    assert "ada@example.org" not in repr(drafts)


def test_codex_logs_its_tokens_with_the_end_of_each_stream() -> None:
    own = {"conversation__id": "c-1", "model": "tide-2"}
    data = json.dumps(request(
        record(1, "codex.user_prompt", prompt="Wind it.", **own),
        record(2, "codex.sse_event", event__kind="response.created", **own),
        record(3, "codex.sse_event", event__kind="response.completed", input_token_count=100, cached_token_count=40,
               output_token_count=10, reasoning_token_count=5, tool_token_count=110, **own),
        record(4, "codex.tool_decision", tool_name="shell", call_id="k", decision="denied", source="User", **own),
        record(5, "codex.tool_result", tool_name="shell", call_id="k", arguments='{"command": ["wind"]}',
               output="wound", success="true", **own),
    )).encode()  # fmt: skip
    drafts = told(data, "otel-logs")
    assert [event.kind for event in events(drafts)] == [
        "user_message", "system", "model_request", "approval", "tool_call", "tool_result"
    ]  # fmt: skip
    assert tokens(drafts) == [60, 40, 0, 10]
    assert (session(drafts).external_id, session(drafts).agent_name) == ("c-1", "Codex")


def test_what_gemini_cli_writes_into_a_file_is_counted_once() -> None:
    def logged(number: int, name: str, **attributes: Any) -> dict[str, Any]:
        own = {"session.id": "g-1", "event.name": name}
        return {"hrTime": [T0 + number, 5], "resource": {"attributes": {"service.version": "0.40.0"}}, "body": "…",
                "attributes": own | attributes}  # fmt: skip

    answer = json.dumps([{"candidates": [{"content": {"role": "model", "parts": [{"text": "Wound."}]}}]}])
    values = [
        logged(1, "gemini_cli.user_prompt", prompt="Wind it.", prompt_length=8),
        logged(2, "gemini_cli.api_response", model="tide-2", input_token_count=100, cached_content_token_count=40,
               output_token_count=10, thoughts_token_count=5, tool_token_count=2, response_text=answer),
        logged(2, "gen_ai.client.inference.operation.details", **{
            "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10,
            "gen_ai.output.messages": '[{"role": "model", "parts": [{"type": "text", "content": "Wound."}]}]'}),
        logged(3, "gemini_cli.tool_call", function_name="wind", function_args='{"turns": 3}', success=False,
               decision="reject"),
        {"descriptor": {"name": "gemini_cli.token.usage"}},
    ]  # fmt: skip
    drafts = told(b"".join(json.dumps(value, indent=2).encode() + b"\n" for value in values), "otel-logs")
    found = events(drafts)
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Wind it."), ("agent_message", "Wound."), ("system", ""), ("tool_call", ""), ("approval", ""),
        ("tool_result", ""),
    ]  # fmt: skip
    assert tokens(drafts) == [62, 40, 0, 15]
    assert found[5].tool and (found[5].tool.status, found[3].tool and found[3].tool.arguments) == (
        "denied", {"turns": 3}
    )  # fmt: skip


def test_events_of_the_conventions_tell_a_history_once() -> None:
    system = {"content": "You mend clocks."}
    call = {"id": "t1", "type": "function", "function": {"name": "wind", "arguments": "{}"}}
    first = [
        record(1, "gen_ai.system.message", system, "a1"),
        record(2, "gen_ai.user.message", {"content": "Wind"}, "a1"),
    ]
    calling = {"role": "assistant", "tool_calls": [call]}
    data = json.dumps(request(
        *first, record(3, "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": calling}, "a1",
                       gen_ai__conversation__id="k"),
        *({**one, "spanId": "a2"} for one in first),
        record(4, "gen_ai.assistant.message", {"tool_calls": [call]}, "a2"),
        record(5, "gen_ai.tool.message", {"id": "t1", "content": "Wound"}, "a2"),
        record(6, "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": "Done."}}, "a2"),
        record(7, "gen_ai.user.message", {"content": "Thanks"}, "a3"),
    ))  # fmt: skip
    data = data.replace('"traceId": "a1"', '"traceId": "f"').replace('"traceId": "a2"', '"traceId": "f"')
    data = data.replace('"traceId": "a3"', '"traceId": "f"').replace("gen_ai.conversation.id", "other")
    found = events(told(data.encode(), "otel-logs"))
    assert [(event.kind, event.text) for event in found] == [
        ("system", "You mend clocks."), ("user_message", "Wind"), ("model_request", ""), ("tool_call", ""),
        ("tool_result", "Wound"), ("agent_message", "Done."), ("user_message", "Thanks"),
    ]  # fmt: skip


def test_details_of_an_inference_are_a_request_with_its_tokens() -> None:
    data = json.dumps(request(record(
        1, "gen_ai.client.inference.operation.details", gen_ai__conversation__id="k", gen_ai__response__id="r1",
        gen_ai__usage__input_tokens=30, gen_ai__usage__output_tokens=4, gen_ai__usage__cache_read__input_tokens=10,
        gen_ai__request__model="tide-2",
        gen_ai__input__messages=[{"role": "user", "parts": [{"type": "text", "content": "Wind"}]}],
        gen_ai__output__messages=[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}],
    ))).encode()  # fmt: skip
    drafts = told(data, "otel-logs")
    assert [(event.kind, event.text) for event in events(drafts)] == [
        ("user_message", "Wind"),
        ("agent_message", "Done."),
    ]
    assert (tokens(drafts), session(drafts).external_id) == ([20, 10, 0, 4], "k")


def test_a_line_that_is_no_record_stands_in_the_first_session() -> None:
    data = jsonl(request(record(1, "codex.user_prompt", prompt="Wind it.", conversation__id="c"))) + b"null\n"
    drafts = told(data, "otel-logs")
    assert isinstance(drafts[0], SessionDraft)
    assert [event.kind for event in events(drafts)] == ["unknown", "user_message"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (request(record(1, "claude_code.startup", session__id="s")), "no message, call of a tool"),
        (request(record(1, "http.request")), "of no agent that is known here"),
        ({"resourceMetrics": [{"scopeMetrics": []}]}, "numbers without a message"),
    ],
)
def test_logs_and_metrics_without_a_session_are_refused_in_words(data: dict[str, Any], why: str) -> None:
    source = io.BytesIO(json.dumps(data).encode())
    with pytest.raises(FormatError, match=why):
        list(registry.reader(registry.detect(source)[0]).read(source))
