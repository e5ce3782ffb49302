"""Transcripts of other people's tools, where they are present: counted as independently, claimed by one format."""

from __future__ import annotations

from typing import Any

import pytest

from bench.formats import corpus
from bench.formats.corpus import File
from vcon_app import registry
from vcon_app.formats import managed_agents

from .corpus import by_file, check_framed, check_lines, drafts_in, events_of, needs_corpus
from .reads import assert_sound

pytestmark = needs_corpus
by_transcript = pytest.mark.parametrize("file", corpus.transcripts(), ids=lambda file: file.entry["file"])
LINED = ("claude-code", "codex", "copilot-cli", "cursor", "qwen-code")
ONE_SESSION = (*LINED, "gemini-cli")
REPEATING = ("claude-code", "opencode")
"""Formats in which a line may stand twice: the log takes the first by its key."""
UNCLAIMED = tuple(one.file for one in corpus.DIFFERENCES if one.unclaimed)


@by_transcript
def test_records_calls_and_tokens_are_those_of_the_manifest(file: File) -> None:
    drafts = drafts_in(registry.get(file.format), file.entry)
    assert corpus.miscounted(file, drafts) == {}
    if file.format not in REPEATING:
        assert_sound(drafts)


@by_transcript
def test_its_first_bytes_are_claimed_by_its_format_alone(file: File) -> None:
    assert corpus.claims(file.name) == (() if file.name.endswith(UNCLAIMED) else (file.format,))


def test_nothing_else_in_the_corpus_is_taken_for_a_session() -> None:
    known = {file.name for file in (*corpus.transcripts(), *corpus.records_of_standards(), *corpus.further())}
    others = set(corpus.heads()) - known
    assert len(others) > 30
    assert {name: corpus.claims(name) for name in others if corpus.claims(name)} == {}


def test_a_file_of_a_further_agent_is_claimed_by_nothing_or_by_the_format_whose_shape_it_has() -> None:
    claims = [(file.name, file.format, corpus.claims(file.name)) for file in corpus.further()]
    assert [claim for claim in claims if claim[2] not in ((), (claim[1],))] == []


def test_no_file_is_taken_for_one_of_managed_agents_of_which_none_is_published() -> None:
    assert [name for name, head in corpus.heads().items() if managed_agents.detect(head)] == []


@by_file(*LINED)
def test_every_line_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    drafts = drafts_in(registry.get(corpus.file_of(entry).format), entry)
    check_lines((corpus.TRANSCRIPTS / entry["file"]).read_bytes(), drafts)


@by_file(*ONE_SESSION)
def test_one_session_is_told_before_its_events_and_again_at_the_end(entry: dict[str, Any]) -> None:
    drafts = drafts_in(registry.get(corpus.file_of(entry).format), entry)
    check_framed(drafts)
    if corpus.file_of(entry).format not in REPEATING:
        keys = [event.key for event in events_of(drafts)]
        assert len(keys) == len(set(keys))
