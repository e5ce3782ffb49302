"""What clients of the Agent Client Protocol keep: logs of its messages, and records of sessions in Zed's shape."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told
from vcon_app import registry

AT = "2026-03-02T08:00:00Z"


def message(method: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, **more}


def update(kind: str, **members: Any) -> dict[str, Any]:
    return message("session/update", {"sessionId": "s", "update": {"sessionUpdate": kind, **members}})


def ended(number: int) -> dict[str, Any]:
    usage = {"inputTokens": 30, "cachedReadTokens": 4, "outputTokens": 5}
    return {"jsonrpc": "2.0", "id": number, "result": {"stopReason": "end_turn", "usage": usage}}


def test_what_a_session_has_cost_is_counted_once_turn_by_turn() -> None:
    asked = message("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "Oil it"}]}, id=1)
    costs = [update("usage_update", used=9, size=99, cost={"amount": amount, "currency": "USD"}) for amount in (2, 5)]
    drafts = told(jsonl(asked, costs[0], ended(1), asked, costs[1], ended(2), asked, ended(3)), "acp")
    stated = [event.cost for event in events(drafts) if event.kind == "model_request"]
    assert stated == [Decimal(2), Decimal(0), Decimal(3), Decimal(0), None]
    assert tokens(drafts) == [90, 12, 0, 15]


def test_a_cost_in_another_currency_is_told_and_not_counted_as_dollars() -> None:
    cost = update("usage_update", used=9, size=99, cost={"amount": 2, "currency": "EUR"})
    drafts = told(jsonl(cost, update("agent_message_chunk", content={"type": "text", "text": "Oiled"})), "acp")
    assert {event.cost for event in events(drafts)} == {None}


def test_a_session_is_called_as_its_agent_called_it() -> None:
    titles = [update("session_info_update", title=title) for title in ("A hinge", "The hinge that squeaks", None)]
    assert session(told(jsonl(*titles), "acp")).title == "The hinge that squeaks"


@pytest.mark.parametrize(
    "params", [{"protocolVersion": "2025-06-18", "clientInfo": {"name": "c"}}, {"processId": 1, "rootUri": "file:///w"}]
)
def test_what_begins_like_a_session_with_another_server_is_not_of_the_protocol(params: dict[str, Any]) -> None:
    begun = message("initialize", params, id=0)
    assert told(jsonl(message("initialize", {"protocolVersion": 1}, id=0), ended(1)), "acp")
    for data in (jsonl(begun, {"jsonrpc": "2.0", "id": 0, "result": {}}), json.dumps(begun, indent=1).encode()):
        with pytest.raises(registry.Unrecognised):
            registry.detect(io.BytesIO(data))


SAID: list[Any] = [
    {"User": {"id": "u1", "content": [{"Text": "Oil the hinge"}, {"Mention": {"uri": "file:///w/a", "content": "A"}}]}},
    {"Agent": {
        "content": [{"Thinking": {"text": "Which oil?", "signature": None}}, {"Text": "I look."}, {"ToolUse": {
            "id": "c1", "name": "Look", "raw_input": "{}", "input": {"at": "shelf"}, "is_input_complete": True}}],
        "tool_results": {"c1": {
            "tool_use_id": "c1", "tool_name": "Look", "is_error": False, "content": {"Text": "linseed"}}},
    }},
    "Resume",
]  # fmt: skip
USED = {"input_tokens": 40, "output_tokens": 6, "cache_read_input_tokens": 3}
THREAD = {
    "title": "The hinge", "messages": SAID, "updated_at": AT, "cumulative_token_usage": USED,
    "request_token_usage": {"u1": USED}, "model": {"provider": "sandco", "model": "sand-1"}, "version": "0.3.0",
}  # fmt: skip
RECORD = {
    "schema": "acpx.session.v1", "acpx_record_id": "r1", "acp_session_id": "s1", "agent_command": "npx sand-acp",
    "cwd": "/w", "name": "hinge", "created_at": AT, "last_used_at": AT, "last_seq": 4, "title": None, "messages": SAID,
    "updated_at": AT, "cumulative_token_usage": USED, "request_token_usage": {"u1": USED},
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "about"),
    [(THREAD, ("u1", "The hinge", "Zed", "sand-1")), (RECORD, ("s1", "hinge", "npx sand-acp", None))],
    ids=["zed", "acpx"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_record_of_a_thread_is_read_without_its_store(
    record: dict[str, Any], about: tuple[Any, ...], indent: int | None
) -> None:
    drafts = told(json.dumps(record, indent=indent).encode(), "zed")
    found = session(drafts)
    assert (found.external_id, found.title, found.agent_name, found.model) == about
    assert [(event.kind, event.text) for event in events(drafts)] == [
        ("model_request", ""), ("user_message", "Oil the hinge"), ("injected_context", "A"),
        ("reasoning", "Which oil?"), ("agent_message", "I look."), ("tool_call", ""), ("tool_result", "linseed"),
        ("status", ""),
    ]  # fmt: skip
    assert tokens(drafts) == [40, 3, 0, 6]
    assert events(drafts)[6].parent == events(drafts)[5].key


def test_a_call_that_is_still_made_has_no_result_in_a_record() -> None:
    use = {"id": "c1", "name": "Look", "raw_input": "{}", "input": {}, "is_input_complete": False}
    empty = {"tool_use_id": "c1", "tool_name": "Look", "is_error": False, "content": {"Text": ""}}
    agent = {"Agent": {"content": [{"ToolUse": use}], "tool_results": {"c1": empty}}}
    found = events(told(json.dumps({**RECORD, "messages": [SAID[0], agent]}).encode(), "zed"))
    assert [event.kind for event in found if event.tool] == ["tool_call"]


def test_a_thread_before_0_3_is_read_without_its_store() -> None:
    segments = [{"type": "text", "text": "Oil the hinge"}]
    message = {"id": 0, "role": "user", "segments": segments, "tool_uses": [], "tool_results": [], "context": ""}
    thread = {"version": "0.2.0", "summary": "The hinge", "updated_at": AT, "messages": [message]}
    drafts = told(json.dumps(thread).encode(), "zed")
    assert session(drafts).title == "The hinge"
    assert [event.text for event in events(drafts)] == ["Oil the hinge"]
