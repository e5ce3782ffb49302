"""Real transcripts, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench.corpus import DIFFERENCES, TRANSCRIPTS, entries, file_of, head_of, miscounted
from vcon_app.drafts import Draft, Finding, SessionDraft
from vcon_app.formats import claude_code

from .claude_code_lines import events

pytestmark = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs the transcripts in ../shared/corpus")

UNCLAIMED = [one.file for one in DIFFERENCES if one.unclaimed]
FILES = entries("claude-code")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"].removeprefix("claude-code/"))


def drafts_in(entry: dict[str, Any]) -> list[Draft]:
    with (TRANSCRIPTS / entry["file"]).open("rb") as source:
        return list(claude_code.read(source))


@by_file
def test_calls_requests_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    assert miscounted(file_of(entry), drafts_in(entry)) == {}


@by_file
def test_every_line_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    data = (TRANSCRIPTS / entry["file"]).read_bytes()
    found = events(drafts_in(entry))
    numbers = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {int(event.pointer.split("/")[0][1:]) for event in found} == numbers
    for event in found:
        number = int(event.pointer.split("/")[0][1:])
        assert data[event.offset : event.offset + event.length] == data.split(b"\n")[number - 1].strip()


@by_file
def test_one_session_is_told_before_its_events_and_again_at_the_end(entry: dict[str, Any]) -> None:
    drafts = drafts_in(entry)
    assert isinstance(drafts[0], SessionDraft) and isinstance(drafts[-1], SessionDraft)
    assert len({draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}) == 1


@by_file
def test_only_strange_files_have_unknown_events(entry: dict[str, Any]) -> None:
    drafts = drafts_in(entry)
    unknown = sum(event.kind == "unknown" for event in events(drafts))
    told = Counter(draft.rule for draft in drafts if isinstance(draft, Finding))
    assert bool(unknown) == bool(told["claude-code.unknown-type"] + told["claude-code.malformed-line"])


@by_file
def test_a_transcript_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    path = TRANSCRIPTS / entry["file"]
    assert claude_code.detect(head_of(path)) == (entry["file"] not in UNCLAIMED)


def test_no_file_of_another_tool_is_claimed() -> None:
    others = [p for p in TRANSCRIPTS.rglob("*") if p.is_file() and p.relative_to(TRANSCRIPTS).parts[0] != "claude-code"]
    assert len(others) > 100
    assert [path.name for path in others if claude_code.detect(head_of(path))] == []
