"""What is made of samples of our own, one for each way Claude Code writes a session."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import claude_code
from vcon_app.formats.common.head import Head

from .golden import check_reading

OURS = SAMPLES / "claude-code"
FILES = ("session.jsonl", "sub-agent.jsonl", "stream.jsonl", "web.json")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, claude_code.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert claude_code.detect(Head((OURS / name).read_bytes()))
