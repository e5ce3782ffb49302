"""Lines of the CLI: who says what, what calls became, who allowed them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, FormatError
from vcon_app.formats import copilot_cli
from vcon_app.formats.common.head import Head

from ..checks import check_odd_documents, check_odd_values, drafts_of, events, findings, jsonl, session

START = {"type": "session.start", "id": "s", "data": {"sessionId": "c0ffee", "selectedModel": "claude-sonnet-4.6"}}


def line(kind: str, id: str = "", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": id or kind, "timestamp": "2026-10-05T08:00:00.000Z"}


def asks(call_id: str, **more: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "name": "bash", "arguments": {"command": "ls"}, **more}


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(copilot_cli, jsonl(START, *values))


def told(*values: dict[str, Any]) -> list[EventDraft]:
    return events(drafts(*values))[1:]


def test_a_call_is_told_once_by_its_message_or_by_its_start() -> None:
    start = line("tool.execution_start", toolCallId="c1", toolName="bash")
    message = line("assistant.message", content="", toolRequests=[asks("c1"), asks("c1"), asks("c2")])
    assert [event.kind for event in told(message, start)] == ["tool_call", "tool_call", "system"]
    assert [event.kind for event in told(start, line("assistant.message", toolRequests=[asks("c1")]))] == [
        "tool_call", "system",
    ]  # fmt: skip


def test_arguments_in_a_string_are_read() -> None:
    found = told(line("assistant.message", toolRequests=[asks("c1", arguments='{"command": "sort"}')]))[0]
    assert found.tool and found.tool.arguments == {"command": "sort"}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"success": True, "result": {"content": "a"}}, "ok"),
        ({"success": False, "error": {"message": "a"}}, "error"),
        ({"success": False, "error": {"message": "a", "code": "denied"}}, "denied"),
        ({"success": False, "error": {"message": "The tool call was rejected by the user"}}, "denied"),
        ({"success": False, "error": {"message": "a", "code": "aborted"}}, "cancelled"),
        ({"result": {"content": "a"}}, None),
    ],
)
def test_a_result_says_how_it_went(data: dict[str, Any], status: str | None) -> None:
    found = told(
        line("assistant.message", toolRequests=[asks("c1")]), line("tool.execution_complete", toolCallId="c1", **data)
    )
    assert found[-1].tool and (found[-1].tool.status, found[-1].tool.name) == (status, "bash")
    assert found[-1].parent == found[0].key


def test_the_diff_of_an_edit_is_kept() -> None:
    result = {"content": "Edited.", "detailedContent": "\ndiff --git a/a b/a\n-x\n+y\n"}
    found = told(line("tool.execution_complete", toolCallId="c1", success=True, result=result))[0]
    assert found.tool and found.tool.result == {"diff": "\ndiff --git a/a b/a\n-x\n+y\n"}


@pytest.mark.parametrize(
    ("answer", "decision", "by"),
    [
        ("approved", "approved", "user"),
        ("approved-for-session-by-user", "approved", "user"),
        ("denied-interactively-by-user", "denied", "user"),
        ("denied-by-rules", "denied", "policy"),
    ],
)
def test_an_answer_to_a_permission_is_an_approval(answer: str, decision: str, by: str) -> None:
    given = line("permission.completed", toolCallId="c1", result={"kind": answer})
    found = told(line("assistant.message", toolRequests=[asks("c1")]), given)[1]
    assert found.kind == "approval" and found.tool and found.tool.name == "bash"
    assert (found.data["decision"], found.data["by"], found.data["inferred"]) == (decision, by, False)


def test_refusal_becomes_one_approval() -> None:
    message = line("assistant.message", toolRequests=[asks("c1")])
    refused = line("tool.execution_complete", toolCallId="c1", success=False, error={"code": "denied", "message": "no"})
    given = line("permission.completed", toolCallId="c1", result={"kind": "denied-by-user"})
    for lines, inferred in (([message, refused], True), ([message, given, refused], False)):
        found = told(*lines)
        assert [event.kind for event in found] == ["tool_call", "approval", "tool_result"]
        assert found[1].data["inferred"] is inferred


def test_a_sub_agent_hangs_below_its_call_and_keeps_its_model_to_itself() -> None:
    found = told(
        line("assistant.message", "m1", toolRequests=[asks("c1")]),
        line("subagent.started", toolCallId="c1", agentDisplayName="Counter"),
        line("assistant.message", "m2", parentToolCallId="c1", content="Nine.", model="claude-haiku-4.5"),
        line("assistant.message", "m3", content="Nine buds."),
    )
    assert [(e.depth, e.actor_kind, e.actor_name, e.model) for e in found[2:]] == [
        (1, "subagent", "Counter", "claude-haiku-4.5"), (0, "agent", "Copilot", "claude-sonnet-4.6"),
    ]  # fmt: skip
    assert found[2].parent == found[0].key


def test_content_sent_in_place_of_a_prompt_is_context() -> None:
    found = told(line("user.message", content="Sort.", transformedContent="<now>Monday</now>\nSort."))
    assert [(event.kind, event.text) for event in found] == [
        ("user_message", "Sort."), ("injected_context", "<now>Monday</now>\nSort."),
    ]  # fmt: skip
    assert [event.kind for event in told(line("user.message", content="x", source="skill-pdf"))] == ["injected_context"]


def test_repeated_reasoning_becomes_one_event() -> None:
    thought = line("assistant.reasoning", content="Short list.")
    message = line("assistant.message", content="Sorted.", reasoningText="Short list.")
    assert [event.kind for event in told(thought, message)] == ["reasoning", "agent_message"]
    assert [event.kind for event in told(message)] == ["reasoning", "agent_message"]
    sealed = told(line("assistant.message", content="", reasoningOpaque="gAAA"))[0]
    assert (sealed.kind, sealed.data) == ("reasoning", {"encrypted": True})


def test_lines_with_the_same_id_have_keys_of_their_own() -> None:
    found = told(line("abort", "x"), line("abort", "x", reason="other"))
    assert found[0].key == "x" and found[1].key.startswith("x:")


def test_the_session_is_told_with_its_place_and_title() -> None:
    context = {"cwd": "/srv", "branch": "spring", "repository": "mira/orchard"}
    start = line("session.start", sessionId="c1", copilotVersion="1.0.77", context=context)
    found = session(drafts_of(copilot_cli, jsonl(start, line("session.title_changed", title="Pears"))))
    assert (found.external_id, found.title) == ("c1", "Pears")
    assert found.metadata["environment"] == {"cwd": "/srv", "git_branch": "spring", "repository": "mira/orchard"}
    assert found.metadata["recorder"] == {"name": "copilot-cli", "version": "1.0.77"}


def test_unknown_events_are_kept_raw() -> None:
    found = drafts(line("moon.phase", phase="new"), {"type": "user.message", "data": "no object"})
    assert [event.kind for event in events(found)[1:]] == ["unknown", "unknown"]
    assert "line type 'moon.phase'" in [f.message.split(":")[0] for f in found if getattr(f, "rule", "")][0]


def test_old_lines_named_after_hooks_are_read() -> None:
    lines = [{"type": "userPromptSubmitted", "prompt": "Sort."}, {"type": "assistantresponse", "content": "Sorted."}]
    assert [(e.kind, e.text) for e in events(drafts_of(copilot_cli, jsonl(*lines)))] == [
        ("user_message", "Sort."), ("agent_message", "Sorted."),
    ]  # fmt: skip


def test_a_document_of_messages_alone_is_read() -> None:
    messages = [
        {"role": "user", "content": "Sort."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]
    data = json.dumps({"sessionId": "s", "chatMessages": messages}, indent=1).encode()
    assert copilot_cli.detect(Head(data))
    found = events(drafts_of(copilot_cli, data))
    assert [event.kind for event in found] == ["user_message", "agent_message", "tool_call", "tool_result"]
    assert found[3].parent == found[2].key


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    for name in ("events.jsonl", "hooks.jsonl"):
        lines = [json.loads(text) for text in (SAMPLES / "copilot-cli" / name).read_text().splitlines()]
        check_odd_values(copilot_cli, jsonl(START), lines)
    document = json.loads((SAMPLES / "copilot-cli" / "timeline.json").read_text())
    check_odd_documents(copilot_cli, document)


@pytest.mark.parametrize("data", [b"", b"[]\n", b'{"sessionId": "s", "timeline": ['])
def test_unreadable_file_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="Copilot"):
        drafts_of(copilot_cli, data)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "session.status_idle", "id": "sevt_1", "processed_at": None},
        {"type": "user.message", "id": "sevt_1", "content": []},
        {"type": "session", "data": {}},
        {"kind": 0, "type": "x", "v": {"version": 1}},
        {"requests": [], "x": 1},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: dict[str, Any]) -> None:
    assert not copilot_cli.detect(Head(jsonl(value)))


def test_a_call_that_only_its_completed_entry_tells_is_a_call_and_its_result() -> None:
    done = {"type": "tool_call_completed", "callId": "c1", "name": "bash", "arguments": {"command": "ls"}}
    entry = done | {"id": "e1", "timestamp": "2025-09-01T10:00:00Z", "result": {"type": "success", "log": "pear.txt"}}
    requested = {"type": "tool_call_requested", "callId": "c1", "name": "bash", "arguments": {"command": "ls"}}
    for timeline in ([entry], [requested, entry]):
        data = json.dumps({"sessionId": "s", "timeline": timeline}).encode()
        call, result = events(drafts_of(copilot_cli, data))
        assert call.tool and (call.kind, call.tool.name, call.tool.arguments) == (
            "tool_call", "bash", {"command": "ls"},
        )  # fmt: skip
        assert result.tool and (result.kind, result.parent, result.text) == ("tool_result", call.key, "pear.txt")
        assert result.tool.status == "ok" and result.key != call.key


def test_lines_named_after_hooks_have_milliseconds() -> None:
    found = drafts_of(copilot_cli, jsonl({"type": "userPromptSubmitted", "prompt": "Go.", "timestamp": 1756720800000}))
    (event,) = events(found)
    assert event.at and event.at.isoformat() == "2025-09-01T10:00:00+00:00" and not findings(found)
