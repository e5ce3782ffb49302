"""Whose file is it: several agents write lines that look like Claude Code's."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import claude_code
from vcon_app.formats.common.head import Head

from .lines import SESSION, assistant, jsonl, line, text, user

INIT = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/srv", "model": "claude-opus-4-6"}


@pytest.mark.parametrize(
    "values",
    [
        [user("u1", "Prune.")],
        [line("brand-new", "x1"), assistant("a1", text("Done."))],
        [user("u1", "Prune."), line("brand-new", "x1", payload={"a": 1}, sessionID="s", projectHash="h")],
        [{"type": "summary", "summary": "Pears", "leafUuid": "l1"}],
        [{"type": "ai-title", "aiTitle": "Pears", "sessionId": SESSION}],
        [{"type": "file-history-snapshot", "messageId": "m"}, {"type": "mode", "mode": "plan", "sessionId": SESSION}],
        [{"type": "user", "message": {"content": "no ids at all"}}],
        [{"sessionId": SESSION, "message": {"usage": {"cache_read_input_tokens": 5}}}],
        [
            [
                {"sessionId": SESSION, "message": {"role": "user", "content": "Prune."}},
                {"sessionId": SESSION, "message": {"usage": {"cache_read_input_tokens": 5}}},
            ]
        ],
        [INIT | {"tools": ["Bash"]}],
        [{"loglines": [user("u1", "Prune.")]}],
        [[user("u1", "Prune."), assistant("a1", text("Done."))]],
        [[INIT | {"tools": ["Bash"]}]],
    ],
)
def test_what_claude_code_writes_is_claimed(values: list[dict[str, Any]]) -> None:
    assert claude_code.detect(Head(jsonl(*values)))


@pytest.mark.parametrize(
    ("tool", "values"),
    [
        ("Qwen Code", [user("u1", None, message={"role": "user", "parts": [{"text": "Prune."}]})]),
        ("Qwen Code", [line("system", "s1", systemPayload={"uiEvent": {}})]),
        ("Cursor", [{"role": "user", "message": {"content": [text("Prune.")]}}]),
        ("Cursor on a terminal", [INIT, {"type": "tool_call", "subtype": "started", "session_id": "s"}]),
        ("Copilot CLI", [{"type": "session.start", "id": "1", "data": {"sessionId": "s"}}, {"type": "user.message"}]),
        ("Managed Agents", [{"type": "user.message", "id": "sevt_1", "processed_at": None}]),
        ("Managed Agents", [{"type": "user", "id": "sevt_1", "sessionId": "s", "processed_at": None}]),
        ("Gemini CLI", [{"sessionId": "s", "projectHash": "h"}, {"type": "user", "id": "1", "content": "Prune."}]),
        ("Codex", [{"type": "session_meta", "payload": {"id": "1"}}, {"type": "response_item", "payload": {}}]),
        ("pi", [{"type": "session", "id": "1", "cwd": "/srv"}, {"type": "message", "id": "2", "message": {}}]),
        ("OpenCode", [{"type": "user", "sessionID": "s", "message": {}}]),
        ("a list of chat messages", [{"role": "user", "content": "Prune."}]),
        ("a vCon", [{"vcon": "0.3.0", "uuid": "u", "parties": [], "dialog": []}]),
        ("a list of names", [{"type": "user", "name": "Mira"}]),
        ("names in a list", [[{"type": "user", "name": "Mira"}]]),
        ("chat messages in a list", [[{"role": "user", "content": "Prune."}]]),
        ("Managed Agents", [[{"type": "user", "id": "sevt_1", "sessionId": "s", "processed_at": None}]]),
        ("Cursor on a terminal", [[INIT, {"type": "tool_call", "subtype": "started", "session_id": "s"}]]),
    ],
)
def test_files_of_other_formats_are_not_claimed(tool: str, values: list[dict[str, Any]]) -> None:
    assert not claude_code.detect(Head(jsonl(*values))), tool


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, b"null\n", b"[1]\n", b"{", b"PK\x03\x04"])
def test_file_without_a_transcript_is_not_claimed(data: bytes) -> None:
    assert not claude_code.detect(Head(data))
