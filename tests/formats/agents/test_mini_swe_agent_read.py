"""mini-swe-agent's runs: commands as calls, tokens of responses, persons at the keyboard; what is odd about a file."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import mini_swe_agent
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions

SAMPLE = json.loads((SAMPLES / "mini-swe-agent" / "seeds.traj.json").read_bytes())
OLD = json.loads((SAMPLES / "mini-swe-agent" / "old.traj.json").read_bytes())
TASK = {"role": "user", "content": "Count."}


def drafts(*messages: Any, **info: Any) -> list[Any]:
    return read(
        mini_swe_agent, {"info": info, "messages": [TASK, *messages], "trajectory_format": "mini-swe-agent-1.1"}
    )


def answer(content: Any = "ok", usage: Any = None, cost: Any = None, **extra: Any) -> dict[str, Any]:
    response = {"id": "r1", "model": "m", "usage": usage}
    return {"role": "assistant", "content": content, "extra": {"response": response, "cost": cost, **extra}}


@pytest.mark.parametrize(
    "value",
    [
        {"info": {}, "messages": [], "trajectory_format": "mini-swe-agent-1"},
        {"info": {"model_stats": {}}, "messages": []},
        {"messages": [TASK], "info": {"config": {"agent_type": "minisweagent.agents.default.DefaultAgent"}}},
        OLD,
    ],
)
def test_trajectories_and_its_own_lists_of_messages_are_claimed(value: Any) -> None:
    assert mini_swe_agent.detect(Head(json.dumps(value).encode()))
    assert len(sessions(read(mini_swe_agent, value))) == 1


@pytest.mark.parametrize(
    "value", [[TASK], {"messages": [TASK]}, {"info": {}, "messages": []}, [TASK | {"agent": "main"}]]
)
def test_other_messages_are_not_claimed(value: Any) -> None:
    assert not mini_swe_agent.detect(Head(json.dumps(value).encode()))


def test_the_command_in_an_answer_is_a_call_and_the_next_message_its_result() -> None:
    found = events(read(mini_swe_agent, OLD))
    said, did, saw = found[2:5]
    assert (said.text, did.tool.name, did.tool.arguments) == ("THOUGHT: I look.", "bash", {"command": "ls shed"})
    assert (saw.kind, saw.parent, saw.tool.status) == ("tool_result", did.key, "ok")
    assert [event.tool.status for event in found if event.kind == "tool_result"] == ["ok", "error", None]


def test_an_answer_with_two_commands_is_not_run_and_many_open_blocks_take_no_time() -> None:
    block = "```bash\nls\n```\n"
    found = events(
        drafts({"role": "assistant", "content": block * 2}, {"role": "user", "content": "EXACTLY ONE action"})
    )
    assert [event.kind for event in found[1:]] == ["agent_message", "injected_context"]
    assert [event.kind for event in events(drafts({"role": "assistant", "content": "```bash\nx" * 200_000}))][1:] == [
        "agent_message"
    ]


def test_format_reminders_of_the_agent_open_no_turn() -> None:
    found = events(read(mini_swe_agent, OLD))
    assert sum(event.kind == "user_message" for event in found) == 1
    assert sum(event.kind == "injected_context" for event in found) == 1


def test_cached_tokens_are_part_of_the_prompt() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60},
             "cache_creation_input_tokens": 30, "completion_tokens_details": {"reasoning_tokens": 4}}  # fmt: skip
    assert counted(drafts(answer(usage=usage))) == [Usage(10, 60, 30, 9, 4)]
    responses = {"input_tokens": 50, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 20},
                 "output_tokens_details": {"reasoning_tokens": 4}}  # fmt: skip
    assert counted(drafts(answer(usage=responses))) == [Usage(30, 20, None, 9, 4)]


def test_a_response_of_the_responses_api_is_an_answer_too() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
    ]
    message = {"id": "resp_1", "object": "response", "model": "gpt-5", "output": output, "extra": {
        "actions": [{"command": "ls", "tool_call_id": "c1"}], "cost": 0.25}, "usage": {"input_tokens": 5}}  # fmt: skip
    result = {"type": "function_call_output", "call_id": "c1", "output": "a b", "extra": {"returncode": 0}}
    found = events(drafts(message, result))[1:]
    assert [(event.kind, event.text) for event in found] == [
        ("reasoning", "Hm."), ("agent_message", "I look."), ("tool_call", ""), ("tool_result", "a b"),
    ]  # fmt: skip
    assert (found[2].cost, found[2].request, found[3].parent) == (Decimal("0.25"), "resp_1", found[2].key)


def test_a_response_that_was_refused_was_billed_all_the_same() -> None:
    found = events(read(mini_swe_agent, SAMPLE))
    refused = next(event for event in found if event.data.get("refused"))
    assert (refused.text, refused.cost) == ("There are two bags.", Decimal("0.001"))
    assert sum(event.cost or 0 for event in found) == Decimal("0.0085")
    assert not findings(read(mini_swe_agent, SAMPLE))


def test_a_person_who_rejects_or_types_a_command_opens_a_turn() -> None:
    found = events(read(mini_swe_agent, SAMPLE))
    assert [event.data.get("interrupt_type") for event in found if event.kind == "user_message"] == [
        None, "UserRejection", None,
    ]  # fmt: skip
    typed = next(event for event in found if event.kind == "tool_call" and event.actor_kind == "person")
    result = next(event for event in found if event.parent == typed.key)
    assert typed.tool.arguments == {"command": "ls shed | wc -l"} and result.tool.status == "ok"


def test_a_command_that_was_not_run_was_cancelled() -> None:
    found = events(read(mini_swe_agent, SAMPLE))
    assert [event.tool.status for event in found if event.kind == "tool_result"] == [
        "ok",
        "cancelled",
        "cancelled",
        "ok",
    ]


def test_the_total_stands_for_responses_that_state_nothing_and_is_compared_else() -> None:
    old = events(drafts({"role": "assistant", "content": "ok"}, model_stats={"instance_cost": 0.5}))
    assert [event.cost for event in old if event.kind == "model_request"] == [Decimal("0.5")]
    found = drafts(answer(cost=0.25), model_stats={"instance_cost": 0.5})
    assert [event.cost for event in events(found) if event.cost] == [Decimal("0.25")]
    assert "$0.5000" in findings(found)["mini-swe-agent.totals-differ"].message


def test_tokens_without_a_price_are_not_priced_by_the_total_again() -> None:
    found = drafts(answer(usage={"prompt_tokens": 5}), model_stats={"instance_cost": 0.5})
    assert [event.cost for event in events(found)] == [None, None]
    assert sessions(found)[0].metadata["model_stats"] == {"instance_cost": 0.5}


def test_end_of_a_run_becomes_one_event() -> None:
    found = events(read(mini_swe_agent, SAMPLE))
    assert [(event.kind, event.text) for event in found[-2:]] == [("artifact", "2\n"), ("status", "Submitted")]
    without_exit = events(drafts(answer(), exit_status="LimitsExceeded", submission="2\n"))
    assert [(event.kind, event.text) for event in without_exit[-2:]] == [
        ("artifact", "2\n"),
        ("status", "LimitsExceeded"),
    ]
    failed = {"role": "exit", "content": "boom", "extra": {"exit_status": "ValueError", "traceback": "…"}}
    assert events(drafts(failed))[-1].kind == "error"


def test_a_run_that_went_on_is_the_same_session_with_more_messages() -> None:
    whole = read(mini_swe_agent, SAMPLE)
    for count in range(3, len(SAMPLE["messages"])):
        early = read(mini_swe_agent, {"info": {}, "messages": SAMPLE["messages"][:count]})
        assert sessions(early)[0].external_id == sessions(whole)[0].external_id
        keys = [event.key for event in events(early)]
        assert [event.key for event in events(whole)][: len(keys)] == keys


def test_unknown_values_are_kept_and_reported() -> None:
    found = drafts(7, {"role": "robot", "content": "beep"})
    assert kinds(found) == ["user_message", "unknown"]
    assert {"mini-swe-agent.unknown-type", "mini-swe-agent.no-message"} <= findings(found).keys()
    assert findings(read(mini_swe_agent, {"info": {}}))["mini-swe-agent.no-run"].severity == "warning"
    with pytest.raises(FormatError):
        read(mini_swe_agent, b'{"messages": [')


@pytest.mark.parametrize("sample", [SAMPLE, OLD])
def test_any_part_of_a_file_may_be_anything(sample: Any) -> None:
    for value in mutants(sample):
        if isinstance(value, (dict, list)):
            assert_sound(read(mini_swe_agent, value))


@pytest.mark.parametrize("mark", mini_swe_agent.MARKS)
def test_a_bare_list_of_messages_is_no_chat_where_it_speaks_of_the_protocol(mark: bytes) -> None:
    told = [{"role": "system", "content": f"End with {mark.decode()}."}, {"role": "user", "content": "Solve it."}]
    assert registry.detect(io.BytesIO(json.dumps(told).encode()))[0] == mini_swe_agent.NAME


@pytest.mark.parametrize("actions", [["ls -l"], [{"action": "ls -l"}], [{"tool_call_id": "c1"}], [{}], None])
def test_a_command_is_found_whatever_the_agent_took_out_of_the_answer(actions: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls -l"}'}}
    said = {"role": "assistant", "content": "I look", "extra": {"actions": actions}, "tool_calls": [call]}
    found = drafts(said, {"role": "user", "content": "x", "extra": {"returncode": 0}})
    calls = [event for event in events(found) if event.kind == "tool_call"]
    assert [call.tool and call.tool.arguments for call in calls] == [{"command": "ls -l"}]
