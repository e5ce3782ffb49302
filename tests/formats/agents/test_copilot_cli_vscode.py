"""Chat sessions of VS Code: confirmations are approvals, and a log of changes is the document it leads to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, FormatError
from vcon_app.formats import copilot_cli
from vcon_app.formats.copilot_cli import vscode

from ..checks import ODD, check_odd_documents, drafts_of, events, jsonl


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
        found = vscode.changed(found, change)
    assert found == state


def test_changes_of_any_shape_do_no_harm() -> None:
    first = {"kind": 0, "v": {"version": 3, "sessionId": "v1", "requests": []}}
    odd = [{"kind": kind, "k": path, "v": value, "i": index}
           for kind in (0, 1, 2, 3) for path in ([], ["requests"], ["requests", 0], [[]], "x", [None, 1])
           for value in ODD for index in (None, -1, "x")]  # fmt: skip
    for change in odd:
        vscode.changed(vscode.changed({}, first), change)


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    document = json.loads((SAMPLES / "copilot-cli" / "vscode.json").read_text())
    check_odd_documents(copilot_cli, document)


def test_a_log_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vscode, "LARGEST_DOCUMENT", 100)
    first = {"kind": 0, "v": {"version": 3, "sessionId": "v1", "requests": []}}
    with pytest.raises(FormatError, match="is not read"):
        drafts_of(copilot_cli, jsonl(first, *[{"kind": 1, "k": ["a"], "v": "x" * 50}] * 3))


def test_log_of_changes_gives_the_events_of_its_document() -> None:
    document, log = (
        events(drafts_of(copilot_cli, (SAMPLES / "copilot-cli" / name).read_bytes()))
        for name in ("vscode.json", "vscode-log.jsonl")
    )
    assert document == log
