"""Which format a file is in, where little of it is there yet, or more than its agent wrote a year ago."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, Finding, FormatError, SessionDraft

TIME = "2026-05-04T08:00:00.000000"
ASKED: dict[str, Any] = {"role": "user", "content": "Wind the clock.", "timestamp": TIME}
ANSWERED: dict[str, Any] = {"role": "assistant", "content": "Wound.", "timestamp": TIME}


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def read(data: bytes) -> tuple[str, list[Draft]]:
    name = registry.detect(io.BytesIO(data))[0]
    return name, list(registry.reader(name).read(io.BytesIO(data)))


def kinds(drafts: list[Draft]) -> list[str]:
    return [one.kind for one in drafts if isinstance(one, EventDraft)]


def test_gptme_is_known_with_members_of_later_versions() -> None:
    pinned = {"role": "system", "content": "You mend clocks.", "timestamp": TIME, "pinned": True, "zq": 1}
    assert read(lines(pinned, ASKED, ANSWERED | {"ui_only": True}))[0] == "gptme"


@pytest.mark.parametrize(
    "more", [{"id": "m1"}, {"type": "message"}, {"sessionId": "s"}], ids=lambda more: next(iter(more))
)
def test_what_others_write_beside_a_role_is_not_gptme(more: dict[str, Any]) -> None:
    with pytest.raises(registry.Unrecognised):
        read(lines(ASKED | more, ANSWERED | more | {"pinned": False}))


@pytest.mark.parametrize("stated", ["usage", "beside"])
def test_gptme_states_tokens_under_usage_and_before_that_beside_the_model(stated: str) -> None:
    tokens = {"input_tokens": 7, "output_tokens": 3, "cache_read_tokens": 90, "cache_creation_tokens": 11}
    metadata = {"model": "anthropic/claude-sonnet-4-5", "cost": 0.25} | (
        {"usage": tokens} if stated == "usage" else tokens
    )
    events = [one for one in read(lines(ASKED, ANSWERED | {"metadata": metadata}))[1] if isinstance(one, EventDraft)]
    used = [(one.usage.input_tokens, one.usage.cache_read_tokens, one.usage.cache_write_tokens, one.usage.output_tokens)
            for one in events if one.usage]  # fmt: skip
    assert used == [(7, 90, 11, 3)]


def test_the_first_line_of_a_droid_stream_is_droids() -> None:
    init = {"type": "system", "subtype": "init", "sessionId": "s-1", "timestamp": 1767812640310, "model": "custom:zeta",
            "cwd": "/srv/clock", "tools": ["Read"], "reasoning_effort": "off", "id": "i1"}  # fmt: skip
    said = {"type": "message", "sessionId": "s-1", "role": "user", "text": "Wind the clock.", "id": "m1"}
    assert [read(lines(init))[0], read(lines(init, said))[0]] == ["droid", "droid"]


def test_a_chat_of_vs_code_is_read_however_long_its_first_line_is() -> None:
    """The log begins with the whole document: with one image in it that is longer than what is looked at first."""
    image = {"kind": "image", "name": "a.png", "value": "A" * 200_000}
    request = {"requestId": "r1", "message": {"text": "Wind the clock."}, "variableData": {"variables": [image]},
               "response": [{"value": "Wound."}]}  # fmt: skip
    log = lines({"kind": 0, "v": {"version": 3, "sessionId": "s-1", "requests": [request]}},
                {"kind": 1, "k": ["customTitle"], "v": "Clocks"})  # fmt: skip
    name, drafts = read(log)
    assert (name, kinds(drafts)) == ("copilot-cli", ["user_message", "agent_message"])


STEP = {"id": 0, "source": "user", "action": "message", "message": "Wind it.", "args": {"content": "Wind it."}}


def test_an_evaluation_of_openhands_that_is_cut_off_keeps_what_was_written() -> None:
    whole = lines({"instance_id": "i1", "history": [STEP]}, {"instance_id": "i2", "history": [STEP]})
    name, drafts = read(whole + b'{"instance_id": "i3", "histo')
    found = [one.rule for one in drafts if isinstance(one, Finding)]
    assert (name, kinds(drafts), found) == (
        "openhands-v0",
        ["system", "user_message"] * 2,
        ["openhands-v0.cut-off-line"],
    )


def test_an_evaluation_of_openhands_with_values_that_are_no_json_is_read() -> None:
    data = lines({"instance_id": "i1", "score": 0, "history": [STEP]}).replace(b'"score": 0', b'"score": NaN')
    assert kinds(read(data)[1]) == ["system", "user_message"]


@pytest.mark.parametrize("data", [b"[1]\n", b"7\n"])
def test_what_holds_no_record_of_openhands_is_refused_before_anything_is_told(data: bytes) -> None:
    with pytest.raises(FormatError, match="is no OpenHands transcript"):
        next(iter(registry.reader("openhands-v0").read(io.BytesIO(data))))


def test_values_of_spans_may_stand_beside_the_kinds_that_they_are_not() -> None:
    def text(value: str) -> dict[str, Any]:
        return {"intValue": None, "stringValue": value, "boolValue": None}

    attributes = [{"key": "gen_ai.operation.name", "value": text("execute_tool")},
                  {"key": "gen_ai.tool.name", "value": text("wind")}]  # fmt: skip
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "execute_tool wind", "attributes": attributes,
            "startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}  # fmt: skip
    document = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": [span]}]}]}
    assert "tool_call" in kinds(read(json.dumps(document).encode())[1])


def test_an_export_of_claude_that_a_tool_converted_says_who_spoke_and_when() -> None:
    said = [{"role": "user", "content": "Is the tide in?", "created_at": 1790000000},
            {"role": "assistant", "content": "It is.", "created_at": 1790000001000}]  # fmt: skip
    chat = {"uuid": "c-1", "name": "Tide", "created_at": 1790000000, "updated_at": 1790000002, "chat_messages": said}
    name, drafts = read(json.dumps([chat]).encode())
    told = [(one.kind, one.text, one.at and one.at.timestamp()) for one in drafts if isinstance(one, EventDraft)]
    assert (name, told) == ("claude-export", [("user_message", "Is the tide in?", 1790000000.0),
                                              ("agent_message", "It is.", 1790000001.0)])  # fmt: skip
    assert not [one for one in drafts if isinstance(one, Finding)]


def test_a_file_that_was_added_to_a_checkpoint_is_named() -> None:
    common = {"sessionId": "s-1", "uuid": "u1", "parentUuid": None, "timestamp": "2026-05-04T08:00:00Z"}
    prompt = common | {"type": "user", "message": {"role": "user", "content": "Wind it."}}
    delta = {"type": "file-history-delta", "messageId": "m1", "snapshotMessageId": "m0", "trackingPath": "src/clock.py",
             "backup": {"backupFileName": "ab@v1", "version": 1}, "timestamp": "2026-05-04T08:00:01Z"}  # fmt: skip
    events = [one for one in read(lines(prompt, delta))[1] if isinstance(one, EventDraft)]
    assert [(one.kind, one.data.get("files")) for one in events] == [
        ("user_message", None),
        ("system", ["src/clock.py"]),
    ]


def test_a_statement_that_is_signed_with_cose_is_refused_as_what_it_is() -> None:
    with pytest.raises(registry.Unrecognised, match="a signed CBOR statement .* SCITT statement or a receipt"):
        read(bytes.fromhex("d28458" + "5c" + "a40138228401") + b"\x00" * 90)


TURNS = [{"from": "human", "value": "Wind it."}, {"from": "gpt", "value": "Wound."}]


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({}, "sharegpt"), ({"id": "1", "model": "m", "timestamp": TIME, "metadata": {}}, "sharegpt"),
        ({"model": "m", "timestamp": TIME, "completed": True}, "hermes"), ({"completed": False}, "hermes"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", ["lines", "list", "object", "indented"])
def test_conversations_for_training_are_hermes_where_they_say_how_the_run_ended(
    more: dict[str, Any], name: str, shape: str
) -> None:
    run = {"conversations": TURNS} | more
    value = [run] if shape == "list" else run
    data = (
        lines(run, run) if shape == "lines" else json.dumps(value, indent=2 if shape == "indented" else None).encode()
    )
    found, drafts = read(data)
    assert found == name
    texts = [one.text for one in drafts if isinstance(one, EventDraft) and one.text]
    assert texts[:2] == ["Wind it.", "Wound."]


UTC_TIME = "2026-05-04T08:00:00.000Z"


@pytest.mark.parametrize("is_list", [False, True])
def test_a_chat_with_times_alone_is_nobodys_agent(is_list: bool) -> None:
    rows = [ASKED | {"timestamp": UTC_TIME}, ANSWERED | {"timestamp": UTC_TIME, "name": "clock"}]
    name, drafts = read(json.dumps(rows).encode() if is_list else lines(*rows))
    events = [one for one in drafts if isinstance(one, EventDraft)]
    assert (name, [one.text for one in events]) == ("openai-chat", ["Wind the clock.", "Wound."])
    assert all(one.at for one in events)


@pytest.mark.parametrize("time", [TIME, "2026-05-04T08:00:00+00:00", "2026-05-04T08:00:00"])
def test_a_chat_with_times_as_python_writes_them_is_gptmes(time: str) -> None:
    assert read(lines(ASKED | {"timestamp": time}, ANSWERED | {"timestamp": time}))[0] == "gptme"


@pytest.mark.parametrize(
    "value",
    [
        {"id": "t", "contextId": "c", "history": [{"role": "user", "messageId": "m", "parts": [{"text": "Wind it."}]}]},
        [{"type": "message", "user": "U1", "text": "Wind it.", "ts": "1777881600.000100"}],
    ],
    ids=["a task without a state", "a chat program"],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_messages_of_other_programs_are_no_transcript_of_an_api(value: Any, indent: int | None) -> None:
    with pytest.raises(registry.Unrecognised):
        registry.detect(io.BytesIO(json.dumps(value, indent=indent).encode()))


RESPONSE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Wound."}], "usage": {"input_tokens": 5, "output_tokens": 3},
}  # fmt: skip
BATCHED = {"custom_id": "a", "params": {"model": "m", "max_tokens": 9, "system": "Mend clocks.", "messages": [
    {"role": "user", "content": "Wind it."}, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "wind", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "twelve turns"}]},
]}}  # fmt: skip


@pytest.mark.parametrize("shape", ["lines", "list", "object", "indented"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (RESPONSE, ["agent_message"]),
        ({"custom_id": "a", "result": {"type": "succeeded", "message": RESPONSE}}, ["agent_message"]),
        (BATCHED, ["system", "user_message", "tool_call", "tool_result"]),
        ({"custom_id": "a", "result": {"type": "errored", "error": {"type": "error", "error": {
            "type": "overloaded_error", "message": "Overloaded"}}}}, ["error"]),
        ({"custom_id": "a", "result": {"type": "canceled"}}, ["status"]),
    ],
    ids=["response", "result", "request", "error", "canceled"],
)  # fmt: skip
def test_what_anthropics_api_gives_is_read(value: dict[str, Any], expected: list[str], shape: str) -> None:
    held = [value] if shape == "list" else value
    data = (
        lines(value, value)
        if shape == "lines"
        else json.dumps(held, indent=2 if shape == "indented" else None).encode()
    )
    name, drafts = read(data)
    assert name == "anthropic-api"
    assert kinds(drafts)[: len(expected)] == expected
    used = [one.usage.output_tokens for one in drafts if isinstance(one, EventDraft) and one.usage]
    assert used[:1] == ([3] if expected == ["agent_message"] else [])


def test_a_line_of_a_batch_of_openai_is_openais() -> None:
    body = {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": "Wound."}}],
    }
    assert read(lines({"custom_id": "a", "response": {"status_code": 200, "body": body}}))[0] == "openai-chat"


def printed(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "created": 1_772_438_400, "content": [{"type": "text", "text": text}], "metadata": {}}


@pytest.mark.parametrize("is_stream", [False, True])
def test_what_goose_prints_of_a_run_is_read(is_stream: bool) -> None:
    messages = [printed("user", "Wind it."), printed("assistant", "Wound.")]
    whole = {"messages": messages, "metadata": {"total_tokens": 9, "status": "completed"}}
    events = [*({"type": "message", "message": one} for one in messages), {"type": "complete", "total_tokens": 9}]
    name, drafts = read(lines(*events) if is_stream else json.dumps(whole, indent=2).encode())
    texts = [(one.kind, one.text) for one in drafts if isinstance(one, EventDraft) and one.text]
    assert (name, texts) == ("goose", [("user_message", "Wind it."), ("agent_message", "Wound.")])
    assert [one.phase for one in drafts if isinstance(one, SessionDraft)][-1] == "completed"


def test_what_gemini_prints_of_a_run_as_one_object_is_read() -> None:
    counts = {"prompt": 10, "candidates": 4, "total": 15, "cached": 2, "thoughts": 1, "tool": 0}
    models = {"gem-1": {"api": {"totalRequests": 1}, "tokens": counts}, "gem-2": {"tokens": counts}}
    said = {"session_id": "s", "response": "Wound.", "stats": {"models": models, "tools": {}, "files": {}}}
    name, drafts = read(json.dumps(said, indent=2).encode())
    events = [one for one in drafts if isinstance(one, EventDraft)]
    used = [(one.model, one.usage.input_tokens, one.usage.cache_read_tokens, one.usage.output_tokens)
            for one in events if one.usage]  # fmt: skip
    assert (name, events[0].kind, events[0].text) == ("gemini-stream", "agent_message", "Wound.")
    assert used == [("gem-1", 8, 2, 5), ("gem-2", 8, 2, 5)]


def test_a_run_of_gemini_that_failed_says_why() -> None:
    failed = {
        "session_id": "s",
        "error": {"type": "ApiError", "message": "No quota", "code": 429},
        "stats": {"models": {}},
    }
    name, drafts = read(json.dumps(failed).encode())
    assert (name, kinds(drafts)) == ("gemini-stream", ["error"])


@pytest.mark.parametrize("value", [{"conversations": TURNS}, RESPONSE], ids=["sharegpt", "anthropic"])
def test_what_stands_before_the_first_session_of_a_file_is_a_finding(value: dict[str, Any]) -> None:
    name, drafts = read(b"broken\n" + lines(value, {"zq": 1}, value))
    assert name in ("sharegpt", "anthropic-api")
    first = next(one for one in drafts if not isinstance(one, Finding))
    assert isinstance(first, SessionDraft)
    assert f"{name}.no-run" in {one.rule for one in drafts if isinstance(one, Finding)}


@pytest.mark.parametrize("behind", [2, 9])
def test_a_log_that_begins_in_the_middle_of_a_line_is_read_from_the_next_one(behind: int) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Wound."}}
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    name, drafts = read(lines(line)[:60] + b"\n" + lines(*[line] * behind))
    assert name == "acp"
    said = [one.text for one in drafts if isinstance(one, EventDraft) and one.kind == "agent_message"]
    assert said == ["Wound." * behind]
    assert any(isinstance(one, Finding) for one in drafts)
