"""ATIF trajectories: who said what, what it cost, where sub-agents stand; and what is odd about a file."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import atif
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, events, findings, kinds, mutants, read, sessions, tokens

SAMPLE = json.loads((SAMPLES / "atif" / "trajectory.json").read_bytes())


def trajectory(*steps: Any, **more: Any) -> dict[str, Any]:
    agent = {"name": "pomona", "version": "1"}
    return {"schema_version": "ATIF-v1.7", "session_id": "s1", "agent": agent, "steps": list(steps), **more}


def step(source: str, message: Any = "", **more: Any) -> dict[str, Any]:
    return {"step_id": 1, "source": source, "message": message, **more}


def call(id: str, name: str = "prune", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": id, "function_name": name, "arguments": arguments}


def drafts(*steps: Any, **more: Any) -> list[Any]:
    return read(atif, trajectory(*steps, **more))


def test_one_trajectory_a_list_and_lines_are_claimed_and_read() -> None:
    one, other = trajectory(step("user", "Hi")), trajectory(step("user", "Ho"), session_id="s2")
    for data in (json.dumps([one, other]).encode(), b"\n".join(json.dumps(value).encode() for value in (one, other))):
        assert atif.detect(Head(data))
        assert [session.external_id for session in sessions(read(atif, data))] == ["s1", "s2"]


@pytest.mark.parametrize("value", [{"schema_version": "1.0", "steps": []}, {"steps": []}, ["ATIF-v1.7"], "ATIF-v1.7"])
def test_file_without_an_atif_version_is_not_claimed(value: Any) -> None:
    assert not atif.detect(Head(json.dumps(value).encode()))


def test_cached_tokens_are_part_of_the_prompt_and_the_cost_is_the_stated_one() -> None:
    metrics = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 60, "cost_usd": 0.25}
    (event,) = events(drafts(step("agent", "Done.", metrics=metrics)))
    assert event.usage == Usage(input_tokens=40, cache_read_tokens=60, output_tokens=7)
    assert event.cost == Decimal("0.25")


def test_unstated_values_are_unknown() -> None:
    (event,) = events(drafts(step("agent", "Done.", metrics={"completion_tokens": 7})))
    assert event.usage == Usage(output_tokens=7) and event.cost is None
    assert events(drafts(step("agent", "Done.", metrics={"logprobs": []})))[0].usage is None


def test_a_prompt_smaller_than_what_is_cached_does_not_contain_it() -> None:
    (event,) = events(drafts(step("agent", "x", metrics={"prompt_tokens": 10, "cached_tokens": 60})))
    assert event.usage == Usage(input_tokens=10, cache_read_tokens=60)


def test_tokens_stand_with_the_last_thing_the_model_said() -> None:
    found = events(drafts(
        step("agent", "Now.", reasoning_content="Hm.", tool_calls=[call("c")], metrics={"prompt_tokens": 5},
             observation={"results": [{"source_call_id": "c", "content": "ok"}]}),
    ))  # fmt: skip
    assert [event.kind for event in found] == ["reasoning", "agent_message", "tool_call", "tool_result"]
    assert [event.usage is not None for event in found] == [False, False, True, False]


def test_context_copied_from_another_file_opens_no_turn_and_is_not_counted() -> None:
    copied = {"is_copied_context": True, "metrics": {"prompt_tokens": 900}, "tool_calls": [call("c")]}
    found = drafts(step("user", "Earlier.", **copied), step("agent", "Earlier too.", **copied))
    assert kinds(found) == ["injected_context"] * 2
    assert tokens(found)["input"] == 0


def test_a_continuation_is_a_session_below_the_first() -> None:
    agent = {"name": "terminus", "extra": {"continuation_index": 2}}
    (session,) = sessions(drafts(step("user", "Go on."), agent=agent))
    assert (session.external_id, session.parent_external_id) == ("s1/cont-2", "s1")


def test_two_trajectories_of_one_id_stay_apart() -> None:
    both = [trajectory(step("user", "Hi")), trajectory(step("user", "Ho"))]
    assert [session.external_id for session in sessions(read(atif, both))] == ["s1", "s1#2"]


def test_sub_agents_are_told_below_the_call_that_started_them() -> None:
    found = events(read(atif, SAMPLE))
    inner = [event for event in found if event.depth == 1]
    handoff = next(event for event in found if event.kind == "handoff")
    assert [event.text for event in inner] == ["Count the crates in the shed.", "39."]
    assert {event.parent for event in inner} == {handoff.key}
    assert [(event.kind, event.actor_kind) for event in inner] == [
        ("user_message", "agent"), ("agent_message", "subagent"),
    ]  # fmt: skip
    assert tokens(read(atif, SAMPLE))["output"] == SAMPLE["final_metrics"]["total_completion_tokens"]


def test_embedded_trajectories_that_nothing_points_to_are_told_too() -> None:
    inner = trajectory(step("agent", "Alone."))
    found = events(drafts(step("user", "Hi"), subagent_trajectories=[inner, inner]))
    assert [(event.text, event.depth) for event in found] == [("Hi", 0), ("Alone.", 1), ("Alone.", 1)]


def metrics(prompt: int, completion: int, cached: int = 0) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached}


def totals(prompt: int, completion: int, cached: int = 0, cost: float = 0.5) -> dict[str, float]:
    return {f"total_{name}": count for name, count in metrics(prompt, completion, cached).items()} | {
        "total_cost_usd": cost
    }


COUNTED = trajectory(step("agent", "Nine.", metrics=metrics(40, 4, 10) | {"cost_usd": 0.2}), trajectory_id="inner")
TOTALLED = trajectory(step("agent", "Nine."), trajectory_id="inner", final_metrics=totals(40, 4, 10, 0.2))


@pytest.mark.parametrize("inner", [COUNTED, TOTALLED])
@pytest.mark.parametrize("outer", [{}, {"metrics": metrics(60, 6, 20) | {"cost_usd": 0.3}}])
def test_what_is_stated_of_steps_or_of_a_whole_is_counted_once(inner: dict[str, Any], outer: dict[str, Any]) -> None:
    found = drafts(step("agent", "Done.", **outer), subagent_trajectories=[inner], final_metrics=totals(100, 10, 30))
    counted = tokens(found)
    assert (counted["input"], counted["cache_read"], counted["output"]) == (70, 30, 10)
    assert sum(event.cost for event in events(found) if event.cost is not None) == Decimal("0.5")
    assert [event.depth for event in events(found) if event.usage] in ([0, 1], [1, 0]) and not findings(found)


def test_totals_that_sub_agents_add_up_to_are_not_counted_again() -> None:
    found = drafts(step("agent", "Done."), subagent_trajectories=[COUNTED], final_metrics=totals(40, 4, 10, 0.2))
    assert tokens(found)["output"] == 4 and not findings(found)


def test_totals_below_those_of_the_sub_agents_are_told_and_not_counted() -> None:
    found = drafts(step("agent", "Done."), subagent_trajectories=[COUNTED], final_metrics=totals(30, 4, 10, 0.2))
    assert tokens(found)["output"] == 4 and findings(found).keys() == {"atif.totals-differ"}


def test_a_sub_agent_that_stands_below_its_parent_and_beside_it_is_told_once() -> None:
    middle = trajectory(step("agent", "Counting."), trajectory_id="middle", subagent_trajectories=[COUNTED])
    found = drafts(step("agent", "Done."), subagent_trajectories=[middle, COUNTED])
    assert [event.text for event in events(found)] == ["Done.", "Counting.", "Nine."]
    assert tokens(found)["output"] == 4 and findings(found).keys() == {"atif.repeated-sub-agent"}


def test_sub_agents_of_one_id_that_said_different_things_are_both_told() -> None:
    other = trajectory(step("agent", "Ten."), trajectory_id="inner")
    found = drafts(step("agent", "Done."), subagent_trajectories=[COUNTED, other])
    assert [event.text for event in events(found)] == ["Done.", "Nine.", "Ten."]


def test_steps_of_a_side_chain_stand_below_the_last_call_before_them() -> None:
    aside = {"extra": {"is_sidechain": True}}
    found = events(
        drafts(step("agent", tool_calls=[call("c")]), step("user", "Look.", **aside), step("agent", "Seen.", **aside))
    )
    assert [(event.depth, event.parent) for event in found] == [(0, None), (1, found[0].key), (1, found[0].key)]


def test_sub_agents_nested_to_no_purpose_are_cut() -> None:
    value = trajectory(step("agent", "deepest"))
    for _ in range(60):
        value = trajectory(step("agent", "x"), subagent_trajectories=[value])
    found = read(atif, value)
    assert_sound(found)
    assert max(event.depth for event in events(found)) < 30
    assert "atif.unknown-type" in findings(found)


def test_a_call_that_is_repeated_beside_its_result_is_one_call() -> None:
    results = {"results": [{"source_call_id": "c", "content": "ok"}]}
    found = drafts(
        step("agent", "Now.", tool_calls=[call("c")]), step("agent", tool_calls=[call("c")], observation=results)
    )
    assert kinds(found) == ["agent_message", "tool_call", "tool_result"]
    assert events(found)[2].parent == events(found)[1].key


def test_totals_stand_for_steps_that_state_nothing() -> None:
    found = drafts(step("agent", "Done."), final_metrics={"total_prompt_tokens": 9, "total_cost_usd": 0.5})
    assert events(found)[-1].usage == Usage(input_tokens=9, quality="aggregate")
    assert events(found)[-1].cost == Decimal("0.5")


def test_totals_that_differ_are_reported() -> None:
    counted = step("agent", "x", metrics={"prompt_tokens": 5, "cost_usd": 0.5})
    found = drafts(counted, final_metrics={"total_prompt_tokens": 9, "total_cost_usd": 0.75})
    message = findings(found)["atif.totals-differ"].message
    assert "9 prompt tokens where its steps have 5" in message and "$0.7500" in message


def test_several_model_calls_in_a_step_are_an_aggregate() -> None:
    (event,) = events(drafts(step("agent", "x", metrics={"prompt_tokens": 5}, llm_call_count=3)))
    assert event.usage and event.usage.quality == "aggregate"


def test_a_trajectory_that_went_on_tells_the_same_events_and_then_more() -> None:
    whole = [event.key for event in events(read(atif, SAMPLE))]
    for count in range(3, len(SAMPLE["steps"])):
        before = [event.key for event in events(read(atif, SAMPLE | {"steps": SAMPLE["steps"][:count]}))]
        assert whole[: len(before)] == before


def test_a_step_whose_results_come_later_is_the_same_step() -> None:
    result = {"observation": {"results": [{"source_call_id": "c", "content": "ok"}]}}
    waiting = events(drafts(step("agent", "Now.", tool_calls=[call("c")])))
    done = events(drafts(step("agent", "Now.", tool_calls=[call("c")], **result)))
    assert [event.key for event in waiting] == [event.key for event in done][:2]


def test_files_without_trajectory_are_reported_and_invalid_json_is_refused() -> None:
    assert findings(read(atif, {"schema_version": "ATIF-v1.7"}))["atif.no-trajectory"].severity == "warning"
    with pytest.raises(FormatError):
        read(atif, b'{"schema_version": "ATIF-v1.7", "steps": [')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, (list, dict)):
            assert_sound(read(atif, value))
