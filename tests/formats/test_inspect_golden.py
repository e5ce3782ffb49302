"""What is made of a log of our own: approvals, a model inside of a tool, a grader, and a sample without events."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import inspect_ai
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "inspect" / "jars.json"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, inspect_ai.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert inspect_ai.detect(Head(SAMPLE.read_bytes()))
