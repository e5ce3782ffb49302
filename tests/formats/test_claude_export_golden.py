"""What is made of a claude.ai export of our own: tools, thoughts, a branch, a paste, an empty chat."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import claude_export
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "claude-export" / "conversations.json"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, claude_export.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert claude_export.detect(Head(SAMPLE.read_bytes()))
