"""Transcripts without ids: prompts in their wrapping, results in the order of their calls, two sessions alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import Draft, EventDraft, FormatError
from vcon_app.formats import cursor
from vcon_app.formats.common.head import Head

from ..checks import check_odd_values, drafts_of, events, findings, jsonl, session


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def line(role: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}, **more}


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(cursor, jsonl(*values))


def told(*values: dict[str, Any]) -> list[EventDraft]:
    return events(drafts(*values))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("<user_query>\nSort.\n</user_query>", [("user_message", "Sort.")]),
        ("Sort <b>all</b>.", [("user_message", "Sort <b>all</b>.")]),
        (
            "<rules>Be brief.</rules>\n<user_query>Sort.</user_query>",
            [("injected_context", "<rules>Be brief.</rules>"), ("user_message", "Sort.")],
        ),
        ("<user_info>\nOS: linux\n</user_info>", [("injected_context", "<user_info>\nOS: linux\n</user_info>")]),
        ("<user_query>Sort.", [("user_message", "<user_query>Sort.")]),
    ],
)
def test_a_prompt_is_taken_out_of_its_wrapping(words: str, found: list[tuple[str, str]]) -> None:
    assert [(event.kind, event.text) for event in told(line("user", text(words)))] == found


def test_results_belong_to_calls_in_their_order() -> None:
    calls = [{"type": "tool_use", "name": name, "input": {}} for name in ("Read", "Shell")]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "x"} for n in range(3)]
    found = told(line("assistant", *calls), line("user", *results))
    assert [event.tool and event.tool.name for event in found] == ["Read", "Shell", "Read", "Shell", None]
    assert [event.parent for event in found] == [None, None, found[0].key, found[1].key, None]


def test_a_result_with_an_id_belongs_to_its_call() -> None:
    calls = [{"type": "tool_use", "id": f"t{n}", "name": f"T{n}", "input": {}} for n in (1, 2)]
    found = told(
        line("assistant", *calls), line("user", {"type": "tool_result", "tool_use_id": "t2", "is_error": True})
    )
    assert found[2].tool and (found[2].tool.name, found[2].tool.status, found[2].parent) == (
        "T2",
        "error",
        found[1].key,
    )


def test_equal_lines_are_told_apart_by_what_they_follow() -> None:
    found = told(*[line("user", text("Go on.")), line("assistant", text("Done."))] * 3)
    assert len({event.key for event in found}) == 6


def test_two_sessions_that_begin_alike_differ_from_the_first_line_that_differs() -> None:
    """The importer compares event by event (``grows``): the same name is not yet the same session."""
    begin = [line("user", text("Hello.")), line("assistant", text("Hello. What shall I do?"))]
    one, other = told(*begin, line("user", text("Sort."))), told(*begin, line("user", text("Prune.")))
    same = [before.key == after.key for before, after in zip(one, other, strict=True)]
    assert same == [True, True, False] and cursor.SPEC.grows == "document"
    assert session(drafts(*begin)).external_id == session(drafts(*begin[:1])).external_id


def test_unknown_blocks_and_roles_are_kept_raw() -> None:
    odd = [
        line("assistant", {"type": "tool_call", "name": "x"}),
        line("weather", text("Rain.")),
        line("user"),
        {"x": 1},
    ]
    found = drafts(*odd)
    assert [event.kind for event in events(found)] == ["unknown"] * 4
    assert "block type 'tool_call'" in [f.message for f in found if getattr(f, "rule", "")][0]
    assert findings(found)["cursor.unknown-type"].severity == "warning"


def test_an_older_transcript_as_text_is_read_section_by_section() -> None:
    data = b"user:\nSort.\n\nassistant:\nI look.\n[Tool call] Read\n  path: a.txt\n\nSorted.\nuser: is a word here\n"
    assert cursor.detect(Head(data))
    found = events(drafts_of(cursor, data))
    assert [(event.kind, event.text, event.pointer.split("/")[0]) for event in found] == [
        ("user_message", "Sort.", "L1"), ("agent_message", "I look.", "L4"), ("tool_call", "", "L4"),
        ("agent_message", "Sorted.\nuser: is a word here", "L4"),
    ]  # fmt: skip
    assert found[2].tool and found[2].tool.arguments == {"path": "a.txt"}


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    lines = [json.loads(row) for row in (SAMPLES / "cursor" / "transcript.jsonl").read_text().splitlines()]
    check_odd_values(cursor, jsonl(line("user", text("Sort."))), lines)


def test_a_file_without_any_object_is_refused_with_a_reason() -> None:
    with pytest.raises(FormatError, match="no Cursor transcript"):
        drafts_of(cursor, b"Dear diary,\n")


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": "a chat message"},
        {"role": "user", "message": {"content": "a string"}},
        {"role": "user", "uuid": "u", "message": {"content": []}},
        {"type": "system", "subtype": "init", "session_id": "s", "tools": []},
        {"role": "tool", "message": {"content": []}},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: dict[str, Any]) -> None:
    assert not cursor.detect(Head(jsonl(value)))
