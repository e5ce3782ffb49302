"""What is made of samples of our own: a log, streams, a response, a list, a paused run, .NET updates."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import openai_chat
from vcon_app.formats.common.head import Head

from .golden import check_reading

OURS = SAMPLES / "openai-chat"
FILES = ("log.jsonl", "chat.sse", "response.json", "cut-off.sse", "messages.json", "run-state.json", "updates.json")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, openai_chat.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert openai_chat.detect(Head((OURS / name).read_bytes()))
