"""What messages say: prompts and what was added to them, thoughts, calls, tokens, refusals."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError, Usage
from vcon_app.formats import gemini_cli
from vcon_app.formats.common.head import Head

from ..checks import check_odd_values, drafts_of, events, findings, jsonl, session

META = {
    "sessionId": "s",
    "projectHash": "h",
    "startTime": "2026-10-05T08:00:00Z",
    "lastUpdated": "2026-10-05T09:00:00Z",
}


def document(*messages: dict[str, Any], **more: Any) -> bytes:
    return json.dumps(META | {"messages": messages} | more, indent=1).encode()


def told(*messages: dict[str, Any]) -> list[EventDraft]:
    return events(drafts_of(gemini_cli, document(*messages)))


def called(status: str, **response: Any) -> EventDraft:
    call = {
        "id": "c1",
        "name": "glob",
        "args": {},
        "status": status,
        "result": [{"functionResponse": {"response": response}}],
    }
    return told({"id": "g", "type": "gemini", "content": "", "toolCalls": [call]})[-1]


def test_the_session_is_named_by_its_summary_and_timed_by_its_first_and_last_update() -> None:
    found = session(drafts_of(gemini_cli, document({"type": "user", "content": "Sort."}, summary="Pears")))
    assert (found.external_id, found.title) == ("s", "Pears")
    assert [found.started_at and found.started_at.hour, found.ended_at and found.ended_at.hour] == [8, 9]


def test_files_that_were_named_in_a_prompt_are_context() -> None:
    found = told(
        {"id": "u", "type": "user", "content": [{"text": "Sort @a"}, {"text": "…a…"}], "displayContent": "Sort @a"}
    )
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Sort @a"), ("injected_context", "Sort @a…a…"),
    ]  # fmt: skip


def test_the_sessions_context_starts_no_turn() -> None:
    event = told({"id": "u", "type": "user", "content": "<session_context>\nMonday</session_context>"})[0]
    assert (event.kind, event.data["type"]) == ("injected_context", "session_context")


def test_pictures_are_told_without_their_bytes() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
    event = told({"id": "u", "type": "user", "content": [picture]})[0]
    assert event.data["attachments"] == [{"type": "inlineData", "media_type": "image/png", "bytes": 3}]


def test_thoughts_come_first_at_their_own_time() -> None:
    thought = {"subject": "Plan", "description": "Sort it.", "timestamp": "2026-10-05T08:00:01Z"}
    found = told(
        {"id": "g", "type": "gemini", "content": "Done.", "thoughts": [thought], "timestamp": "2026-10-05T08:00:05Z"}
    )
    assert [(event.kind, event.text, event.at and event.at.second) for event in found] == [
        ("reasoning", "**Plan**\n\nSort it.", 1), ("agent_message", "Done.", 5),
    ]  # fmt: skip


def test_cached_input_is_inside_and_thoughts_are_outside() -> None:
    tokens = {"input": 100, "output": 10, "cached": 40, "thoughts": 5, "tool": 3, "total": 118}
    found = told({"id": "g", "type": "gemini", "content": "", "model": "gemini-3-pro-preview", "tokens": tokens})[0]
    assert found.usage == Usage(63, 40, None, 15, 5) and found.request == "g" and found.model == "gemini-3-pro-preview"
    assert told({"id": "g", "type": "gemini", "content": "", "tokens": {"output": 4}})[0].usage == Usage(
        output_tokens=4
    )


def test_a_total_that_does_not_add_up_is_reported() -> None:
    data = document({"id": "g", "type": "gemini", "content": "x", "tokens": {"input": 1, "output": 1, "total": 3}})
    assert "1 responses" in findings(drafts_of(gemini_cli, data))["gemini-cli.total"].message


@pytest.mark.parametrize(
    ("status", "response", "text", "outcome"),
    [
        ("success", {"output": "a\nExit Code: 0"}, "a\nExit Code: 0", "ok"),
        ("error", {"error": "no such file"}, "no such file", "error"),
        ("cancelled", {"error": "[Operation Cancelled] Reason: stopped"}, None, "cancelled"),
        ("cancelled", {"error": "[Operation Cancelled] Reason: User did not allow tool call"}, None, "denied"),
        ("error", {"error": "User denied execution."}, None, "denied"),
        ("success", {"rows": 3}, '{"rows":3}', "ok"),
    ],
)
def test_a_result_says_how_it_went(status: str, response: dict[str, Any], text: str | None, outcome: str) -> None:
    found = called(status, **response)
    assert found.kind == "tool_result" and found.tool and found.tool.status == outcome
    assert found.text == (text or response["error"])


def test_a_refusal_is_an_inferred_approval() -> None:
    call = {"id": "c1", "name": "rm", "status": "cancelled", "result": [{"text": "User did not allow tool call"}]}
    found = told({"id": "g", "type": "gemini", "content": "", "toolCalls": [call]})
    assert [event.kind for event in found] == ["tool_call", "approval", "tool_result"]
    assert found[1].data == {"type": "rejected", "decision": "denied", "by": "user", "inferred": True}
    assert found[1].parent == found[0].key


def test_the_diff_of_an_edit_is_kept() -> None:
    shown = {"fileName": "a.txt", "fileDiff": "@@ -1 +1 @@\n-a\n+b\n"}
    call = {"id": "c1", "name": "replace", "status": "success", "resultDisplay": shown}
    found = told({"id": "g", "type": "gemini", "content": "", "toolCalls": [call]})[-1]
    assert found.tool and found.tool.result == shown


def test_a_call_of_a_sub_agent_names_its_session() -> None:
    call = {"id": "c1", "name": "scout", "status": "success", "agentId": "scout-1"}
    assert told({"id": "g", "type": "gemini", "content": "", "toolCalls": [call]})[-1].data == {
        "child_session": "scout-1"
    }


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    lines = [json.loads(text) for text in (SAMPLES / "gemini-cli" / "session.jsonl").read_text().splitlines()]
    check_odd_values(gemini_cli, jsonl(META), lines)


def test_a_document_that_is_cut_off_gives_what_came_before() -> None:
    data = document(
        {"id": "u", "type": "user", "content": "Sort."}, {"id": "g", "type": "gemini", "content": "x" * 500}
    )
    found = drafts_of(gemini_cli, data[:-100])
    assert [event.text for event in events(found)] == ["Sort."] and session(found).external_id == "s"
    assert findings(found)["gemini-cli.cut-off-document"].severity == "warning"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"messages": ['])
def test_unreadable_file_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="Gemini CLI"):
        drafts_of(gemini_cli, data)


def test_a_document_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini_cli, "LARGEST_DOCUMENT", 100)
    with pytest.raises(FormatError, match="is not read"):
        drafts_of(gemini_cli, document({"type": "user", "content": "x" * 100}))


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [], "sessionId": "s"},
        {"messages": {}, "projectHash": "h"},
        {"type": "user", "sessionId": "s"},
        {"$set": 1},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: dict[str, Any]) -> None:
    assert not gemini_cli.detect(Head(jsonl(value)))


CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "Prune the pears."}]},
    {"role": "model", "parts": [{"text": "Looking."}, {"functionCall": {"name": "ls", "args": {"path": "."}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "pear.txt"}}}]},
    {"role": "model", "parts": [{"text": "Done."}]},
]


@pytest.mark.parametrize("value", [
    CONTENTS, {"history": CONTENTS, "authType": "oauth-personal"},
    {"history": CONTENTS, "toolCall": {"name": "replace", "args": {}}, "commitHash": "abc"},
])  # fmt: skip
def test_a_conversation_that_was_saved_is_read(value: Any) -> None:
    data = json.dumps(value).encode()
    assert registry.detect(io.BytesIO(data))[0] == "gemini-cli"
    found = drafts_of(gemini_cli, data)
    assert [(event.kind, event.text) for event in events(found)] == [
        ("user_message", "Prune the pears."), ("agent_message", "Looking."), ("tool_call", ""),
        ("tool_result", "pear.txt"), ("agent_message", "Done."),
    ]  # fmt: skip
    assert session(found).external_id.startswith("gemini-cli-") and not findings(found)


@pytest.mark.parametrize("value", [
    [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Prune."}]}],
    [{"role": "user", "parts": [{"type": "text", "text": "Prune."}]}],
    [{"role": "user", "parts": []}], {"history": [{"role": "user", "content": "Prune."}]},
    [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Prune.", "timestamp": "2025-05-01T10:00:00Z"}],
])  # fmt: skip
def test_messages_of_others_and_the_log_of_prompts_are_no_conversation(value: Any) -> None:
    with pytest.raises(registry.Unrecognised):
        registry.detect(io.BytesIO(json.dumps(value).encode()))
