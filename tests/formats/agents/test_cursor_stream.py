"""``cursor-agent`` on a terminal: pieces and wholes, calls in two stages, answers to questions, one bill."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, Usage
from vcon_app.formats import cursor

from ..checks import check_odd_values, drafts_of, events, findings, jsonl, session

INIT = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/srv", "model": "Composer 1.5"}


def line(kind: str, stage: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s", **({"subtype": stage} if stage else {}), **more}


def call(stage: str, result: Any = None, kind: str = "shellToolCall", args: Any = None) -> dict[str, Any]:
    told = {kind: {"args": args or {"command": "ls"}, **({"result": result} if result else {})}}
    return line("tool_call", stage, call_id="c1", tool_call=told)


def says(words: str) -> dict[str, Any]:
    return line("assistant", message={"content": [{"type": "text", "text": words}]})


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(cursor, jsonl(INIT, *values))


def told(*values: dict[str, Any]) -> list[EventDraft]:
    return events(drafts(*values))[1:]


def test_thoughts_are_told_whole_and_their_pieces_counted() -> None:
    found = drafts(
        *[line("thinking", "delta", text=piece) for piece in ("One ", "two.")], line("thinking", "completed")
    )
    assert [(event.kind, event.text) for event in events(found)[1:]] == [("reasoning", "One two.")]
    assert "2 pieces" in findings(found)["cursor.partial-events"].message


def test_the_whole_of_a_streamed_answer_is_not_told_again() -> None:
    assert [event.kind for event in told(says("Sor"), says("ted."), says("Sorted."))] == [
        "agent_message", "agent_message", "system",
    ]  # fmt: skip
    assert [event.kind for event in told(says("Done."), call("started"), says("Done."))][-1] == "agent_message"


@pytest.mark.parametrize(
    ("result", "status", "text", "facts"),
    [
        ({"success": {"stdout": "a", "exitCode": 1}}, "ok", "a", {"exit_code": 1}),
        ({"success": {"content": "a", "totalLines": 3}}, "ok", "a", {"totalLines": 3}),
        ({"error": {"errorMessage": "no"}}, "error", "no", None),
        ({"failure": {"stderr": "no"}}, "error", "no", None),
        ({"rejected": {"reason": "Keep it."}}, "denied", "Keep it.", None),
        ({"unheard": {"x": 1}}, None, "", {"unheard": {"x": 1}}),
    ],
)
def test_a_result_says_how_it_went_by_its_key(result: Any, status: str | None, text: str, facts: Any) -> None:
    found = told(call("started"), call("completed", result))
    assert found[-1].kind == "tool_result" and found[-1].parent == found[0].key and found[-1].text == text
    assert found[-1].tool and (found[-1].tool.status, found[-1].tool.result) == (status, facts)
    assert [event.data["inferred"] for event in found if event.kind == "approval"] == (
        [True] if status == "denied" else []
    )


def test_a_call_without_its_start_is_told_by_its_end() -> None:
    assert [event.kind for event in told(call("completed", {"success": {}}))] == ["tool_call", "tool_result"]
    assert [event.kind for event in told(call("started"), call("started"))] == ["tool_call", "system"]


def test_a_tool_of_a_server_names_it() -> None:
    args = {"toolName": "frost", "providerIdentifier": "almanac", "args": {"month": 10}}
    tool = told(call("started", kind="mcpToolCall", args=args))[0].tool
    assert tool and (tool.name, tool.server, tool.arguments) == ("frost", "almanac", {"month": 10})
    named = line("tool_call", "started", call_id="c1", tool_call={"function": {"name": "f", "arguments": '{"a": 1}'}})
    tool = told(named)[0].tool
    assert tool and (tool.name, tool.arguments) == ("f", {"a": 1})


@pytest.mark.parametrize(("answer", "decision"), [("approved", "approved"), ("rejected", "denied")])
def test_an_answer_to_a_question_is_an_approval(answer: str, decision: str) -> None:
    response = {"shellRequestResponse": {answer: {}}}
    found = told(line("interaction_query", "request"), line("interaction_query", "response", response=response))
    assert [event.kind for event in found] == ["system", "approval"]
    assert (found[1].data["decision"], found[1].data["by"], found[1].data["inferred"]) == (decision, "user", False)


def test_the_result_is_one_bill_for_all() -> None:
    usage = {"inputTokens": 10, "outputTokens": 3, "cacheReadTokens": 7, "totalCost": 0.0125}
    found = drafts(line("result", "success", is_error=False, result="x", usage=usage))
    bill = events(found)[-1]
    assert (bill.usage, bill.cost) == (Usage(10, 7, None, 3, quality="aggregate"), Decimal("0.0125"))
    assert session(found).phase == "completed"


def test_a_failed_run_is_an_error() -> None:
    found = drafts(line("result", "error", is_error=True, result="overloaded"))
    assert (events(found)[-1].kind, events(found)[-1].text, session(found).phase) == ("error", "overloaded", "crashed")


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    lines = [json.loads(row) for row in (SAMPLES / "cursor" / "stream.jsonl").read_text().splitlines()]
    check_odd_values(cursor, jsonl(INIT), lines)
