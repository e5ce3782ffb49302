"""What is made of two runs of our own: version 2 with a person at the keyboard, and a bare list of messages."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import mini_swe_agent
from vcon_app.formats.common.head import Head

from .golden import check_reading

by_sample = pytest.mark.parametrize("name", ["seeds.traj.json", "old.traj.json"])


@by_sample
def test_the_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(SAMPLES / "mini-swe-agent" / name, mini_swe_agent.read)


@by_sample
def test_the_sample_is_recognised_by_its_content(name: str) -> None:
    assert mini_swe_agent.detect(Head((SAMPLES / "mini-swe-agent" / name).read_bytes()))
