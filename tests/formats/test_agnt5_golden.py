"""What is made of an export of our own: calls with and without results beside them, usage, an unknown role."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import agnt5
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "agnt5-jsonl" / "session.jsonl"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, agnt5.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert agnt5.detect(Head(SAMPLE.read_bytes()))
