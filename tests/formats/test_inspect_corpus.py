"""Eval logs of other people, where they are present: samples, messages, calls and tokens as counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from bench.corpus import file_of, miscounted
from vcon_app.formats import inspect_ai

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, findings, manifest, sessions

FILES = manifest("inspect")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
SAID = ("system", "user_message", "agent_message", "model_request", "tool_result")


@by_file
def test_samples_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(inspect_ai, entry)
    assert_sound(drafts)
    assert len(sessions(drafts)) == entry["samples"]
    assert miscounted(file_of(entry), drafts) == {}
    assert not findings(drafts)


@by_file
def test_each_message_of_a_sample_is_told_once_in_the_main_conversation(entry: dict[str, Any]) -> None:
    found = [event for event in events(drafts_in(inspect_ai, entry)) if event.depth == 0 and event.kind in SAID]
    assert len(found) == entry["records"]


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(inspect_ai) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
