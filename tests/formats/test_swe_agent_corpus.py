"""Trajectories of other people, where they are present: steps, calls and totals are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import swe_agent

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, findings, manifest, tokens

FILES = manifest("swe-agent")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_steps_calls_and_totals_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(swe_agent, entry)
    assert_sound(drafts)
    found = events(drafts)
    assert len({event.pointer for event in found if event.pointer.startswith("/trajectory/")}) == entry["records"]
    assert sum(event.kind == "tool_call" for event in found) == entry["tool_calls"]
    assert tokens(drafts) == entry["tokens"]
    assert float(sum(event.cost or 0 for event in found)) == pytest.approx(entry["cost"], abs=1e-6)
    assert sum(event.kind == "user_message" for event in found) == 1
    assert not findings(drafts)


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(swe_agent) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
