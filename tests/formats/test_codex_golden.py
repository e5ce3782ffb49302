"""What is made of samples of our own, one for each way Codex writes a session."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import codex
from vcon_app.formats.common.head import Head

from .checks import check_growth
from .golden import check_reading

OURS = SAMPLES / "codex"
by_sample = pytest.mark.parametrize("name", ["session", "sub-agent", "fork", "old", "exec"])


@by_sample
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / f"{name}.jsonl", codex.read)


@by_sample
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert codex.detect(Head((OURS / f"{name}.jsonl").read_bytes()))


@by_sample
def test_a_part_gives_the_first_events_of_the_whole(name: str) -> None:
    check_growth(codex, (OURS / f"{name}.jsonl").read_bytes())
