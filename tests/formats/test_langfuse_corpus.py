"""Exports of other people, where they are present: observations, calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import langfuse

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, tokens

FILES = manifest("otel-genai-langfuse")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
REASONING_BESIDE_OUTPUT = {"langgraph-js-2025-10-30.trace.json": 64}
"""``{"input": 179, "output": 35, "output_reasoning": 64, "total": 278}``: the file bills 99 tokens of output, and its
``costDetails`` has a price for each of the two. The manifest takes ``output`` alone."""


@by_file
def test_observations_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(langfuse, entry)
    assert_sound(drafts)
    more = next((count for name, count in REASONING_BESIDE_OUTPUT.items() if entry["file"].endswith(name)), 0)
    stated = entry["tokens"]
    assert sum(event.kind == "tool_call" for event in events(drafts)) == entry["tool_calls"]
    assert tokens(drafts) == stated | {"output": stated["output"] + more, "reasoning": stated["reasoning"] + more}


@by_file
def test_every_observation_is_told(entry: dict[str, Any]) -> None:
    told = {event.pointer for event in events(drafts_in(langfuse, entry)) if "/observations/" in event.pointer}
    assert len(told) == entry["records"]


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(langfuse) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
