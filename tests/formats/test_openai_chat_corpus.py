"""Recorded requests and responses, where they are present: calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from bench.corpus import file_of, miscounted
from vcon_app.formats import openai_chat

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, sessions

FILES = manifest("openai-api")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"].rpartition("/")[2])


@by_file
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(openai_chat, entry)
    assert_sound(drafts)
    assert miscounted(file_of(entry), drafts) == {}
    assert len({session.external_id for session in sessions(drafts)}) == 1


@by_file
def test_nothing_in_them_is_unknown(entry: dict[str, Any]) -> None:
    assert not any(event.kind == "unknown" for event in events(drafts_in(openai_chat, entry)))


def test_costs_are_those_that_the_provider_states() -> None:
    stated = 0
    for entry in FILES:
        costs = [event.cost for event in events(drafts_in(openai_chat, entry)) if event.cost is not None]
        text = (TRANSCRIPTS / entry["file"]).read_text()
        assert all(f'"cost":{cost:f}' in text for cost in costs)
        stated += len(costs)
    assert stated == sum('"cost":' in (TRANSCRIPTS / entry["file"]).read_text() for entry in FILES) > 0


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(openai_chat) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
