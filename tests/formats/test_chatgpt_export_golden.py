"""What is made of a ChatGPT export of our own: tools, thoughts, references, a second answer, a spoken chat."""

from __future__ import annotations

from tests.places import SAMPLES
from vcon_app.formats import chatgpt_export
from vcon_app.formats.common.head import Head

from .golden import check_reading

SAMPLE = SAMPLES / "chatgpt-export" / "conversations.json"


def test_the_sample_gives_the_expected_drafts() -> None:
    check_reading(SAMPLE, chatgpt_export.read)


def test_the_sample_is_recognised_by_its_content() -> None:
    assert chatgpt_export.detect(Head(SAMPLE.read_bytes()))
