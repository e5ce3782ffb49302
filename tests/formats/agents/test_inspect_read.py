"""Inspect's samples: what is counted, what approvers decided, where graders stand; and what is odd about a log."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import Usage
from vcon_app.formats import inspect_ai
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, counted, events, findings, kinds, mutants, read, sessions

LOG = json.loads((SAMPLES / "inspect" / "jars.json").read_bytes())
HEADER = {name: value for name, value in LOG.items() if name not in ("samples", "reductions")}


def drafts(*happened: Any, **more: Any) -> list[Any]:
    sample = {"id": 1, "epoch": 1, "messages": [], "events": list(happened), **more}
    return read(inspect_ai, HEADER | {"samples": [sample]})


def model(text: str = "ok", usage: Any = None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "event": "model",
        "model": "m",
        "input": [],
        "output": {"choices": [{"message": message}], "usage": usage},
        **more,
    }


def tool(id: str = "c", result: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"event": "tool", "id": id, "function": "weigh", "arguments": {"n": 1}, "result": result, **more}


def test_a_log_is_claimed_by_its_header_wherever_its_samples_stand() -> None:
    assert inspect_ai.detect(Head(json.dumps(LOG).encode()))
    turned = {"samples": LOG["samples"], **HEADER}
    assert inspect_ai.detect(Head(json.dumps(turned).encode()))
    assert read(inspect_ai, turned) == read(inspect_ai, LOG)


@pytest.mark.parametrize(
    "value", [{"eval": {}}, {"version": 2, "status": "success"}, {"version": 2, "status": "x", "eval": {"a": 1}}, [LOG]]
)
def test_similar_files_of_other_tools_are_not_claimed(value: Any) -> None:
    assert not inspect_ai.detect(Head(json.dumps(value).encode()))


def test_each_sample_in_each_epoch_is_a_session() -> None:
    first, second = sessions(read(inspect_ai, LOG))
    assert (first.external_id, first.title) == ("uuid-jars-1", "jar_labels, sample jars, epoch 1")
    assert (first.phase, second.phase) == ("completed", "timed_out")
    assert first.metadata["scores"] == {"labels": "C"} and first.model == "openai/gpt-5"


def test_a_sample_without_an_id_of_its_own_is_known_by_its_run() -> None:
    assert sessions(drafts())[0].external_id == "ev1/1/1"


def test_cached_tokens_are_part_of_the_input_where_the_total_says_so() -> None:
    inside = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, "input_tokens_cache_read": 60}
    outside = inside | {"total_tokens": 170, "input_tokens_cache_write": 5, "reasoning_tokens": 4}
    assert counted(drafts(model(usage=inside))) == [Usage(40, 60, None, 10)]
    assert counted(drafts(model(usage=outside))) == [Usage(100, 60, 5, 10, 4)]


def test_responses_from_the_cache_of_inspect_are_not_billed() -> None:
    usage = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6, "total_cost": 0.5}
    found = events(drafts(model(usage=usage), model(usage=usage, cache="read"), model(usage=usage, cache="write")))
    assert [event.cost for event in found] == [Decimal("0.5"), None, Decimal("0.5")]


def test_the_usage_of_a_sample_stands_for_requests_that_are_not_in_the_log() -> None:
    usage = {"m": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}}
    assert counted(drafts(model_usage=usage)) == [Usage(5, None, None, 1, None, None, "aggregate")]
    found = drafts(model(usage={"input_tokens": 4, "output_tokens": 1}), model_usage=usage)
    assert [usage.input_tokens for usage in counted(found)] == [4]
    assert "5 tokens of input" in findings(found)["inspect.totals-differ"].message


def test_messages_of_a_pool_are_found_by_their_numbers() -> None:
    pool = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Ho"},
    ]
    first, second = model("Yes?", input_refs=[[0, 1]]), model("So", input_refs=[[0, 3]])
    for held in ({"events_data": {"messages": pool}}, {"message_pool": pool}):
        assert [event.text for event in events(drafts(first, second, **held))] == ["Hi", "Yes?", "Ho", "So"]
    far = model(input_refs=[[0, 10**11], [7], [2, 1], "x"])
    assert [event.text for event in events(drafts(far, message_pool=pool))] == ["Hi", "Yes?", "Ho", "ok"]


def test_attachments_are_put_back_and_pictures_stay_where_they_are() -> None:
    held = {"attachments": {"a": "The whole text.", "b": "data:image/png;base64,AAAA"}}
    said = {
        "role": "user",
        "content": [{"type": "text", "text": "attachment://a"}, {"type": "image", "image": "attachment://b"}],
    }
    (event, _) = events(drafts(model(input=[said]), **held))
    assert event.text == "The whole text." and event.data == {"attachments": [{"type": "image"}]}
    old = {"events": [], "transcript": {"events": [model("tc://a")], "content": held["attachments"]}}
    assert events(drafts(**old))[0].text == "The whole text."


def test_an_attachment_that_is_missing_is_told_and_many_of_a_large_one_are_bounded() -> None:
    found = drafts(model("attachment://gone"))
    assert events(found)[0].text == "attachment://gone"
    assert "attachment://gone" in findings(found)["inspect.missing-attachment"].message
    large = drafts(*[model("attachment://a") for _ in range(40)], attachments={"a": "x" * (2 * 1024**2)})
    assert sum(len(event.text) for event in events(large)) < 70 * 1024**2
    assert "inspect.large-attachments" in findings(large)


@pytest.mark.parametrize(
    ("told", "by", "decision", "actor"),
    [
        ("approve", "human", "approved", "person"),
        ("modify", "auto", "approved", "system"),
        ("reject", "human", "denied", "person"),
        ("terminate", "human", "denied", "person"),
        ("escalate", "auto", "escalated", "system"),
        ("shrug", "x", "shrug", "system"),
    ],
)
def test_decision_of_an_approver_is_an_approval(told: str, by: str, decision: str, actor: str) -> None:
    call = {"id": "c", "function": "weigh", "arguments": {"n": 1}}
    (event,) = events(
        drafts({"event": "approval", "call": call, "approver": by, "decision": told, "explanation": "So."})
    )
    assert (event.kind, event.text, event.actor_kind) == ("approval", "So.", actor)
    assert (event.data["decision"], event.data["by"], event.data["answer"]) == (decision, by, told)
    assert (event.tool.call_id, event.tool.name, event.tool.arguments) == ("c", "weigh", {"n": 1})


def test_a_call_that_an_approver_changed_tells_what_it_became() -> None:
    call = {"id": "c", "function": "weigh", "arguments": {"n": 1}}
    changed = {"event": "approval", "call": call, "decision": "modify", "modified": call | {"arguments": {"n": 2}}}
    assert events(drafts(changed))[0].data["modified"] == {"name": "weigh", "arguments": {"n": 2}}


@pytest.mark.parametrize(
    ("kind", "status"), [(None, "ok"), ("approval", "denied"), ("timeout", "error"), ("parsing", "error")]
)
def test_how_a_tool_ended(kind: str | None, status: str) -> None:
    error = {"type": kind, "message": "No."} if kind else None
    call, result = events(drafts(tool(result="" if error else 61, error=error)))
    assert (result.tool.status, result.text, result.parent) == (status, "No." if error else "61", call.key)


def test_a_tool_that_is_still_running_has_no_result() -> None:
    assert kinds(drafts(tool(pending=True))) == ["tool_call"]


def test_what_happens_inside_of_a_tool_stands_below_its_call_and_before_its_result() -> None:
    begin = {"event": "span_begin", "id": "s", "span_id": "s", "type": "tool", "name": "weigh"}
    found = events(drafts(begin, tool(), model("inner", span_id="s"), {"event": "span_end", "id": "s"}))
    assert [(event.kind, event.depth) for event in found] == [
        ("tool_call", 0),
        ("agent_message", 1),
        ("tool_result", 0),
    ]
    assert found[1].parent == found[0].key
    cut_off = events(drafts(begin, tool(), model("inner", span_id="s")))
    assert [event.kind for event in cut_off] == ["tool_call", "agent_message", "tool_result"]


def test_older_logs_nest_events_in_tools_and_sub_tasks() -> None:
    subtask = {"event": "subtask", "name": "sorting", "input": {}, "result": None, "events": [model("deep")]}
    found = events(drafts(tool(events=[model("inner"), subtask])))
    assert [(event.kind, event.depth) for event in found] == [
        ("tool_call", 0), ("agent_message", 1), ("handoff", 1), ("agent_message", 2), ("tool_result", 0),
    ]  # fmt: skip
    assert found[3].parent == found[2].key


def test_events_nested_to_no_purpose_are_cut() -> None:
    inner = model("deepest")
    for _ in range(50):
        inner = tool(events=[inner])
    found = drafts(inner)
    assert_sound(found)
    assert max(event.depth for event in events(found)) < 30 and "inspect.unknown-type" in findings(found)


@pytest.mark.parametrize("how", ["span", "step"])
def test_what_a_grader_says_is_no_turn_of_the_conversation(how: str) -> None:
    asked, named = [{"role": "user", "content": "Right?"}], {"type": "scorer", "name": "grade"}
    begin = (
        {"event": "span_begin", "id": "s", "span_id": "s"} if how == "span" else {"event": "step", "action": "begin"}
    )
    end = {"event": "span_end", "id": "s"} if how == "span" else {"event": "step", "action": "end"}
    score = {"event": "score", "span_id": "s", "score": {"value": 0.5, "explanation": "Half."}}
    found = events(drafts(begin | named, model("C", input=asked, span_id="s"), score, end, model("after")))
    assert [(event.kind, event.depth) for event in found] == [
        ("status", 0), ("user_message", 1), ("agent_message", 1), ("note", 1), ("agent_message", 0),
    ]  # fmt: skip
    assert found[3].text == "grade: 0.5\nHalf." and found[1].actor_kind == "agent"


def test_a_sample_without_events_is_told_by_its_messages() -> None:
    found = [event for event in events(read(inspect_ai, LOG)) if event.pointer.startswith("/samples/1/")]
    assert [event.kind for event in found] == [
        "user_message", "model_request", "tool_call", "tool_result", "agent_message", "model_request", "note",
    ]  # fmt: skip


def test_errors_limits_and_earlier_tries_become_events() -> None:
    found = events(drafts(
        {"event": "sample_limit", "type": "token", "limit": 9, "message": "Too many."},
        model(error="overloaded"),
        error={"message": "boom", "traceback": "…"}, error_retries=[{"message": "first try"}],
    ))  # fmt: skip
    assert [event.text for event in found if event.kind == "error"] == ["first try", "Too many.", "overloaded", "boom"]


def test_nan_and_nul_are_read_and_reported() -> None:
    data = json.dumps(HEADER | {"samples": [{"id": 1, "epoch": 1, "events": [model("a")]}]}).encode()
    nan = data.replace(b'"epoch": 1', b'"epoch": 1, "score": NaN')
    found = read(inspect_ai, nan)
    assert [event.text for event in events(found)] == ["a"]
    assert "NaN" in findings(found)["inspect.repaired-document"].message
    assert events(read(inspect_ai, data.replace(b'"a"', b'"a\\u0000"')))[0].text == "a\ufffd"


def test_a_log_that_is_cut_off_gives_the_samples_before_the_cut() -> None:
    data = json.dumps(LOG).encode()
    found = read(inspect_ai, data[: data.index(b'"epoch": 2')])
    assert [session.external_id for session in sessions(found)] == ["uuid-jars-1"]
    assert findings(found)["inspect.cut-off-document"].severity == "warning"


def test_unknown_values_are_kept_and_reported() -> None:
    found = drafts({"event": "glitter"}, 7)
    assert kinds(found) == ["unknown"]
    assert {"inspect.unknown-type", "inspect.no-event"} <= findings(found).keys()


def test_any_part_of_a_log_may_be_anything() -> None:
    first = LOG["samples"][0]
    for value in mutants(LOG | {"samples": [first | {"events": first["events"][:5]}]}):
        if isinstance(value, dict):
            assert_sound(read(inspect_ai, value))
    for value in mutants(first["events"][3:]):
        assert_sound(drafts(events=value))
