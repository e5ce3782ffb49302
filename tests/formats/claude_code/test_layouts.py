"""Files that a program laid out anew: objects glued together, or indented over many lines, read like the lines."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from vcon_app import registry
from vcon_app.drafts import EventDraft, Finding, SessionDraft

from .lines import SESSION, assistant, call, result, text, user

USAGE = {"input_tokens": 7, "output_tokens": 11, "cache_read_input_tokens": 300}
VALUES = [
    user("u1", "Prune {the} pears. }{ Then\nrest."),
    assistant("a1", text("Looking."), call("t1", "Bash", command="ls } {"), id="msg_1", usage=USAGE),
    user("u2", [result("t1", "pear.txt")]),
    assistant("a2", text("Done."), id="msg_2", usage=USAGE | {"output_tokens": 5}),
]
LINES = b"".join(json.dumps(value).encode() + b"\n" for value in VALUES)


def laid_out(*values: Any, indent: int | str | None = None, between: str = "", end: str = "") -> bytes:
    return (between.join(json.dumps(value, indent=indent) for value in values) + end).encode()


LAYOUTS = {
    "glued": laid_out(*VALUES),
    "glued with blanks": laid_out(*VALUES, between="  ", end="\n"),
    "two on a line": b"\n".join((laid_out(*VALUES[:2]), laid_out(*VALUES[2:]), b"")),
    "indented": laid_out(*VALUES, indent=2, between="\n", end="\n"),
    "indented, with empty lines": laid_out(*VALUES, indent=4, between="\n\n"),
    "indented and glued": laid_out(*VALUES, indent=2),
    "indented by tabs, CR LF": laid_out(*VALUES, indent="\t", between="\n", end="\n").replace(b"\n", b"\r\n"),
    "behind a byte order mark": b"\xef\xbb\xbf" + laid_out(*VALUES, indent=2, between="\n", end="\n"),
    "the first on one line": LINES.split(b"\n")[0] + b"\n" + laid_out(*VALUES[1:], indent=2, between="\n", end="\n"),
}


def told(data: bytes) -> tuple[str, SessionDraft, list[EventDraft], list[Finding]]:
    name, _ = registry.detect(io.BytesIO(data))
    drafts = list(registry.reader(name).read(io.BytesIO(data)))
    return (
        name,
        [draft for draft in drafts if isinstance(draft, SessionDraft)][-1],
        [draft for draft in drafts if isinstance(draft, EventDraft)],
        [draft for draft in drafts if isinstance(draft, Finding)],
    )


def essence(events: list[EventDraft]) -> list[Any]:
    """What a reader sees of events: all but where in the file they stand."""
    return [(e.kind, e.key, e.at, e.text, e.tool, e.usage, e.model, e.request, e.parent, e.depth) for e in events]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_laid_out_anew_is_read_like_its_lines(layout: str) -> None:
    data = LAYOUTS[layout]
    name, session, events, findings = told(data)
    _, of_lines, events_of_lines, _ = told(LINES)
    assert name == "claude-code" and session == of_lines and session.external_id == SESSION
    assert essence(events) == essence(events_of_lines) and len(events) == 5
    assert {finding.rule for finding in findings} <= {"claude-code.glued-objects"}
    for event in events:  # "show the raw record" reads these bytes
        assert event.offset is not None and event.length is not None
        assert json.loads(data[event.offset : event.offset + event.length]) in VALUES


def test_a_file_of_one_indented_object_is_a_session() -> None:
    name, session, events, _ = told(laid_out(VALUES[0], indent=2))
    assert (name, session.external_id, [event.text for event in events]) == ("claude-code", SESSION, [
        "Prune {the} pears. }{ Then\nrest."
    ])  # fmt: skip


def test_an_indented_object_that_breaks_off_costs_no_other() -> None:
    broken = laid_out(VALUES[1], indent=2)[:120]
    good = laid_out(VALUES[0], indent=2, end="\n"), laid_out(*VALUES[2:], indent=2, between="\n")
    _, _, events, findings = told(good[0] + broken + b"\n" + good[1])
    assert [event.kind for event in events] == ["user_message", "unknown", "tool_result", "agent_message"]
    assert [finding.rule for finding in findings].count("claude-code.malformed-line") == 1


def test_an_indented_object_at_the_end_may_still_be_written() -> None:
    good, broken = laid_out(VALUES[0], indent=2, end="\n"), laid_out(VALUES[1], indent=2)
    cut = broken[: broken.index(b"\n", 100) + 1]
    _, _, events, findings = told(good + cut)
    assert [event.kind for event in events] == ["user_message"]
    assert [finding.rule for finding in findings] == ["claude-code.cut-off-line"]


def test_lone_brackets_are_told_one_by_one_and_what_follows_is_read() -> None:
    _, _, events, _ = told(b"{\n{\n" + LINES)
    assert [event.kind for event in events][:3] == ["unknown", "unknown", "user_message"] and len(events) == 7


@pytest.mark.parametrize("is_list", [False, True])
def test_lines_that_a_tool_took_the_type_from_say_what_was_said(is_list: bool) -> None:
    bare = [
        {"sessionId": SESSION, "message": {"role": "user", "content": "Prune the pears."}},
        {"sessionId": SESSION, "message": {"role": "assistant", "id": "m", "content": [text("Done.")], "usage": USAGE}},
    ]  # fmt: skip
    name, _, events, findings = told(json.dumps(bare).encode() if is_list else laid_out(*bare, between="\n", end="\n"))
    assert name == "claude-code"
    assert [(event.kind, event.text) for event in events] == [
        ("user_message", "Prune the pears."), ("agent_message", "Done."),
    ]  # fmt: skip
    assert events[1].usage
    assert events[1].usage.cache_read_tokens == 300
    assert not findings


OUTCOME: dict[str, Any] = {
    "type": "result", "subtype": "success", "is_error": False, "duration_ms": 9, "num_turns": 2, "session_id": "s1",
    "result": "Pruned.", "total_cost_usd": 0.5, "usage": USAGE,
}  # fmt: skip
BY_MODEL = {
    "pear-1": {"inputTokens": 7, "outputTokens": 11, "cacheReadInputTokens": 300, "costUSD": 0.4},
    "pip-1": {"inputTokens": 2, "outputTokens": 1, "costUSD": 0.1},
}


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({}, [(None, 7, 300, 11)]), ({"pear-1": BY_MODEL["pear-1"]}, [("pear-1", 7, 300, 11)]),
        (BY_MODEL, [("pear-1", 7, 300, 11), ("pip-1", 2, 0, 1)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_a_run_of_which_only_the_end_was_printed_says_what_it_answered_and_used(
    models: dict[str, Any], expected: list[Any], indent: int | None
) -> None:
    name, session, events, _ = told(laid_out(OUTCOME | {"modelUsage": models}, indent=indent))
    assert (name, session.external_id, session.phase) == ("claude-code", "s1", "completed")
    assert [event.text for event in events if event.kind == "agent_message"] == ["Pruned."]
    used = [
        (event.model, event.usage.input_tokens, event.usage.cache_read_tokens, event.usage.output_tokens)
        for event in events
        if event.usage
    ]
    assert used == expected
    assert [str(event.cost) for event in events if event.cost is not None] == ["0.5"]


def test_what_the_end_of_a_run_repeats_is_not_told_again() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Bash"], "cwd": "/srv"}
    said = {"type": "assistant", "session_id": "s1", "message": {
        "id": "m", "role": "assistant", "model": "pear-1", "content": [text("Pruned.")], "usage": USAGE}}  # fmt: skip
    _, _, events, _ = told(laid_out(init, said, OUTCOME | {"modelUsage": BY_MODEL}, between="\n", end="\n"))
    assert [event.text for event in events if event.kind == "agent_message"] == ["Pruned."]
    assert len([event for event in events if event.usage]) == 1
