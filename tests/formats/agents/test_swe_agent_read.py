"""SWE-agent's runs: prompts from the history, steps from the trajectory; and what is odd about a file."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import swe_agent
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, events, findings, kinds, mutants, read, sessions

SAMPLE = json.loads((SAMPLES / "swe-agent" / "scale.traj").read_bytes())
PROMPT = {"role": "user", "content": "Repair it.", "agent": "main", "message_type": "observation"}


def step(action: str, thought: str = "", seen: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"action": action, "thought": thought, "observation": seen, "response": thought, **more}


def drafts(*steps: Any, **more: Any) -> list[Any]:
    return read(swe_agent, {"trajectory": list(steps), "history": [PROMPT], "info": {}, **more})


@pytest.mark.parametrize(
    "value",
    [
        {"trajectory": [step("ls")], "history": [], "info": {}},
        {"environment": "x", "trajectory": [], "info": {}},
        {"history": [PROMPT]},
        [PROMPT],
    ],
)
def test_runs_and_histories_are_claimed(value: Any) -> None:
    assert swe_agent.detect(Head(json.dumps(value).encode()))
    assert len(sessions(read(swe_agent, value))) == 1


@pytest.mark.parametrize(
    "value", [{"trajectory": []}, [{"role": "user", "content": "x"}], {"history": [{"role": "user"}]}, {"info": {}}]
)
def test_similar_files_of_other_tools_are_not_claimed(value: Any) -> None:
    assert not swe_agent.detect(Head(json.dumps(value).encode()))


def test_a_demonstration_is_context_and_opens_no_turn() -> None:
    found = events(read(swe_agent, SAMPLE))
    assert [event.kind for event in found[:3]] == ["system", "injected_context", "user_message"]
    assert found[2].text == "ISSUE: the scale shows nonsense."


def test_a_step_is_what_the_agent_said_did_and_saw() -> None:
    said, did, saw = events(drafts(step("ls -a", "I look around.", "a.py")))[1:]
    assert (said.kind, said.text, did.kind, saw.kind, saw.text) == (
        "agent_message", "I look around.", "tool_call", "tool_result", "a.py",
    )  # fmt: skip
    assert (did.tool.name, did.tool.arguments, saw.parent) == ("bash", {"command": "ls -a"}, did.key)


def test_commands_of_the_agent_are_tools_by_their_names_and_all_others_the_shells() -> None:
    found = events(drafts(step("open a.py 7"), step("rm -r /")))
    assert [event.tool.name for event in found if event.kind == "tool_call"] == ["open", "bash"]


def test_a_function_that_was_called_is_told_with_its_arguments() -> None:
    call = next(event for event in events(read(swe_agent, SAMPLE)) if event.kind == "tool_call")
    assert (call.tool.call_id, call.tool.name, call.tool.arguments) == (
        "call_1",
        "find_file",
        {"file_name": "scale.py"},
    )
    assert call.data == {"command": "find_file scale.py"}


def test_a_step_without_an_action_is_what_the_agent_said() -> None:
    found = events(drafts(step("", "", None, response="I give up.")))
    assert [(event.kind, event.text) for event in found[1:]] == [("agent_message", "I give up.")]


def test_totals_are_one_event_of_many_responses() -> None:
    stats = {"instance_cost": 0.5, "total_cost": 9, "tokens_sent": 7, "tokens_received": 2, "api_calls": 3}
    event = events(drafts(step("ls"), info={"model_stats": stats}))[-1]
    assert event.usage == Usage(input_tokens=7, output_tokens=2, quality="aggregate")
    assert event.cost == Decimal("0.5") and event.data["api_calls"] == 3


def test_without_totals_nothing_is_known_of_them() -> None:
    assert not any(event.usage or event.cost for event in events(drafts(step("ls"))))


@pytest.mark.parametrize(
    ("status", "phase"),
    [("submitted", "completed"), ("submitted (exit_cost)", "completed"), ("exit_cost", "completed"), ("", None),
     ("exit_error", "crashed"), ("exit_total_execution_time", "timed_out"), ("submitted (exit_error)", "completed")],
)  # fmt: skip
def test_how_it_ended_is_how_the_session_ended(status: str, phase: str | None) -> None:
    assert sessions(drafts(step("ls"), info={"exit_status": status}))[0].phase == phase


def test_a_history_alone_is_read_whole() -> None:
    found = read(swe_agent, SAMPLE["history"])
    assert kinds(found) == [
        "system", "injected_context", "user_message", "agent_message", "tool_call", "tool_result", "agent_message",
        "tool_call", "tool_result",
    ]  # fmt: skip
    call, result = events(found)[4:6]
    assert call.tool.call_id == result.tool.call_id == "call_1" and result.parent == call.key


def test_a_run_that_went_on_is_the_same_session_with_more_steps() -> None:
    prompts, later = SAMPLE["history"][:3], SAMPLE | {"info": {}}
    early = {"trajectory": SAMPLE["trajectory"][:2], "history": prompts + SAMPLE["history"][3:5], "info": {}}
    before, after = read(swe_agent, early), read(swe_agent, later)
    assert sessions(before)[0].external_id == sessions(after)[0].external_id
    assert [event.key for event in events(after)][: len(events(before))] == [event.key for event in events(before)]


def test_two_runs_over_one_problem_are_two_sessions() -> None:
    one, other = drafts(step("ls")), drafts(step("pwd"))
    assert sessions(one)[0].external_id != sessions(other)[0].external_id


def test_unknown_values_are_kept_and_reported() -> None:
    found = drafts(7, history=[PROMPT | {"role": "robot"}, 7])
    assert kinds(found) == ["unknown"]
    assert {"swe-agent.unknown-type", "swe-agent.no-step", "swe-agent.no-message"} <= findings(found).keys()
    assert findings(read(swe_agent, {"info": {}}))["swe-agent.no-run"].severity == "warning"
    with pytest.raises(FormatError):
        read(swe_agent, b'{"trajectory": [')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, (dict, list)):
            assert_sound(read(swe_agent, value))
