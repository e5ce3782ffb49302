"""Requests and responses: what each says, what it cost, and which parts of a file are none of them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import openai_chat
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions, tokens

OURS = SAMPLES / "openai-chat"
USER = {"role": "user", "content": "Hi"}


def answer(text: str | None = "Hello", id: str = "chatcmpl-1", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choices = [{"index": 0, "message": message, "finish_reason": more.pop("stop", "stop")}]
    return {"id": id, "object": "chat.completion", "created": 1790000000, "model": "m", "choices": choices, **more}


def response(*output: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "model": "m",
        "output": list(output),
        **more,
    }


def call(id: str, arguments: str, name: str = "look") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def sse(*values: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values) + b"data: [DONE]\n\n"


def chunk(delta: Any, stop: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": delta, "finish_reason": stop}]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1790000000, "choices": choices, **more}


@pytest.mark.parametrize(
    "value",
    [
        {"model": "m", "messages": [USER]},
        {"messages": [USER], "tools": []},
        {"model": "m", "input": "Hi", "stream": False},
        {"model": "m", "input": [USER]},
        answer(),
        response(),
        [USER],
        [answer(), answer(id="b")],
        [{"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}],
        {"object": "list", "data": [{"type": "message", "role": "user", "content": []}]},
        {"request": {"model": "m", "messages": [USER]}, "response": answer()},
        {"custom_id": "1", "method": "POST", "url": "/v1/responses", "body": {"model": "m", "messages": [USER]}},
        {"custom_id": "1", "response": {"status_code": 200, "body": answer()}, "error": None},
        {"$schemaVersion": "1.4", "current_agent": {"name": "a"}, "original_input": "Hi"},
        [{"role": "assistant", "contents": [], "responseId": "r"}],
        {"messages": [{"role": "user", "contents": [{"$type": "text", "text": "Hi"}]}]},
    ],
)
def test_what_the_apis_and_their_sdks_write_is_claimed(value: Any) -> None:
    assert openai_chat.detect(Head(json.dumps(value).encode()))
    assert_sound(read(openai_chat, value))


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("mini-swe-agent", {"messages": [USER], "info": {}}),
        ("mini-swe-agent", [{"role": "system", "content": "```mswea_bash_command```"}, USER]),
        ("AG-UI", {"threadId": "t", "runId": "r", "messages": [USER]}),
        ("Gemini CLI", {"projectHash": "h", "messages": [{"role": "user", "content": "Hi"}]}),
        ("embeddings", {"model": "m", "input": "Hi"}),
        ("Inspect", {"version": 2, "eval": {"model": "m"}, "messages": [USER]}),
        ("Cursor", [{"role": "user", "message": {"content": "Hi"}}]),
        ("agnt5", [{"role": "user", "message": "Hi", "timestamp": "t", "content": ""}]),
        ("a schema", {"$schemaVersion": "1.0", "modules": []}),
        ("a form", {"messages": [{"severity": "low", "content": "x"}], "model": "m"}),
    ],
)
def test_files_of_other_formats_are_not_claimed(tool: str, value: Any) -> None:
    assert not openai_chat.detect(Head(json.dumps(value).encode())), tool


def test_lines_of_messages_are_claimed_when_nothing_else_is_on_them() -> None:
    line = json.dumps(USER).encode() + b"\n"
    assert openai_chat.detect(Head(line * 2))
    assert not openai_chat.detect(Head(json.dumps(USER | {"timestamp": "t"}).encode() + b"\n" + line))


def test_thoughts_text_refusal_and_calls_of_one_message_are_events_in_that_order() -> None:
    message = {"reasoning_content": "Hm.", "refusal": "No.", "tool_calls": [call("c", '{"a": 1}')]}
    found = read(openai_chat, answer("Well.", message=message, usage={"prompt_tokens": 1, "completion_tokens": 2}))
    assert kinds(found) == ["reasoning", "agent_message", "agent_message", "tool_call"]
    assert [event.usage is not None for event in events(found)] == [False, False, False, True]
    assert events(found)[2].data["refusal"] is True


def test_other_choices_are_branches() -> None:
    value = answer("one")
    value["choices"].append({"index": 1, "message": {"role": "assistant", "content": "two"}, "finish_reason": "stop"})
    assert [(e.text, e.depth, e.data.get("branch")) for e in events(read(openai_chat, value))] == [
        ("one", 0, None),
        ("two", 1, "choice-1"),
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 3}, (10, None, None, 3, None)),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}, (6, 4, None, None, None)),
        (
            {"input_tokens": 10, "input_tokens_details": [{"cached_tokens": 4, "cache_write_tokens": 1}]},
            (5, 4, 1, None, None),
        ),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 8}}, (None, None, None, 9, 8)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 6}, (4, 6, None, None, None)),
        ({"input_tokens": 10, "cache_read_input_tokens": 40}, (10, 40, None, None, None)),
        ({"prompt_tokens": -1, "completion_tokens": "3"}, (None, None, None, None, None)),
    ],
)
def test_cached_tokens_are_taken_out_of_the_input_and_what_is_not_stated_is_unknown(usage: Any, expected: Any) -> None:
    (found,) = counted(read(openai_chat, answer(usage=usage)))
    assert (
        found.input_tokens,
        found.cache_read_tokens,
        found.cache_write_tokens,
        found.output_tokens,
        found.reasoning_tokens,
    ) == expected


def test_cached_tokens_that_cannot_be_part_of_the_input_are_reported() -> None:
    found = read(openai_chat, answer(usage={"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}))
    assert counted(found)[0].input_tokens == 1
    assert "openai-chat.tokens" in findings(found)


def test_a_response_without_usage_has_none() -> None:
    assert counted(read(openai_chat, answer(usage=None))) == []


def test_a_run_that_does_not_split_its_input_has_the_cached_tokens_of_its_responses_in_it() -> None:
    stated = {"input_tokens": 70, "input_tokens_details": [{"cached_tokens": 10}], "output_tokens": 8}
    state = {
        "$schemaVersion": "1.4", "current_agent": {"name": "a"}, "original_input": "Hi",
        "model_responses": [{"response_id": "r", "usage": stated, "output": []}],
        "context": {"usage": {"input_tokens": 70, "output_tokens": 8}},
    }  # fmt: skip
    found = tokens(read(openai_chat, state))
    assert (found["input"], found["cache_read"], found["output"]) == (60, 10, 8)


def test_a_stated_cost_is_kept_to_the_last_digit() -> None:
    (event,) = events(read(openai_chat, answer(usage={"prompt_tokens": 1, "cost": 0.00007159})))
    assert event.cost == Decimal("0.00007159")


def test_tokens_stand_on_an_event_also_when_the_last_item_is_not_known() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    for output in ([message, {"type": "new_thing"}], [{"type": "new_thing"}], []):
        (usage,) = counted(read(openai_chat, response(*output, usage={"input_tokens": 3})))
        assert usage.input_tokens == 3


def test_chunks_of_a_call_belong_together_by_their_index() -> None:
    parts = [
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "look", "arguments": '{"n"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"name": "look", "arguments": "{}"}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": ": 2}"}}]}, "tool_calls"),
    ]
    found = events(read(openai_chat, sse(*parts)))
    assert [(e.tool.call_id, e.tool.name, e.tool.arguments) for e in found] == [
        ("a", "look", {}),
        ("b", "look", {"n": 2}),
    ]


def test_a_stream_without_an_end_is_given_as_far_as_it_went() -> None:
    (event,) = events(read(openai_chat, sse(chunk({"content": "On"}), chunk({"content": "ce"}))))
    assert (event.text, event.data["cut_off"]) == ("Once", True)
    found = events(read(openai_chat, (OURS / "cut-off.sse").read_bytes()))
    assert [event.text for event in found] == ["", "One moment"] and found[1].data["cut_off"] is True


def test_two_streams_in_a_file_are_one_conversation_with_two_responses() -> None:
    second = chunk({"content": "two"}, "stop") | {"id": "c2"}
    found = read(openai_chat, sse(chunk({"content": "one"}, "stop"), second))
    assert [event.text for event in events(found)] == ["one", "two"]
    assert {session.external_id for session in sessions(found)} == {"c1"}


def test_the_event_that_completes_a_response_is_the_response() -> None:
    begun = {"type": "response.created", "response": response(status="in_progress")}
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "ig"}
    message = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    ended = {"type": "response.completed", "response": response(message, usage={"input_tokens": 3})}
    found = read(openai_chat, sse(begun, delta, ended))
    assert [event.text for event in events(found)] == ["Hi"]
    assert counted(found)[0].input_tokens == 3


def test_an_approval_of_a_server_and_its_answer_are_approvals() -> None:
    items = [
        {
            "type": "mcp_approval_request",
            "id": "mcpr_1",
            "name": "pay",
            "arguments": '{"a": 1}',
            "server_label": "bank",
        },
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False, "reason": "Too much."},
    ]
    ask, told = events(read(openai_chat, items))
    assert (ask.kind, ask.tool.name, ask.tool.server, ask.data["decision"]) == ("approval", "pay", "bank", "pending")
    assert (told.kind, told.data["decision"], told.data["by"], told.text) == ("approval", "denied", "user", "Too much.")
    assert told.parent == ask.key


def test_a_call_that_the_api_made_has_its_result() -> None:
    item = {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "pay",
        "arguments": "{}",
        "server_label": "bank",
        "error": "closed",
    }
    called, ended = events(read(openai_chat, response(item)))
    assert (called.tool.server, ended.tool.status, ended.text, ended.parent) == ("bank", "error", "closed", called.key)


def test_payloads_of_pictures_are_not_kept() -> None:
    content = [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    (event,) = events(read(openai_chat, [{"role": "user", "content": content}]))
    assert event.text == "See" and "AAAA" not in str(event.data) and event.data["attachments"]


def test_a_paused_run_has_open_and_decided_approvals_and_the_tokens_of_its_context() -> None:
    found = read(openai_chat, (OURS / "run-state.json").read_bytes())
    told = [(e.tool.call_id, e.data["decision"]) for e in events(found) if e.kind == "approval"]
    assert told == [("call_a", "pending"), ("call_b", "pending"), ("call_a", "denied")]
    stated = json.loads((OURS / "run-state.json").read_bytes())["context"]["usage"]
    usages = counted(found)
    assert sum(u.input_tokens + u.cache_read_tokens for u in usages) == stated["input_tokens"]
    assert sum(u.output_tokens for u in usages) == stated["output_tokens"]
    assert sessions(found)[-1].phase == "active"


def test_a_decision_for_all_calls_of_a_tool_is_told_as_that() -> None:
    state = {"$schemaVersion": "1.0", "current_agent": {"name": "a"}, "original_input": "Hi"}
    state["context"] = {"approvals": {"pay": {"approved": True, "rejected": ["c9"]}}}
    _, always, denied = events(read(openai_chat, state))
    assert (always.tool.name, always.data["always"], denied.tool.call_id) == ("pay", True, "c9")


def test_messages_of_dot_net_that_have_no_ids_stay_apart() -> None:
    message = {"role": "user", "contents": [{"$type": "text", "text": "one"}]}
    found = read(openai_chat, {"messages": [message, message | {"contents": [{"$type": "text", "text": "two"}]}]})
    assert [event.text for event in events(found)] == ["one", "two"]


def test_invalid_json_is_refused() -> None:
    with pytest.raises(FormatError):
        read(openai_chat, b'{"model": "m", "messages": [')


@pytest.mark.parametrize("name", sorted(path.name for path in OURS.glob("*") if path.suffix != ".expected"))
def test_any_part_of_a_file_may_be_anything(name: str) -> None:
    text = (OURS / name).read_text(encoding="utf-8-sig")
    if name.endswith("sse"):
        values = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    else:
        values = [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else [json.loads(text)]
    for value in mutants(values):
        if isinstance(value, list) and name.endswith("sse"):
            assert_sound(read(openai_chat, sse(*value)))
        elif isinstance(value, list):
            for one in value if len(value) == 1 and isinstance(value[0], (dict, list)) else [value]:
                assert_sound(read(openai_chat, one))
