"""Chat sessions of VS Code: confirmations are approvals, and a log of changes is the document it leads to."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, FormatError
from vcon_app.formats import copilot_cli
from vcon_app.formats.copilot_cli import vscode_log

from ..checks import ODD, check_odd_documents, drafts_of, events, findings, jsonl


def told(*parts: Any, **more: Any) -> list[EventDraft]:
    request = {"requestId": "r1", "message": {"text": "Sort."}, "response": list(parts), **more}
    data = json.dumps({"sessionId": "v1", "requesterUsername": "mira", "requests": [request]}, indent=1).encode()
    return events(drafts_of(copilot_cli, data))[1:]


def tool(confirmed: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "toolInvocationSerialized", "toolCallId": "c1", "toolId": "run", "isConfirmed": confirmed, **more}


@pytest.mark.parametrize(
    ("confirmed", "answer"),
    [
        ({"type": 0}, ("denied", "user")),
        ({"type": 1}, None),
        ({"type": 2}, ("approved", "policy")),
        ({"type": 3}, ("approved", "policy")),
        ({"type": 4}, ("approved", "user")),
        ({"type": 5}, ("denied", "user")),
        ({"type": "user"}, ("approved", "user")),
        ("denied", ("denied", "user")),
        (True, ("approved", "not recorded")),
        (False, ("denied", "user")),
        (None, None),
        ({"type": True}, None),
    ],
)
def test_a_confirmation_is_an_approval(confirmed: Any, answer: tuple[str, str] | None) -> None:
    found = [event for event in told(tool(confirmed)) if event.kind == "approval"]
    assert [(event.data["decision"], event.data["by"]) for event in found] == ([answer] if answer else [])
    assert all(event.data["inferred"] is False and event.tool and event.tool.call_id == "c1" for event in found)


def test_arguments_and_answers_come_from_the_rounds_with_the_model() -> None:
    rounds = [{"toolCalls": [{"id": "c1", "name": "run_in_terminal", "arguments": '{"command": "ls"}'}]}]
    answers = {"c1": {"content": [{"value": "a.txt"}, {"value": "b.txt"}]}}
    call, result = told(tool(None), result={"metadata": {"toolCallRounds": rounds, "toolCallResults": answers}})
    assert call.tool and (call.tool.name, call.tool.arguments) == ("run_in_terminal", {"command": "ls"})
    assert (result.text, result.parent) == ("a.txt\nb.txt", call.key)


def test_a_call_keeps_its_keys_until_it_has_ended() -> None:
    waiting, running, done = told(tool(None)), told(tool({"type": 4})), told(tool({"type": 4}, isComplete=True))
    keys = [[event.key for event in found] for found in (waiting, running, done)]
    assert keys[1][:1] == keys[0] and keys[2][:2] == keys[1] and len(keys[2]) == 3


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ([{"kind": 1, "k": ["a"], "v": 2}], {"a": 2, "b": [1, 2]}),
        ([{"kind": 2, "k": ["b"], "v": [3]}], {"a": 1, "b": [1, 2, 3]}),
        ([{"kind": 2, "k": ["b"], "v": [9], "i": 1}], {"a": 1, "b": [1, 9]}),
        ([{"kind": 3, "k": ["a"]}], {"b": [1, 2]}),
        ([{"kind": 1, "k": ["b", 2], "v": 3}, {"kind": 1, "k": ["b", 9], "v": 3}], {"a": 1, "b": [1, 2, 3]}),
        ([{"kind": 1, "k": ["x", "y"], "v": 3}, {"kind": 7}, {"kind": 1, "k": [], "v": 3}], {"a": 1, "b": [1, 2]}),
        ([{"kind": 0, "v": {"c": 1}}], {"c": 1}),
    ],
)
def test_changes_are_applied_in_order(changes: list[dict[str, Any]], state: dict[str, Any]) -> None:
    found: Any = {"a": 1, "b": [1, 2]}
    for change in changes:
        found = vscode_log.changed(found, change)
    assert found == state


def test_changes_of_any_shape_do_no_harm() -> None:
    first = {"kind": 0, "v": {"version": 3, "sessionId": "v1", "requests": []}}
    odd = [{"kind": kind, "k": path, "v": value, "i": index}
           for kind in (0, 1, 2, 3) for path in ([], ["requests"], ["requests", 0], [[]], "x", [None, 1])
           for value in ODD for index in (None, -1, "x")]  # fmt: skip
    for change in odd:
        vscode_log.changed(vscode_log.changed({}, first), change)


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    document = json.loads((SAMPLES / "copilot-cli" / "vscode.json").read_text())
    check_odd_documents(copilot_cli, document)


def test_a_log_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vscode_log, "LARGEST_DOCUMENT", 100)
    first = {"kind": 0, "v": {"version": 3, "sessionId": "v1", "requests": []}}
    with pytest.raises(FormatError, match="is not read"):
        drafts_of(copilot_cli, jsonl(first, *[{"kind": 1, "k": ["a"], "v": "x" * 50}] * 3))


def test_log_of_changes_gives_the_events_of_its_document() -> None:
    document, log = (
        events(drafts_of(copilot_cli, (SAMPLES / "copilot-cli" / name).read_bytes()))
        for name in ("vscode.json", "vscode-log.jsonl")
    )
    assert document == log


TERMINAL = {"kind": "toolInvocationSerialized", "toolCallId": "t1", "toolId": "run", "invocationMessage": "Running it"}
ROUNDS = {"toolCallRounds": [
    {"toolCalls": [{"id": "t1", "name": "run_in_terminal", "arguments": '{"command": "ls", "why": "to see"}'}]}
]}  # fmt: skip


def log_of_an_answer(*, state: int = 1) -> list[dict[str, Any]]:
    """As the editor saves it meanwhile: text that grows, a call that ends, and what the model asked for at the end."""
    response = ["requests", 0, "response"]
    return [
        {"kind": 0, "v": {"version": 3, "sessionId": "v1", "initialLocation": "panel", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [
            {"requestId": "r1", "message": {"text": "Sort."}, "response": [{"value": "I"}], "modelState": {"value": 0}}
        ]},
        {"kind": 2, "k": response, "v": [{"value": "I look"}, TERMINAL], "i": 0},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 4}},
        {"kind": 2, "k": response, "v": [
            {"isConfirmed": {"type": 4}, "isComplete": True, **TERMINAL},
            {"value": "Sor"},
        ], "i": 1},
        {"kind": 1, "k": ["requests", 0, "result"], "v": {"details": "Opus", "metadata": ROUNDS}},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": state, "completedAt": 1_791_187_209_000}},
        {"kind": 1, "k": ["requests", 0, "timeSpentWaiting"], "v": 1_791_187_203_000},
        {"kind": 2, "k": response, "v": [{"value": "Sorted."}], "i": 2},
        {"kind": 1, "k": ["inputState"], "v": {"inputText": "And"}},
        {"kind": 2, "k": ["requests"], "v": [
            {"requestId": "r2", "message": {"text": "Stop."}, "response": [], "modelState": {"value": 0}}
        ]},
        {"kind": 1, "k": ["requests", 1, "modelState"], "v": {"value": 2}},
        {"kind": 1, "k": ["inputState", "inputText"], "v": ""},
    ]  # fmt: skip


def told_by_each_part(lines: list[bytes]) -> list[list[EventDraft]]:
    return [events(drafts_of(copilot_cli, b"".join(lines[:count]))) for count in range(1, len(lines) + 1)]


@pytest.mark.parametrize("state", [1, 2, 3], ids=["complete", "cancelled", "failed"])
def test_a_log_that_is_read_again_and_again_while_it_grows_doubles_and_loses_nothing(state: int) -> None:
    lines = jsonl(*log_of_an_answer(state=state)).splitlines(keepends=True)
    *parts, whole = told_by_each_part(lines)
    assert [event.text for event in whole if event.text] == ["Sort.", "I look", "Sorted.", "Stop."]
    assert [event.tool.arguments for event in whole if event.kind == "tool_call" and event.tool] == [
        {"command": "ls", "why": "to see"}
    ]
    for part in parts:
        assert part == whole[: len(part)]
    assert [len(part) for part in parts[:8]] == [0] * 8 and len(parts[8]) == len(whole) - 2


def test_every_part_of_a_log_gives_the_first_events_of_the_whole() -> None:
    lines = (SAMPLES / "copilot-cli" / "vscode-log.jsonl").read_bytes().splitlines(keepends=True)
    *parts, whole = told_by_each_part(lines)
    assert all(part == whole[: len(part)] for part in parts)


def test_an_answer_that_has_not_ended_is_said_to_be_there_and_read_where_somebody_asks_for_it() -> None:
    data = jsonl(*log_of_an_answer()[:5])
    found = drafts_of(copilot_cli, data)
    assert not events(found)
    assert findings(found)["copilot-cli.unfinished"].path == "/requests/0"
    asked, *answer = events(copilot_cli.read_anyway(io.BytesIO(data)))
    assert (asked.text, [event.kind for event in answer]) == (
        "Sort.", ["agent_message", "tool_call", "approval", "tool_result", "agent_message"],
    )  # fmt: skip


def test_a_question_to_the_person_is_told_with_what_was_chosen() -> None:
    carousel = {
        "kind": "questionCarousel", "resolveId": "c9", "message": {"value": "Two things"}, "isUsed": True,
        "questions": [
            {"id": "q1", "title": "Order", "message": "Which way?", "options": [{"label": "Up"}, {"label": "Down"}]},
            {"id": "q2", "title": "Ties"},
        ],
        "data": {"q1": {"selectedValue": "Up"}, "q2": "Keep them"},
    }  # fmt: skip
    [event] = told(carousel)
    assert (event.kind, event.text) == (
        "system", "Two things\nOrder\nWhich way?\n- Up\n- Down\n→ Up\nTies\n→ Keep them"
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["planReview", "hook", "systemNotification", "workspaceEdit", "disabledClaudeHooks"])
def test_parts_of_newer_versions_are_known(kind: str) -> None:
    [event] = told({"kind": kind, "title": "Plan", "content": "1. Sort"})
    assert (event.kind, event.text, event.data["type"]) == ("system", "Plan\n1. Sort", kind)


def test_a_turn_that_was_cancelled_says_so_in_newer_versions_too() -> None:
    assert [event.data for event in told(modelState={"value": 2, "completedAt": 5})] == [{"type": "interrupted"}]


def test_the_editor_counts_the_answers_of_a_turn() -> None:
    metadata = {"metadata": {"promptTokens": 7, "outputTokens": 3}}
    [event] = told(result=metadata, promptTokens=900, completionTokens=40, copilotCredits=1.5)
    assert event.usage and (event.usage.input_tokens, event.usage.output_tokens) == (900, 40)
    assert event.data["credits"] == 1.5
    [older] = told(result=metadata)
    assert older.usage and (older.usage.input_tokens, older.usage.output_tokens) == (7, 3)


def test_calls_of_a_sub_agent_stand_below_the_call_that_started_it() -> None:
    special = {"kind": "subagent", "agentName": "Scout", "prompt": "Look", "description": "A look", "result": "Seen."}
    started = tool(None, toolCallId="s1", isComplete=True, toolSpecificData=special)
    terminal = {"kind": "terminal", "commandLine": {"original": "ls"}, "terminalCommandOutput": {"text": "a.txt"},
                "terminalCommandState": {"exitCode": 2}}  # fmt: skip
    inner = tool(None, toolCallId="i1", isComplete=True, subAgentInvocationId="s1", toolSpecificData=terminal)
    call, result, below, ended = told(started, inner)
    assert call.tool and below.tool and ended.tool
    assert call.tool.arguments == {"description": "A look", "prompt": "Look", "agentName": "Scout"}
    assert (result.text, ended.text, ended.tool.status, below.tool.arguments) == (
        "Seen.", "a.txt", "error", {"command": "ls"}
    )  # fmt: skip
    assert (below.parent, below.depth, below.actor_kind, below.actor_name) == (call.key, 1, "subagent", "Scout")


def test_what_the_editor_asked_by_itself_is_not_said_by_a_person() -> None:
    request = {"requestId": "r1", "message": {"text": "The terminal ended."}, "response": [], "isSystemInitiated": True}
    data = json.dumps({"sessionId": "v1", "responderUsername": "Copilot", "requests": [request]}, indent=1).encode()
    assert [event.kind for event in events(drafts_of(copilot_cli, data))] == ["injected_context"]
