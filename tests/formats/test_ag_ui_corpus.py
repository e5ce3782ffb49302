"""Recordings of other people, where they are present: calls and tokens are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from bench.corpus import file_of, miscounted
from vcon_app.formats import ag_ui

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, sessions

FILES = manifest("ag-ui")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")


def name_of(entry: dict[str, Any]) -> str:
    return entry["file"].rpartition("/")[2]


@pytest.mark.parametrize("entry", FILES, ids=name_of)
def test_calls_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(ag_ui, entry)
    assert_sound(drafts)
    assert miscounted(file_of(entry), drafts) == {}


@pytest.mark.parametrize("entry", FILES, ids=name_of)
def test_nothing_in_them_is_unknown_or_unfinished(entry: dict[str, Any]) -> None:
    drafts = drafts_in(ag_ui, entry)
    assert not any(event.kind == "unknown" for event in events(drafts))
    assert len(sessions(drafts)) >= 2


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(ag_ui) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
