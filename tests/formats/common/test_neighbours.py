"""Files that lie beside sessions are refused with the file to bring in their place."""

from __future__ import annotations

import io
import json

import pytest

from tests.formats.stores.made import database
from vcon_app import registry

GEMINI = {"sessionId": "zq", "messageId": 0, "type": "user", "message": "Hello", "timestamp": "2026-05-01T08:00:00Z"}
CLAUDE = {"display": "mend it", "pastedContents": {}, "timestamp": 1770000000000, "project": "/home/zq"}
CONTINUE = {"sessionId": "zq", "title": "T", "dateCreated": "1770000000000", "workspaceDirectory": "/home/zq"}
CLINE = {"id": "1770000000000", "ts": 1, "task": "mend it", "tokensIn": 1, "tokensOut": 2, "totalCost": 0.1}
OPENCODE = {"id": "ses_zq", "projectID": "p", "directory": "/home/zq", "title": "T", "time": {"created": 1}}
KIRO = {"session_id": "zq", "cwd": "/home/zq", "title": "T", "session_state": {"version": "v1"}}
TRACE = {"traceSchema": "openclaw-trajectory", "type": "session.started", "sessionId": "zq", "data": {}}
GATEWAY = {"agent:main:main": {"sessionId": "zq", "updatedAt": 1770000000000}}
DEVIN = ("CREATE TABLE sessions (id TEXT)", "CREATE TABLE message_nodes (node_id TEXT)")
WARP = ("CREATE TABLE agent_conversations (id TEXT)", "CREATE TABLE ai_queries (exchange_id TEXT)")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (json.dumps([GEMINI, GEMINI]).encode(), "bring the files in the folder chats beside it"),
        (json.dumps(CLAUDE).encode() * 2, "bring the files below ~/.claude/projects"),
        (b"\n".join([json.dumps(CLAUDE).encode()] * 2), "bring the files below ~/.claude/projects"),
        (json.dumps([CONTINUE]).encode(), "the list of Continue's sessions"),
        (json.dumps([CLINE]).encode(), "bring tasks/ID/ui_messages.json"),
        (json.dumps(OPENCODE).encode(), "bring opencode.db"),
        (json.dumps(KIRO).encode(), "the state of a session of Kiro's CLI"),
        (json.dumps(GATEWAY).encode(), "the list of an OpenClaw or Hermes gateway's sessions"),
        (b"\n".join([json.dumps(TRACE).encode()] * 2), "the trace that OpenClaw keeps beside a session"),
        (database(*DEVIN), "the store of Devin's CLI"),
        (database(*WARP), "the store of Warp"),
    ],
)
def test_what_lies_beside_sessions_is_refused_with_what_to_bring(data: bytes, says: str) -> None:
    with pytest.raises(registry.Unrecognised, match=says):
        registry.detect(io.BytesIO(data))


@pytest.mark.parametrize("data", [b'{"a": 1}', b"[1]", b"[]", b"text", database("CREATE TABLE sessions (id TEXT)")])
def test_other_files_are_described_by_what_stands_in_them(data: bytes) -> None:
    with pytest.raises(registry.Unrecognised) as refused:
        registry.detect(io.BytesIO(data))
    assert "bring" not in str(refused.value).partition(registry.KNOWN)[0]
