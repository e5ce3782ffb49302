"""Real sessions, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from typing import Any

from bench.checks import NOT_ADDED_UP
from vcon_app.formats import gemini_cli

from .corpus import (
    TRANSCRIPTS,
    by_file,
    calls_in,
    check_framed,
    claimed_of_others,
    drafts_in,
    events_of,
    head_of,
    needs_corpus,
    rules_of,
    tokens_in,
)

pytestmark = needs_corpus


@by_file("gemini-cli")
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(gemini_cli, entry)
    assert calls_in(drafts) == entry["tool_calls"]
    assert tokens_in(drafts) == entry["tokens"]


@by_file("gemini-cli")
def test_every_message_gives_an_event_with_its_place(entry: dict[str, Any]) -> None:
    drafts = drafts_in(gemini_cli, entry)
    places = {event.pointer.split("/")[2] for event in events_of(drafts) if event.pointer.startswith("/messages/")}
    assert places == set(map(str, range(entry["records"])))
    check_framed(drafts)


@by_file("gemini-cli")
def test_responses_add_up_to_the_totals_they_state(entry: dict[str, Any]) -> None:
    odd = "gemini-cli.total" in rules_of(drafts_in(gemini_cli, entry))
    assert odd == any(entry["file"].endswith(name) for name in NOT_ADDED_UP)


@by_file("gemini-cli")
def test_a_session_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    assert gemini_cli.detect(head_of(TRANSCRIPTS / entry["file"]))


def test_no_file_of_another_tool_is_claimed() -> None:
    assert claimed_of_others(gemini_cli) == []
