"""What is made of samples of our own: an export, a dump of two sessions, the output of a run."""

from __future__ import annotations

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft
from vcon_app.formats import opencode
from vcon_app.formats.common.head import Head

from .checks import check_growth, drafts_of, events
from .golden import check_reading

OURS = SAMPLES / "opencode"
by_sample = pytest.mark.parametrize("name", ["export.json", "dump.jsonl", "run.jsonl"])


@by_sample
def test_a_sample_gives_the_expected_drafts(name: str) -> None:
    check_reading(OURS / name, opencode.read)


@by_sample
def test_a_sample_is_recognised_by_its_content(name: str) -> None:
    assert opencode.detect(Head((OURS / name).read_bytes()))


def test_a_part_of_a_run_gives_the_first_events_of_the_whole() -> None:
    check_growth(opencode, (OURS / "run.jsonl").read_bytes())


def test_all_ways_out_of_opencode_give_an_event_the_same_key() -> None:
    found = [{event.key: event for event in told(name)} for name in ("export.json", "dump.jsonl", "run.jsonl")]
    assert {event.kind for event in found[2].values()} >= {"agent_message", "tool_call", "tool_result", "model_request"}
    assert [
        key for key, event in found[2].items() if key not in found[1] and event.kind not in ("error", "system")
    ] == []
    one = {key for key, event in found[0].items() if event.data.get("type") != "todo"}
    assert one <= found[1].keys()


def test_a_dump_that_is_cut_in_half_gives_the_first_keys_of_the_whole() -> None:
    data = (OURS / "dump.jsonl").read_bytes()
    whole = [event.key for event in told("dump.jsonl")]
    for cut in range(len(data) // 10, len(data), len(data) // 10):
        before = [event.key for event in events(drafts_of(opencode, data[:cut]))]
        assert before == whole[: len(before)]


def told(name: str) -> list[EventDraft]:
    return events(drafts_of(opencode, (OURS / name).read_bytes()))
