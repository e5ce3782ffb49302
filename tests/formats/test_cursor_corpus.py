"""Real transcripts, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from typing import Any

from vcon_app.formats import cursor

from .corpus import (
    TRANSCRIPTS,
    by_file,
    calls_in,
    check_framed,
    check_lines,
    claimed_of_others,
    drafts_in,
    events_of,
    head_of,
    needs_corpus,
    responses,
)

pytestmark = needs_corpus


@by_file("cursor")
def test_calls_are_those_of_the_manifest_and_tokens_are_unknown(entry: dict[str, Any]) -> None:
    drafts = drafts_in(cursor, entry)
    assert calls_in(drafts) == entry["tool_calls"]
    assert "tokens" not in entry and responses(drafts) == []
    assert all(event.cost is None for event in events_of(drafts))


@by_file("cursor")
def test_every_line_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    drafts = drafts_in(cursor, entry)
    check_lines((TRANSCRIPTS / entry["file"]).read_bytes(), drafts)
    check_framed(drafts)


@by_file("cursor")
def test_a_transcript_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    assert cursor.detect(head_of(TRANSCRIPTS / entry["file"]))


def test_no_file_of_another_tool_is_claimed() -> None:
    assert claimed_of_others(cursor) == []
