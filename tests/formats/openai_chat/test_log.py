"""Logs of requests, each of which repeats the conversation so far: everything is told and billed once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.formats import openai_chat

from ..reads import counted, events, findings, kinds, read, sessions
from .test_read import answer, call, response

LOG = (SAMPLES / "openai-chat" / "log.jsonl").read_bytes()


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def log(*values: Any) -> list[Any]:
    return read(openai_chat, b"".join(json.dumps(value).encode() + b"\n" for value in values))


def talk(found: list[Any]) -> list[str]:
    return [event.text for event in events(found)]


def test_history_is_told_once_and_every_response_is_billed() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    found = log(
        asked(user("a")),
        answer("b", "1", usage=usage),
        asked(user("a"), bot("b"), user("c")),
        answer("d", "2", usage=usage),
    )
    assert talk(found) == ["a", "b", "c", "d"]
    assert len(counted(found)) == 2 and len({session.external_id for session in sessions(found)}) == 1


def test_the_answer_of_a_response_counts_also_when_the_next_request_says_it_otherwise() -> None:
    found = log(asked(user("a")), answer("b  ", "1"), asked(user("a"), bot("b"), user("c")))
    assert talk(found) == ["a", "b  ", "c"]


def test_history_that_no_response_told_is_told_from_the_request() -> None:
    assert talk(log(asked(user("a"), bot("b"), user("c")), answer("d", "1"))) == ["a", "b", "c", "d"]


def test_calls_with_the_same_id_and_arguments_in_later_turns_are_calls_of_their_own() -> None:
    called = {"role": "assistant", "tool_calls": [call("0", "{}")]}
    done = {"role": "tool", "tool_call_id": "0", "content": "ok"}
    found = log(asked(user("a"), called, done, bot("b"), user("c"), called, done))
    assert kinds(found).count("tool_call") == 2 and kinds(found).count("tool_result") == 2
    calls = [event for event in events(found) if event.kind == "tool_call"]
    assert [e.parent for e in events(found) if e.kind == "tool_result"] == [event.key for event in calls]


def test_a_retry_is_the_same_conversation_with_another_answer() -> None:
    found = log(asked(user("a")), answer("b", "1"), asked(user("a")), answer("c", "2"))
    assert talk(found) == ["a", "b", "c"]


def test_conversations_may_go_on_between_one_another() -> None:
    found = log(
        asked(user("a")), answer("b", "1"),
        asked(user("x")), answer("y", "2"),
        asked(user("a"), bot("b"), user("c")), answer("d", "3"),
    )  # fmt: skip
    a, a_again, x, x_again = (session.external_id for session in sessions(found))
    assert a == a_again != x == x_again
    assert talk(found) == ["a", "b", "c", "d", "x", "y"]


def test_a_conversation_that_leaves_another_where_that_went_on_is_its_own() -> None:
    found = log(
        asked(user("a")), answer("b", "1"),
        asked(user("a"), bot("b"), user("c")), answer("d", "2"),
        asked(user("a"), bot("b"), user("e")), answer("f", "3"),
    )  # fmt: skip
    assert len({session.external_id for session in sessions(found)}) == 2
    assert talk(found) == ["a", "b", "c", "d", "a", "b", "e", "f"]


def test_a_system_prompt_that_changes_is_told_each_time_and_a_steady_one_once() -> None:
    def system(text: str) -> dict[str, Any]:
        return {"role": "system", "content": text}

    steady = log(asked(system("s"), user("a")), answer("b", "1"), asked(system("s"), user("a"), bot("b"), user("c")))
    moving = log(asked(system("1"), user("a")), answer("b", "1"), asked(system("2"), user("a"), bot("b"), user("c")))
    assert talk(steady) == ["s", "a", "b", "c"] and talk(moving) == ["1", "a", "b", "2", "c"]


def test_the_same_response_again_is_told_once() -> None:
    usage = {"prompt_tokens": 5}
    found = log(asked(user("a")), answer("b", "1", usage=usage), answer("b", "1", usage=usage))
    assert talk(found) == ["a", "b"] and len(counted(found)) == 1
    assert "openai-chat.repeated-response" in findings(found)


def test_a_request_that_names_the_response_before_it_says_only_what_is_new() -> None:
    def said(text: str) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    found = log(
        {"model": "m", "input": "a", "store": True},
        response(said("b")),
        {"model": "m", "input": "a", "previous_response_id": "resp_1"},
        response(said("d"), id="resp_2", previous_response_id="resp_1"),
    )
    assert talk(found) == ["a", "b", "a", "d"] and len({s.external_id for s in sessions(found)}) == 1


def test_a_stated_conversation_is_the_session() -> None:
    found = log({"model": "m", "input": "a", "conversation": {"id": "conv_1"}}, response())
    assert sessions(found)[0].external_id == "conv_1"


def test_responses_without_requests_are_sessions_of_their_own() -> None:
    found = log(answer("a", "1"), answer("b", "2"))
    assert [session.external_id for session in sessions(found)][::2] == ["1", "2"]


def test_lines_of_training_data_are_conversations_of_their_own() -> None:
    found = log({"messages": [user("a"), bot("b")]}, {"messages": [user("c"), bot("d")]})
    assert len({session.external_id for session in sessions(found)}) == 2 and talk(found) == ["a", "b", "c", "d"]


def test_an_error_in_the_place_of_a_response_is_told_in_its_conversation() -> None:
    found = log(
        asked(user("a")), {"error": {"message": "busy", "type": "overloaded"}}, asked(user("a")), answer("b", "1")
    )
    assert [(event.kind, event.text) for event in events(found)] == [
        ("user_message", "a"),
        ("error", "busy"),
        ("agent_message", "b"),
    ]


def test_a_log_that_has_grown_tells_each_conversation_as_before_and_then_more() -> None:
    lines = LOG.splitlines(keepends=True)
    whole = by_session(read(openai_chat, LOG))
    for cut in range(1, len(lines)):
        for id, before in by_session(read(openai_chat, b"".join(lines[:cut]))).items():
            assert before == whole[id][: len(before)]


def by_session(found: list[Any]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    for draft in found:
        if hasattr(draft, "external_id"):
            current = keys.setdefault(draft.external_id, [])
        elif hasattr(draft, "key"):
            current.append(draft.key)
    return keys


def test_of_a_log_too_large_to_hold_the_conversations_that_rest_are_given_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vcon_app.formats.openai_chat.reading.HELD", 3)
    monkeypatch.setattr("vcon_app.formats.openai_chat.reading.CHECKED", 1)
    found = log(
        asked(user("a")), answer("b", "1"),
        asked(user("x")), answer("y", "2"),
        asked(user("a"), bot("b"), user("c")), answer("d", "3"),
    )  # fmt: skip
    first, again = sessions(found)[0].external_id, sessions(found)[-1].external_id
    assert again == f"{first}#2" and "openai-chat.repeated-session" in findings(found)
    assert talk(found) == ["a", "b", "x", "y", "a", "b", "c", "d"]


USE = {"type": "tool_use", "id": "t", "name": "look", "input": {"at": "shelf"}}
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Oil it"}]},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Which oil?", "signature": "c2ln"}, {"type": "text", "text": "I look."}, USE]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": [{"type": "text", "text": "dark"}]},
        {"type": "text", "text": "Take a lamp"}]},
]  # fmt: skip
SAID = ["Oil it", "Which oil?", "I look.", "", "dark", "Take a lamp"]


def test_anthropics_blocks_in_a_request_are_thoughts_calls_and_results() -> None:
    found = events(log({"model": "m", "max_tokens": 9, "system": "Be brief", "messages": BLOCKS}))
    assert [event.text for event in found] == ["Be brief", *SAID]
    assert [event.kind for event in found[-4:]] == ["agent_message", "tool_call", "tool_result", "user_message"]
    called, brought = found[4], found[5]
    assert called.tool and called.tool.arguments == {"at": "shelf"}
    assert brought.tool and (brought.parent, brought.tool.status) == (called.key, "error")


def test_a_logged_answer_of_anthropics_api_is_billed() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Done"}], "usage": usage}  # fmt: skip
    found = log({"request": {"model": "m", "messages": BLOCKS}, "response": said})
    assert talk(found) == [*SAID, "Done"]
    assert [(event.usage.input_tokens, event.usage.cache_read_tokens) for event in events(found) if event.usage] == [
        (5, 7),
    ]  # fmt: skip
