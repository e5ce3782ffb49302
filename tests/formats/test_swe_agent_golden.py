"""What is made of a trajectory of our own: a demonstration, a function, a command, a thought without an action."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import swe_agent
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "swe-agent" / "scale.traj"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, swe_agent.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert swe_agent.detect(Head(SAMPLE.read_bytes()))
