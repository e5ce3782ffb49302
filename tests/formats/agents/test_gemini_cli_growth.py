"""Messages that are told again, replaced and taken back: each thing that happened is one event."""

from __future__ import annotations

import json
from typing import Any

from bench.formats.corpus import calls_in, tokens_in
from tests.places import SAMPLES
from vcon_app.drafts import Draft
from vcon_app.formats import gemini_cli

from ..checks import drafts_of, events, jsonl

META = {"sessionId": "s", "projectHash": "h", "startTime": "2026-10-05T08:00:00Z"}
ASK = {"id": "u1", "type": "user", "content": "Sort."}
TOKENS = {"input": 100, "output": 10, "cached": 40, "thoughts": 5, "tool": 0, "total": 115}
CALL = {"id": "c1", "name": "run_shell_command", "args": {"command": "sort"}, "status": "executing"}
DONE = CALL | {"status": "success", "result": [{"functionResponse": {"id": "c1", "response": {"output": "a"}}}]}


def answer(**more: Any) -> dict[str, Any]:
    return {"id": "g1", "type": "gemini", "content": "I sort.", **more}


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(gemini_cli, jsonl(META, *values))


def kinds(found: list[Draft]) -> list[str]:
    return [event.kind for event in events(found)][1:]


def test_a_message_that_is_told_again_tells_only_what_is_new() -> None:
    found = drafts(ASK, answer(), answer(tokens=TOKENS), answer(tokens=TOKENS, toolCalls=[CALL]),
                   answer(tokens=TOKENS, toolCalls=[DONE]))  # fmt: skip
    assert kinds(found) == ["user_message", "agent_message", "model_request", "tool_call", "tool_result"]
    assert [event.pointer for event in events(found)][-1] == "L6/toolCalls/0"
    assert events(found)[-1].parent == events(found)[-2].key


def test_a_message_that_is_told_again_without_news_is_noted() -> None:
    assert kinds(drafts(ASK, answer(), answer())) == ["user_message", "agent_message", "system"]


def test_a_call_waits_for_its_result() -> None:
    assert kinds(drafts(answer(toolCalls=[CALL]))) == ["agent_message", "tool_call"]


def test_a_checkpoint_tells_nothing_twice_and_begins_no_turn() -> None:
    response = {
        "id": "r1",
        "type": "user",
        "content": [{"functionResponse": {"id": "c1", "response": {"output": "…"}}}],
    }
    summary = {"id": "x", "type": "user", "content": "So far: sorted."}
    whole = answer(tokens=TOKENS, toolCalls=[DONE])
    found = drafts(ASK, whole, {"$set": {"messages": [summary, ASK | {"content": "(masked)"}, whole, response]}})
    assert (calls_in(found), tokens_in(found)["output"]) == (1, 15)
    assert kinds(found).count("user_message") == 1
    assert [(e.kind, e.data.get("type")) for e in events(found)[-3:]] == [
        ("injected_context", "checkpoint"), ("system", "replaced"), ("system", "repeated_result"),
    ]  # fmt: skip


def test_a_checkpoint_that_goes_on_from_nothing_is_the_conversation() -> None:
    assert kinds(drafts({"$set": {"messages": [ASK, answer()]}})) == ["system", "user_message", "agent_message"]


def test_rewound_calls_stay_counted() -> None:
    again = {"id": "u2", "type": "user", "content": "Sort backwards."}
    found = drafts(ASK, answer(tokens=TOKENS, toolCalls=[DONE]), {"$rewindTo": "u1"}, again)
    assert (calls_in(found), tokens_in(found)["output"]) == (1, 15)
    assert [event.data for event in events(found) if event.kind == "status"] == [{"type": "rewind", "to": "u1"}]


def test_a_document_that_was_rewritten_only_adds_events() -> None:
    def keys(*messages: dict[str, Any]) -> list[str]:
        data = json.dumps(META | {"messages": messages}, indent=1).encode()
        return [event.key for event in events(drafts_of(gemini_cli, data))]

    versions = [keys(ASK), keys(ASK, answer(tokens=TOKENS)), keys(ASK, answer(tokens=TOKENS, toolCalls=[DONE]))]
    for before, after in zip(versions, versions[1:], strict=False):
        assert after[: len(before)] == before


def test_a_line_that_holds_the_whole_session_is_read() -> None:
    found = drafts_of(gemini_cli, jsonl(META | {"messages": [ASK, answer()]}))
    assert [event.pointer for event in events(found)] == ["L1/messages/0/content", "L1/messages/1/content"]


def test_session_moved_from_a_document_to_lines_keeps_its_keys() -> None:
    """Gemini CLI does that when an old session is resumed."""
    old, new = (
        {event.key: event for event in events(drafts_of(gemini_cli, (SAMPLES / "gemini-cli" / name).read_bytes()))}
        for name in ("session.json", "session.jsonl")
    )
    both = old.keys() & new.keys()
    assert {old[key].kind for key in both} >= {"user_message", "agent_message", "tool_call", "tool_result"}
    assert all((old[key].kind, old[key].text, old[key].usage) == (new[key].kind, new[key].text, new[key].usage)
               for key in both)  # fmt: skip
