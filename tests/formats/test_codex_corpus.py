"""Real rollouts, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from typing import Any

from vcon_app.formats import codex

from .corpus import (
    TRANSCRIPTS,
    by_file,
    calls_in,
    check_framed,
    check_lines,
    claimed_of_others,
    drafts_in,
    head_of,
    needs_corpus,
    tokens_in,
)

pytestmark = needs_corpus


@by_file("codex")
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(codex, entry)
    assert calls_in(drafts) == entry["tool_calls"]
    assert tokens_in(drafts) == entry["tokens"]


@by_file("codex")
def test_every_line_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    drafts = drafts_in(codex, entry)
    check_lines((TRANSCRIPTS / entry["file"]).read_bytes(), drafts)
    check_framed(drafts)


@by_file("codex")
def test_a_rollout_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    assert codex.detect(head_of(TRANSCRIPTS / entry["file"]))


def test_no_file_of_another_tool_is_claimed() -> None:
    assert claimed_of_others(codex) == []
