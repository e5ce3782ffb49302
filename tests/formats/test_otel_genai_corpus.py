"""Exported spans of other people, where they are present: calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import otel_genai

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, tokens

FILES = manifest("otel-genai")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_spans_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(otel_genai, entry)
    assert_sound(drafts)
    assert len({event.pointer for event in events(drafts)}) == entry["records"]
    assert sum(event.kind == "tool_call" for event in events(drafts)) == entry["tool_calls"]
    assert tokens(drafts) == entry["tokens"]


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(otel_genai) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
