"""What is made of recordings of our own: an approval over two runs, a stream that breaks off, lists by name."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import ag_ui
from vcon_app.formats.common.head import Head

from .golden import check_reading

OURS = SAMPLES / "ag-ui"
FILES = ("thread.jsonl", "stream.sse", "scenarios.json")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, ag_ui.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert ag_ui.detect(Head((OURS / name).read_bytes()))
