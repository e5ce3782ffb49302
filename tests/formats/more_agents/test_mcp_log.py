"""Logs of the Model Context Protocol: calls of tools with what they brought, and which logs are none of these."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, told
from vcon_app import registry
from vcon_app.drafts import FormatError


def asked(own: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": own, "method": method, "params": params}


BEGUN = [
    asked(0, "initialize", protocolVersion="2025-06-18", clientInfo={"name": "keel", "version": "1.2"}),
    {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "harbour"}}},
    asked(1, "tools/list"),
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "moor"}]}},
]
CALLED = [
    asked(2, "tools/call", name="moor", arguments={"berth": 4}),
    asked(3, "tools/call", name="moor", arguments={"berth": 5}),
    {"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "No such berth"}},
    {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "Moored"}], "isError": False}},
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_calls_and_their_results_are_told_by_their_ids(wrapped: bool) -> None:
    lines = [{"direction": "in", "timestamp": "2026-05-04T08:00:00Z", "message": one} if wrapped else one
             for one in BEGUN + CALLED]  # fmt: skip
    drafts = told(jsonl(*lines), "mcp-log")
    found = events(drafts)[len(BEGUN) :]
    assert [(event.kind, event.text, event.tool and event.tool.status) for event in found] == [
        ("tool_call", "", None), ("tool_call", "", None), ("tool_result", "No such berth", "error"),
        ("tool_result", "Moored", "ok"),
    ]  # fmt: skip
    assert [event.parent for event in found[2:]] == [found[1].key, found[0].key]
    assert found[0].tool and (found[0].tool.name, found[0].tool.arguments) == ("moor", {"berth": 4})
    assert session(drafts).agent_name == "keel"
    assert (found[0].at is not None) == wrapped


def test_a_question_to_a_person_is_an_approval_with_what_was_answered() -> None:
    answer = {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept", "content": {"berth": 5}}}
    found = events(told(jsonl(asked("q", "elicitation/create", message="Another?"), answer), "mcp-log"))
    assert [(event.kind, event.text, event.data.get("decision")) for event in found] == [
        ("approval", "Another?", None), ("approval", '{"berth":5}', "approved")
    ]  # fmt: skip


def test_a_log_without_a_call_is_refused_in_words() -> None:
    source = io.BytesIO(jsonl(*BEGUN))
    with pytest.raises(FormatError, match="no tool is called"):
        list(registry.reader(registry.detect(source)[0]).read(source))


def test_a_log_of_the_agent_client_protocol_is_none() -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Moored."}}
    lines = [
        asked(1, "session/prompt", sessionId="s", prompt=[]),
        asked(2, "session/update", sessionId="s", update=update),
    ]
    assert registry.detect(io.BytesIO(json.dumps(lines).encode()))[0] == "acp"
