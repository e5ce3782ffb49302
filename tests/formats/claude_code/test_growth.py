"""A transcript that has grown tells what it told before, and then more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import CORPUS, SAMPLES
from vcon_app.drafts import EventDraft

from .lines import assistant, call, drafts, drafts_of, events, findings, jsonl, last_session, line, result, text, user

TRANSCRIPTS = CORPUS / "transcripts" / "claude-code"
FILES = [SAMPLES / "claude-code" / "session.jsonl", *sorted(TRANSCRIPTS.rglob("*.jsonl"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_first_half_gives_the_first_events_of_the_whole(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    half = lines[: max(1, len(lines) // 2)]
    before, after = events(drafts_of(b"".join(half))), events(drafts_of(b"".join(lines)))
    assert [without_session(event) for event in before] == [without_session(event) for event in after[: len(before)]]


def without_session(event: EventDraft) -> tuple[object, ...]:
    """All of an event but which session of the file it is counted to: a resumed file tells that at its end."""
    data = {key: value for key, value in event.data.items() if key not in ("copied_from", "child_session")}
    return (
        event.key,
        event.kind,
        event.text,
        event.at,
        event.tool,
        event.usage,
        event.parent,
        event.pointer,
        event.offset,
        data,
    )


def test_the_same_line_again_has_the_same_key() -> None:
    prompt, note = user("u1", "Prune the pear tree."), line("mode", None, mode="plan")
    first, second = events(drafts(prompt, note)), events(drafts(prompt, note, prompt, note))
    assert [event.key for event in second] == [event.key for event in first] * 2


def test_lines_without_id_and_time_are_told_apart_by_what_they_follow() -> None:
    note = line("mode", None, mode="plan", timestamp=None)
    keys = [event.key for event in events(drafts(user("u1", "a"), note, user("u2", "b"), note))]
    assert len(set(keys)) == 4


def test_blocks_of_one_line_have_keys_of_their_own() -> None:
    found = events(drafts(assistant("a1", text("Cut here."), call("t1", "Bash"), call("t2", "Bash"))))
    assert [event.key for event in found] == ["a1", "a1:1", "a1:2"]


def test_a_cut_off_last_line_waits_for_the_rest() -> None:
    whole = jsonl(user("u1", "Prune the pear tree."), user("u2", "And the quince."))
    cut = drafts_of(whole[:-20])
    assert [event.key for event in events(cut)] == ["u1"]
    assert findings(cut)["claude-code.cut-off-line"].severity == "info"
    assert [event.key for event in events(drafts_of(whole))] == ["u1", "u2"]


def test_a_last_line_that_only_lacks_its_line_break_is_read() -> None:
    found = drafts_of(jsonl(user("u1", "Prune the pear tree.")).rstrip())
    assert len(events(found)) == 1 and not findings(found)


def test_a_result_is_linked_to_its_call_with_thousands_of_lines_between() -> None:
    between = [user(f"u{n}", "…") for n in range(2000)]
    found = events(drafts(assistant("a1", call("t1", "Bash")), *between, user("r1", [result("t1", "done")])))
    assert found[-1].parent == "a1" and found[-1].tool.name == "Bash"


def test_a_resumed_file_belongs_to_the_session_it_ends_with() -> None:
    found = drafts(user("u1", "Prune.", sessionId="old"), user("u2", "Go on."))
    assert last_session(found).external_id == user("u", "")["sessionId"]
    assert [event.data.get("copied_from") for event in events(found)] == ["old", None]
    assert "session old" in findings(found)["claude-code.other-session"].message
