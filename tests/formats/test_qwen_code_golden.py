"""What is made of samples of our own: a session, and a sub-agent's file."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import qwen_code
from vcon_app.formats.common.head import Head

from .checks import check_growth
from .golden import check_reading

OURS = SAMPLES / "qwen-code"
by_sample = pytest.mark.parametrize("name", ["session.jsonl", "sub-agent.jsonl"])


@by_sample
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, qwen_code.read)


@by_sample
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert qwen_code.detect(Head((OURS / name).read_bytes()))


@by_sample
def test_a_part_gives_the_first_events_of_the_whole(name: str) -> None:
    check_growth(qwen_code, (OURS / name).read_bytes())
