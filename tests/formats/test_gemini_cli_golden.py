"""What is made of samples of our own: an old document, and lines that repeat, replace and take back."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import gemini_cli
from vcon_app.formats.common.head import Head

from .checks import check_growth, drafts_of, events
from .golden import check_reading

OURS = SAMPLES / "gemini-cli"
by_sample = pytest.mark.parametrize("name", ["session.json", "session.jsonl"])


@by_sample
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, gemini_cli.read)


@by_sample
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert gemini_cli.detect(Head((OURS / name).read_bytes()))


def test_a_part_gives_the_first_events_of_the_whole() -> None:
    check_growth(gemini_cli, (OURS / "session.jsonl").read_bytes())


def test_a_session_that_was_moved_from_a_document_to_lines_keeps_its_keys() -> None:
    """Gemini CLI does that when an old session is resumed."""
    old, new = (
        {event.key: event for event in events(drafts_of(gemini_cli, (OURS / name).read_bytes()))}
        for name in ("session.json", "session.jsonl")
    )
    both = old.keys() & new.keys()
    assert {old[key].kind for key in both} >= {"user_message", "agent_message", "tool_call", "tool_result"}
    assert all((old[key].kind, old[key].text, old[key].usage) == (new[key].kind, new[key].text, new[key].usage)
               for key in both)  # fmt: skip
