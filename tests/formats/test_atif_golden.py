"""What is made of a trajectory of our own: a sub-agent inside, a compaction, copied context, a failed call."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import atif
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "atif" / "trajectory.json"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, atif.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert atif.detect(Head(SAMPLE.read_bytes()))
