"""Recordings of other people, where they are present: calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import ag_ui

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, sessions, tokens

FILES = manifest("ag-ui")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")

SNAPSHOT_CALLS = {"events.json": 1}
"""Calls that stand only in a MESSAGES_SNAPSHOT; the manifest counts TOOL_CALL_START alone."""
IMPOSSIBLE = {"run-events.json": 55}
"""An entry states 55 cached tokens among 11 of input, and a total of 33 (11 + 22), so they are not among them. The
manifest takes 55 from the sum of three entries, which makes the uncached input of this one -44."""


def name_of(entry: dict[str, Any]) -> str:
    return entry["file"].rpartition("/")[2]


@pytest.mark.parametrize("entry", FILES, ids=name_of)
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts, name = drafts_in(ag_ui, entry), name_of(entry)
    assert_sound(drafts)
    calls = sum(event.kind == "tool_call" for event in events(drafts))
    assert calls == entry["tool_calls"] + SNAPSHOT_CALLS.get(name, 0)
    stated = entry["tokens"] | {"input": entry["tokens"]["input"] + IMPOSSIBLE.get(name, 0)}
    del stated["reasoning"]  # part of the output; the manifest has 0 for files that state it
    assert {key: value for key, value in tokens(drafts).items() if key in stated} == stated


@pytest.mark.parametrize("entry", FILES, ids=name_of)
def test_nothing_in_them_is_unknown_or_unfinished(entry: dict[str, Any]) -> None:
    drafts = drafts_in(ag_ui, entry)
    assert not any(event.kind == "unknown" for event in events(drafts))
    assert len(sessions(drafts)) >= 2


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(ag_ui) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
