"""Every type of event that Managed Agents have becomes an event of the log, and what nobody knows is kept whole."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sessions_app.drafts import EventDraft, Usage
from sessions_app.runtimes.managed.events import HANDLERS, Mapping, cents_of
from sessions_app.runtimes.managed.state import Remote

AT = "2026-11-20T09:00:00.000000Z"
SAID = [{"type": "text", "text": "words"}]
CATALOGUE: list[tuple[str, dict[str, Any], str]] = [
    ("user.message", {"content": SAID}, "injected_context"),
    ("user.define_outcome", {"description": "words", "outcome_id": "outc_1", "rubric": {}}, "injected_context"),
    ("user.interrupt", {}, "system"),
    ("user.tool_confirmation", {"tool_use_id": "sevt_1", "result": "allow"}, "system"),
    ("user.custom_tool_result", {"custom_tool_use_id": "sevt_1", "content": SAID}, "tool_result"),
    ("user.tool_result", {"tool_use_id": "sevt_1", "content": SAID}, "tool_result"),
    ("system.message", {"content": SAID}, "injected_context"),
    ("agent.message", {"content": SAID}, "agent_message"),
    ("agent.thinking", {}, "reasoning"),
    ("agent.tool_use", {"name": "bash", "input": {}}, "tool_call"),
    ("agent.mcp_tool_use", {"name": "refund", "input": {}, "mcp_server_name": "billing"}, "tool_call"),
    ("agent.custom_tool_use", {"name": "print", "input": {}}, "tool_call"),
    ("agent.tool_result", {"tool_use_id": "sevt_1", "content": SAID}, "tool_result"),
    ("agent.mcp_tool_result", {"mcp_tool_use_id": "sevt_1", "content": SAID}, "tool_result"),
    ("agent.thread_message_sent", {"to_session_thread_id": "sthr_1", "content": SAID}, "handoff"),
    ("agent.thread_message_received", {"from_session_thread_id": "sthr_1", "content": SAID}, "handoff"),
    ("agent.thread_context_compacted", {}, "compaction"),
    *((f"session.status_{state}", {}, "system") for state in ("running", "rescheduled")),
    ("session.status_terminated", {}, "status"),
    ("session.status_idle", {"stop_reason": {"type": "end_turn"}}, "system"),
    ("session.error", {"error": {"type": "billing_error", "message": "words"}}, "error"),
    ("session.updated", {"title": "words"}, "system"),
    ("session.usage", {"usage": {}}, "system"),
    ("session.deleted", {}, "status"),
    ("session.thread_created", {"session_thread_id": "sthr_1", "agent_name": "words"}, "handoff"),
    *((f"session.thread_status_{state}", {}, "system") for state in ("running", "idle", "rescheduled", "terminated")),
    ("span.model_request_start", {}, "system"),
    ("span.model_request_end", {"model_request_start_id": "sevt_0"}, "model_request"),
    *((f"span.outcome_evaluation_{step}", {"outcome_id": "outc_1"}, "system") for step in ("start", "ongoing")),
    ("span.outcome_evaluation_end", {"outcome_id": "outc_1"}, "status"),
    *((f"workflow_run.{name}", {"workflow_run_id": "w"}, "system")
      for name in ("created", "phase_started", "phase_ended", "status_running", "status_idle", "status_ended")),
    ("workflow_run.error", {"error": {"type": "timeout_error", "message": "words"}}, "error"),
]  # fmt: skip


def wire(kind: str, id_: str = "sevt_7", **fields: Any) -> dict[str, Any]:
    return {"id": id_, "type": kind, "processed_at": AT, **fields}


def only(mapping: Mapping, told: dict[str, Any]) -> EventDraft:
    (event,) = mapping.drafts_of(told)
    return event


@pytest.fixture
def mapping() -> Mapping:
    return Mapping("Clerk", "claude-opus-5-5")


@pytest.mark.parametrize(("kind", "fields", "becomes"), CATALOGUE, ids=lambda value: value if str(value) else "")
def test_each_type_has_its_kind(mapping, kind, fields, becomes):
    event = only(mapping, wire(kind, **fields))
    assert (event.kind, event.key, event.data["type"]) == (becomes, "managed:sevt_7", kind)
    assert event.at is not None and event.at.isoformat() == "2026-11-20T09:00:00+00:00"
    if "words" in str(fields):
        assert "words" in event.text + str(event.data)


def test_the_catalogue_is_complete():
    assert {kind for kind, _, _ in CATALOGUE} == set(HANDLERS)


def test_unknown_runtime_events_are_kept_whole(mapping):
    told = wire("agent.levitates", height={"m": 3})
    event = only(mapping, told)
    assert (event.kind, event.data["raw"]) == ("unknown", told)


def test_unprocessed_user_events_are_not_logged(mapping):
    assert (
        list(mapping.drafts_of({"id": "sevt_1", "type": "user.message", "content": SAID, "processed_at": None})) == []
    )


def test_an_event_without_an_id_is_known_by_what_it_says(mapping):
    first, second = ({"type": "agent.message", "content": SAID, "processed_at": AT} for _ in range(2))
    assert only(mapping, first).key == only(mapping, second).key
    assert only(mapping, first | {"content": []}).key != only(mapping, first).key


@pytest.mark.parametrize(
    ("amount", "cents"),
    [("187", Decimal(187)), ("0", Decimal(0)), ("NaN", None), ("-1", None), ("", None), (187, None), (None, None)],
)
def test_cost_is_a_text_of_cents(amount, cents):
    assert cents_of({"list_cost": {"amount": amount, "currency": "USD"}}) == cents
    assert cents_of({"list_cost": {"amount": "1", "currency": "EUR"}}) is None


def test_a_statement_of_cost_is_the_difference_to_the_one_before_in_dollars(mapping):
    costs = [
        only(mapping, wire("session.usage", f"sevt_{n}", usage={"list_cost": {"amount": n, "currency": "USD"}})).cost
        for n in ("187", "187", "190")
    ]
    assert costs == [Decimal("1.87"), Decimal(0), Decimal("0.03")]


def test_what_a_request_does_not_state_is_unknown_and_not_zero(mapping):
    used = {"input_tokens": 5, "output_tokens": None, "cache_read_input_tokens": True, "speed": "fast"}
    event = only(mapping, wire("span.model_request_end", model_request_start_id="sevt_1", model_usage=used))
    assert event.usage == Usage(input_tokens=5)
    assert (event.request, event.model, event.data["speed"]) == ("sevt_1", "claude-opus-5-5", "fast")
    assert only(mapping, wire("span.model_request_end")).usage is None


def test_files_in_a_message_are_named_and_not_kept(mapping):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 10}}
    event = only(mapping, wire("agent.message", content=[*SAID, picture, {"type": "redacted"}]))
    assert (event.text, event.data["redacted"]) == ("words", 1)
    assert event.data["attachments"] == [{"type": "image", "media_type": "image/png", "bytes": 30}]


def fed(*told: dict[str, Any], message: str = "sevt_m") -> Remote:
    remote = Remote()
    remote.sent(message)
    for one in told:
        remote.feed(one)
    return remote


IDLE = wire("session.status_idle", "sevt_i", stop_reason={"type": "end_turn"})
TAKEN = wire("user.message", "sevt_m")


def test_an_end_before_our_message_was_taken_up_is_not_its_end():
    assert not fed(wire("session.status_running"), IDLE, TAKEN | {"processed_at": None}).done
    assert fed(wire("session.status_running"), TAKEN, IDLE).done


def test_waiting_for_people_is_not_the_end():
    waits = wire("session.status_idle", stop_reason={"type": "requires_action", "event_ids": ["sevt_1"]})
    remote = fed(TAKEN, waits)
    assert (remote.status, remote.waits_for, remote.done) == ("waiting", ["sevt_1"], False)


def test_a_run_after_the_end_is_waited_for():
    assert not fed(TAKEN, IDLE, wire("session.status_running")).done


def test_listing_again_begins_from_nothing():
    remote = fed(TAKEN, IDLE)
    remote.forget()
    assert (remote.status, remote.taken, remote.done, remote.message) == ("unknown", False, False, "sevt_m")
