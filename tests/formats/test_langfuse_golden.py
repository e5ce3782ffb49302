"""What is made of a trace of our own: a sub-agent below a tool, repeated history, failures, a score."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import langfuse
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "langfuse" / "kiln.trace.json"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, langfuse.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert langfuse.detect(Head(SAMPLE.read_bytes()))
