"""Trajectories of other people, where they are present: calls, tokens and costs are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from bench.checks import NOT_ADDED_UP
from vcon_app.formats import atif

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, findings, manifest, tokens

FILES = manifest("atif")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])


@by_file
def test_steps_calls_tokens_and_costs_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(atif, entry)
    assert_sound(drafts)
    steps = {event.pointer.split("/")[2] for event in events(drafts)}
    assert len(steps) == entry["records"]
    assert sum(event.kind == "tool_call" for event in events(drafts)) == entry["tool_calls"]
    assert tokens(drafts) == entry["tokens"]
    assert float(sum(event.cost or 0 for event in events(drafts))) == pytest.approx(entry["cost"], abs=1e-6)


@by_file
def test_the_final_metrics_are_met_and_where_they_are_not_this_is_told(entry: dict[str, Any]) -> None:
    drafts, stated = drafts_in(atif, entry), entry["final_metrics"]
    met = tokens(drafts)["input"] == stated["total_prompt_tokens"]
    assert met == (not any(entry["file"].endswith(name) for name in NOT_ADDED_UP))
    assert ("atif.totals-differ" in findings(drafts)) == (not met)


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(atif) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
