"""Langfuse's exports: what is counted, what a generation adds to the one before; and what is odd about a file."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError, Usage
from vcon_app.formats import langfuse
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions

SAMPLE = json.loads((SAMPLES / "langfuse" / "kiln.trace.json").read_bytes())


def observation(id: str, type: str = "GENERATION", at: int = 1, **more: Any) -> dict[str, Any]:
    start, end = f"2026-09-14T10:00:{at:02}Z", f"2026-09-14T10:00:{at + 1:02}Z"
    return {"id": id, "traceId": "t", "type": type, "name": id, "startTime": start, "endTime": end,
            "parentObservationId": None, **more}  # fmt: skip


def drafts(*observations: Any, **trace: Any) -> list[Any]:
    return read(langfuse, {"trace": {"id": "t", "name": "run", **trace}, "observations": list(observations)})


def usage_of(**details: Any) -> Usage:
    (usage,) = counted(drafts(observation("a", usageDetails=details)))
    return usage


@pytest.mark.parametrize(
    "value",
    [
        {"trace": {"id": "t"}, "observations": [observation("a")]},
        {"id": "t", "projectId": "p", "name": "run", "observations": [observation("a")]},
        [{"trace": {"id": "t"}, "observations": [observation("a")]}],
        [observation("a"), observation("b", at=3)],
    ],
)
def test_the_pages_export_the_apis_and_rows_are_read_alike(value: Any) -> None:
    assert langfuse.detect(Head(json.dumps(value).encode()))
    found = read(langfuse, value)
    assert [session.external_id for session in sessions(found)] == ["t"]
    assert events(found)[0].kind == "model_request"


@pytest.mark.parametrize(
    "value",
    [{"trace": "x", "observations": []}, {"observations": [], "id": 1}, [{"id": 1, "type": "SPAN"}], {"trace": {}}],
)
def test_similar_files_of_other_tools_are_not_claimed(value: Any) -> None:
    assert not langfuse.detect(Head(json.dumps(value).encode()))


def test_counts_of_langfuse_stand_beside_one_another() -> None:
    details = {"input": 100, "input_cache_read": 50, "input_cache_creation": 7, "output": 10, "output_reasoning": 5}
    assert usage_of(**details, total=172) == Usage(100, 50, 7, 15, 5)


def test_where_input_and_output_are_the_total_the_others_are_parts_of_them() -> None:
    details = {"input": 100, "input_cache_read": 50, "output": 10, "output_reasoning": 5}
    assert usage_of(**details, total=110) == Usage(50, 50, None, 10, 5)


def test_a_price_that_is_not_known_is_not_nothing() -> None:
    first, second = events(drafts(
        observation("a", usageDetails={"input": 1}, costDetails={}, totalCost=0),
        observation("b", at=3, usageDetails={"input": 1}, costDetails={"total": 0.25}),
    ))  # fmt: skip
    assert first.cost is None and second.cost == Decimal("0.25")


def test_spans_and_agents_are_not_counted() -> None:
    assert counted(drafts(observation("a", "SPAN", usageDetails={"input": 9}))) == []


def test_a_generation_inside_of_another_is_counted_but_says_nothing_again() -> None:
    said = {"input": "Hi", "output": "Yes?", "usageDetails": {"input": 5, "output": 2}}
    found = drafts(observation("outer", **said), observation("inner", at=2, parentObservationId="outer", **said))
    assert kinds(found) == ["user_message", "agent_message", "model_request"]
    assert [usage.input_tokens for usage in counted(found)] == [5, 5]


def test_only_the_new_messages_of_each_input_become_events() -> None:
    first, answer, more = ({"role": role, "content": text} for role, text in
                           (("user", "Hi"), ("assistant", "Yes?"), ("user", "Ho")))  # fmt: skip
    found = drafts(
        observation("a", input=[first], output=answer), observation("b", at=3, input=json.dumps([first, answer, more]))
    )
    assert [event.text for event in events(found)] == ["Hi", "Yes?", "Ho", ""]


def test_a_tool_is_told_where_it_ran_and_its_call_is_named_where_it_was_asked_for() -> None:
    found = events(read(langfuse, SAMPLE))
    asked = next(event for event in found if event.kind == "model_request")
    ran = next(event for event in found if event.kind == "tool_call")
    assert asked.data["calls"][0]["id"] == ran.tool.call_id == "call_k"
    assert ran.tool.name == "read_kiln" and ran.tool.arguments == {"zone": 2}
    assert sum(event.kind == "tool_call" for event in found) == 3


def test_results_that_no_tool_tells_of_are_context_that_the_model_was_given() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "weigh", "arguments": "{}"}}]}
    found = events(drafts(observation("a", input=[call, {"role": "tool", "tool_call_id": "c", "content": "61 g"}])))
    assert [(event.kind, event.text) for event in found] == [
        ("model_request", ""), ("injected_context", "61 g"), ("model_request", ""),
    ]  # fmt: skip
    assert found[1].data == {"call_id": "c", "name": "weigh"}


def test_observations_below_a_tool_belong_to_a_sub_agent() -> None:
    found = events(read(langfuse, SAMPLE))
    inner = [event for event in found if event.depth == 1]
    outer = next(event for event in found if event.kind == "tool_call" and event.tool.name == "ask_glazer")
    assert {event.parent for event in inner} == {outer.key}
    assert [event.text for event in inner] == ["Which cone?", "Cone 6."]


def test_failed_observations_say_why() -> None:
    found = events(read(langfuse, SAMPLE))
    damper = next(event for event in found if event.kind == "tool_result" and event.tool.status == "error")
    assert damper.text == "the damper is stuck"
    assert [event.text for event in found if event.kind == "error"] == ["rate limit"]


def test_a_trace_without_generations_tells_what_went_in_and_came_out() -> None:
    found = drafts(observation("step", "SPAN"), input="Hi", output={"role": "assistant", "content": "Yes?"})
    assert [(event.kind, event.text) for event in events(found)] == [
        ("user_message", "Hi"), ("status", "step"), ("agent_message", "Yes?"),
    ]  # fmt: skip


def test_a_score_is_a_note_of_who_gave_it() -> None:
    note = events(read(langfuse, SAMPLE))[-1]
    assert (note.kind, note.actor_kind, note.text) == ("note", "person", "helpful: 1\nIt saw the damper.")


def test_unknown_values_are_kept_and_reported() -> None:
    found = drafts(observation("a", "METEOR"))
    assert kinds(found) == ["unknown"] and "METEOR" in findings(found)["langfuse.unknown-type"].message


def test_a_trace_that_went_on_tells_the_same_events_and_then_more() -> None:
    whole = [event.key for event in events(read(langfuse, SAMPLE))]
    for count in range(3, len(SAMPLE["observations"])):
        part = {"trace": SAMPLE["trace"] | {"scores": []}, "observations": SAMPLE["observations"][:count]}
        keys = [event.key for event in events(read(langfuse, part))]
        assert set(keys) <= set(whole)


def test_files_without_trace_are_reported_and_invalid_json_is_refused() -> None:
    assert findings(read(langfuse, {"id": "t"}))["langfuse.no-trace"].severity == "warning"
    with pytest.raises(FormatError):
        read(langfuse, b'{"trace": {')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE | {"trace": SAMPLE["trace"] | {"observations": []}}):
        if isinstance(value, (dict, list)):
            assert_sound(read(langfuse, value))
