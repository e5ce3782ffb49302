"""Exports of other people, where they are present: observations, calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from bench.corpus import file_of, miscounted
from vcon_app.formats import langfuse

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest

FILES = manifest("otel-genai-langfuse")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])


@by_file
def test_observations_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(langfuse, entry)
    assert_sound(drafts)
    assert miscounted(file_of(entry), drafts) == {}


@by_file
def test_every_observation_is_told(entry: dict[str, Any]) -> None:
    told = {event.pointer for event in events(drafts_in(langfuse, entry)) if "/observations/" in event.pointer}
    assert len(told) == entry["records"]


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(langfuse) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
