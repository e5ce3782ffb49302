"""What is made of a session of our own: approvals, a sub-agent, totals; of a stream; and of a page."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import managed_agents
from vcon_app.formats.common.head import Head

from .golden import check_reading

OURS = SAMPLES / "managed-agents"
FILES = ("session.jsonl", "stream.sse", "page.json")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, managed_agents.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert managed_agents.detect(Head((OURS / name).read_bytes()))
