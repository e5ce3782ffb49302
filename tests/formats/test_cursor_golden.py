"""What is made of samples of our own, one for each way Cursor writes a session."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import cursor
from vcon_app.formats.common.head import Head

from .checks import check_growth
from .golden import check_reading

OURS = SAMPLES / "cursor"
FILES = ("transcript.jsonl", "stream.jsonl", "transcript.txt")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, cursor.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert cursor.detect(Head((OURS / name).read_bytes()))


@pytest.mark.parametrize("name", FILES[:2])
def test_a_part_gives_the_first_events_of_the_whole(name: str) -> None:
    check_growth(cursor, (OURS / name).read_bytes())
