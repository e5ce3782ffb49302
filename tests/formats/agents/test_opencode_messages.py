"""What parts and messages say: whose they are, what they cost, what was refused."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, FormatError, Usage
from vcon_app.formats import opencode
from vcon_app.formats.common.head import Head

from ..checks import check_odd_values, drafts_of, events, findings, jsonl, session

SES = {"sessionID": "s"}
TOKENS = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 3, "write": 1}}


def part(kind: str, message: str = "m1", **more: Any) -> dict[str, Any]:
    return SES | {"id": f"p-{kind}-{len(more)}", "messageID": message, "type": kind, **more}


def message(role: str, id: str = "m1", **more: Any) -> dict[str, Any]:
    return SES | {"id": id, "role": role, "time": {"created": 1791187200000}, **more}


def tool(status: str, **state: Any) -> dict[str, Any]:
    return part("tool", callID="c1", tool="bash", state={"status": status, "input": {"command": "ls"}, **state})


def drafts(*values: Any) -> list[Draft]:
    return drafts_of(opencode, b"".join(json.dumps(value, indent=2).encode() + b"\n" for value in values))


def told(*values: Any) -> list[EventDraft]:
    return events(drafts(*values))


@pytest.mark.parametrize("first", [0, 1])
def test_a_text_is_its_messages_wherever_that_stands(first: int) -> None:
    pair = [part("text", text="Sort."), message("user")]
    found = {event.kind: event for event in told(pair[first], pair[1 - first])}
    assert found["user_message"].text == "Sort." and found["user_message"].at is not None


def test_without_its_message_a_text_is_known_by_what_stands_beside_it() -> None:
    answer = [part("step-start", "m2"), part("text", "m2", text="Sorted.")]
    found = told(part("text", text="Sort."), *answer, part("text", "m3", text="Again.", time={"start": 1}))
    assert [event.kind for event in found] == ["user_message", "system", "agent_message", "agent_message"]


def test_parts_added_to_a_prompt_by_opencode_begin_no_turn() -> None:
    added = [part("text", text="Called the Read tool", synthetic=True), part("text", text="…", x=1, y=2)]
    found = told(message("user"), part("text", text="Sort."), *added)
    assert [event.kind for event in found] == ["system", "user_message", "injected_context", "injected_context"]


def test_steps_carry_tokens_and_cost_and_messages_only_without_them() -> None:
    step = part("step-finish", cost=0.0125, tokens=TOKENS)
    answer = message("assistant", cost=0.0125, tokens=TOKENS, modelID="claude-opus-4-5")
    for values in ([step, answer], [answer, step], [answer]):
        billed = [event for event in told(*values) if event.usage]
        assert [(event.usage, event.cost, event.model) for event in billed] == [
            (Usage(10, 3, 1, 7, 2), Decimal("0.0125"), "claude-opus-4-5")
        ]


def test_unstated_counts_are_not_zero() -> None:
    event = [event for event in told(message("assistant", tokens={"output": 4})) if event.usage][0]
    assert (event.usage, event.cost) == (Usage(output_tokens=4), None)


def test_a_call_waits_for_its_result() -> None:
    assert [event.kind for event in told(tool("running"))] == ["tool_call"]
    call, result = told(tool("completed", output="a.txt", metadata={"exit": 2, "output": "a.txt"}))
    assert (result.kind, result.text, result.parent) == ("tool_result", "a.txt", call.key)
    assert result.tool and (result.tool.status, result.tool.result) == ("ok", {"exit_code": 2})


@pytest.mark.parametrize(
    ("error", "status", "by"),
    [
        ("The user rejected permission to use this specific tool call.", "denied", "user"),
        ("The user has specified a rule which prevents you from using this", "denied", "policy"),
        ("Tool execution aborted", "cancelled", None),
        ("ENOENT", "error", None),
    ],
)
def test_a_refusal_is_an_inferred_approval(error: str, status: str, by: str | None) -> None:
    found = told(tool("error", error=error))
    assert found[-1].tool and found[-1].tool.status == status
    approvals = [event.data for event in found if event.kind == "approval"]
    assert [data["by"] for data in approvals] == ([by] if by else [])
    assert all(data["decision"] == "denied" and data["inferred"] is True for data in approvals)


@pytest.mark.parametrize(
    ("state", "status"), [({"output": "oil.py"}, "ok"), ({"error": "No such folder"}, "error"), ({}, None)]
)
def test_a_call_without_a_status_has_ended_when_it_brought_something(state: dict[str, Any], status: str | None) -> None:
    ran = part("tool", callID="c1", tool="bash", state={"input": {"command": "ls"}, **state})
    results = [
        event.tool.status for event in told(message("assistant"), ran) if event.kind == "tool_result" and event.tool
    ]
    assert results == ([status] if status else [])


def test_whole_files_around_an_edit_are_left_in_the_source() -> None:
    filediff = {"file": "a", "before": "x" * 1000, "after": "y" * 1000}
    found = drafts(
        tool("completed", output="", metadata={"diff": "@@", "filediff": filediff}), [filediff], message("user")
    )
    assert "xxxx" not in repr(found) and events(found)[1].tool.result == {"diff": "@@"}
    assert events(found)[2].data == {"type": "session_diff", "items": [{"file": "a"}]}


def test_the_secret_of_a_share_is_never_shown() -> None:
    found = drafts({"id": "x", "secret": "do-not-show", "url": "https://share.example/x"}, message("user"))
    assert "do-not-show" not in repr(found) and events(found)[0].data["url"] == "https://share.example/x"


def test_a_task_names_the_session_it_started_which_names_its_parent() -> None:
    found = drafts(tool("completed", output="", metadata={"sessionId": "child"}))
    assert events(found)[1].data == {"child_session": "child"}
    child = drafts(
        {"id": "child", "parentID": "s", "title": "Count"}, part("text", text="Count.") | {"sessionID": "child"}
    )
    assert (session(child).parent_external_id, events(child)[1].actor_kind) == ("s", "agent")


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ({"name": "MessageAbortedError", "data": {}}, "status", ""),
        ({"name": "APIError", "data": {"message": "quota"}}, "error", "quota"),
        ({"name": "MessageOutputLengthError", "data": {}}, "error", "MessageOutputLengthError"),
    ],
)
def test_end_of_a_message_becomes_an_event(error: dict[str, Any], kind: str, text: str) -> None:
    found = told(message("assistant", error=error))[0]
    assert (found.kind, found.text) == (kind, text)


def test_documents_of_no_session_belong_to_the_one_beside_them() -> None:
    found = told({"id": "p", "worktree": "/srv"}, message("user"), [{"content": "Sort", "status": "done"}])
    assert [event.data["type"] for event in found] == ["project", "message", "todo"]


def test_unknown_parts_and_documents_are_kept_raw() -> None:
    found = drafts(message("user"), part("moon", phase="new"), {"song": 1})
    assert [event.kind for event in events(found)] == ["system", "unknown", "unknown"]
    assert events(found)[2].data["raw"] == {"song": 1}


def test_a_broken_document_is_told_and_the_others_read() -> None:
    good = [
        json.dumps(value, indent=2) for value in (message("user"), part("text", text="Sort."), message("user", "m2"))
    ]
    data = "\n".join([good[0], good[1][:-30], good[2]]) + "\n" + good[1][:40]
    found = drafts_of(opencode, data.encode())
    assert [event.kind for event in events(found)] == ["system", "unknown", "system"]
    assert findings(found).keys() == {"opencode.malformed-line", "opencode.cut-off-line"}


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    lines = [json.loads(text) for text in (SAMPLES / "opencode" / "run.jsonl").read_text().splitlines()]
    export = json.loads((SAMPLES / "opencode" / "export.json").read_text())
    inner = [entry["info"] for entry in export["messages"]] + [
        p for entry in export["messages"] for p in entry["parts"]
    ]
    check_odd_values(
        opencode, jsonl(message("user")), [*lines, *inner, export["info"], {"info": inner[0], "parts": [inner[4]]}]
    )


@pytest.mark.parametrize("data", [b"", b"[]", b'{"worktree": "/srv"}\n', b"Dear diary,"])
def test_a_file_without_a_session_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="OpenCode"):
        drafts_of(opencode, data)


@pytest.mark.parametrize(
    "value",
    [
        {"sessionID": 1, "role": "user"},
        {"type": "user", "sessionID": "s"},
        {"info": {"a": 1}, "messages": []},
        {"id": "sessionID"},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: dict[str, Any]) -> None:
    assert not opencode.detect(Head(jsonl(value)))


def events_of_sample(name: str) -> list[EventDraft]:
    return events(drafts_of(opencode, (SAMPLES / "opencode" / name).read_bytes()))


def test_export_dump_and_run_give_the_same_event_the_same_key() -> None:
    export, dump, run = (
        {event.key: event for event in events_of_sample(name)} for name in ("export.json", "dump.jsonl", "run.jsonl")
    )
    assert {event.kind for event in run.values()} >= {"agent_message", "tool_call", "tool_result", "model_request"}
    assert [key for key, event in run.items() if key not in dump and event.kind not in ("error", "system")] == []
    assert {key for key, event in export.items() if event.data.get("type") != "todo"} <= dump.keys()


def test_dump_cut_anywhere_gives_the_first_keys_of_the_whole() -> None:
    data = (SAMPLES / "opencode" / "dump.jsonl").read_bytes()
    whole = [event.key for event in events_of_sample("dump.jsonl")]
    for cut in range(len(data) // 10, len(data), len(data) // 10):
        before = [event.key for event in events(drafts_of(opencode, data[:cut]))]
        assert before == whole[: len(before)]
