"""Real sessions, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from typing import Any

from vcon_app.formats import qwen_code

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
    tokens_in,
)

pytestmark = needs_corpus


@by_file("qwen-code")
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(qwen_code, entry)
    assert calls_in(drafts) == entry["tool_calls"]
    assert tokens_in(drafts) == entry["tokens"]


@by_file("qwen-code")
def test_every_object_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    drafts = drafts_in(qwen_code, entry)
    check_lines((TRANSCRIPTS / entry["file"]).read_bytes(), drafts)
    check_framed(drafts)
    assert len({event.offset for event in events_of(drafts)}) == entry["records"]


@by_file("qwen-code")
def test_a_session_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    assert qwen_code.detect(head_of(TRANSCRIPTS / entry["file"]))


def test_no_file_of_another_tool_is_claimed() -> None:
    assert claimed_of_others(qwen_code) == []
