"""What is made of spans of our own: OTLP lines with a sub-agent below a tool, and older dialects as SDKs print them."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import otel_genai
from vcon_app.formats.common.head import Head

from .golden import check_reading

by_sample = pytest.mark.parametrize("name", ["tides.jsonl", "buttons.json"])


@by_sample
def test_the_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(SAMPLES / "otel-genai" / name, otel_genai.read)


@by_sample
def test_the_sample_is_recognised_by_its_content(name: str) -> None:
    assert otel_genai.detect(Head((SAMPLES / "otel-genai" / name).read_bytes()))
