"""What is made of samples of our own, one for each way Copilot writes a session."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.formats import copilot_cli
from vcon_app.formats.common.head import Head

from .checks import check_growth, drafts_of, events
from .golden import check_reading

OURS = SAMPLES / "copilot-cli"
FILES = ("events.jsonl", "hooks.jsonl", "timeline.json", "vscode.json", "vscode-log.jsonl")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, copilot_cli.read)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert copilot_cli.detect(Head((OURS / name).read_bytes()))


@pytest.mark.parametrize("name", FILES[:2])
def test_a_part_gives_the_first_events_of_the_whole(name: str) -> None:
    check_growth(copilot_cli, (OURS / name).read_bytes())


def test_a_log_of_changes_leads_to_the_document() -> None:
    document, log = (events(drafts_of(copilot_cli, (OURS / name).read_bytes())) for name in FILES[3:])
    assert document == log
