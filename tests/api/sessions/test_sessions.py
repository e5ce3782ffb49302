"""Sessions over the API: begun, found, written to, interrupted, archived."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from sessions_app.models import Agent, Session
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from tests.services.build import answer, call, event, result, user

from ..client import ok, pointers, refused

FIELDS = {
    "id",
    "agent",
    "title",
    "status",
    "origin",
    "phase",
    "started_at",
    "ended_at",
    "turn_count",
    "event_count",
    "tool_call_count",
    "error_count",
    "tools_invoked",
    "models",
    "usage",
    "cost",
    "summary",
    "tags",
    "metadata",
    "user_id",
    "external_id",
    "parent_session_id",
    "pending_approvals",
    "imported_from",
    "signature",
}


@pytest.fixture
def seed(agent):
    return f"/dashboard/agents/{agent.id}/sessions"


def test_a_session_is_begun_with_a_first_message(api, agent, seed):
    body = {
        "title": "Order 4711",
        "message": "Where is my parcel?",
        "metadata": {"shop": "north"},
        "user_id": "u1",
        "external_id": "x1",
    }
    session = ok(api.post(seed, body), 201)
    assert session.keys() >= FIELDS
    assert session["agent"] == {"id": str(agent.id), "name": "Refund agent"}
    assert (session["title"], session["metadata"], session["user_id"], session["external_id"]) == (
        "Order 4711",
        {"shop": "north"},
        "u1",
        "x1",
    )
    assert (session["status"], session["origin"], session["turn_count"], session["event_count"]) == (
        "idle",
        "api",
        1,
        1,
    )
    assert (session["imported_from"], session["signature"]["state"]) == (None, "unsigned")
    message = ok(api.get(f"{seed}/{session['id']}/events"))["items"][0]
    assert (message["kind"], message["text"], message["actor"]["kind"]) == (
        "user_message",
        "Where is my parcel?",
        "person",
    )


def test_a_session_needs_no_body(api, seed):
    assert ok(api.send("POST", seed, ""), 201)["title"] == ""
    assert ok(api.post(seed, {}), 201)["started_at"].endswith("Z")


def test_unknown_amounts_are_null_and_not_0(api, session):
    shown = ok(api.get(f"sessions/{session.id}"))
    assert set(shown["usage"].values()) == {None}
    assert shown["cost"] == {"amount": None, "currency": "USD", "basis": "none", "unpriced_tokens": 0}


def test_totals_of_tokens_and_money(api, session):
    events.append(
        session.id,
        [
            user(),
            call("c1", "grep"),
            result("c1"),
            answer(
                "r1",
                "m",
                input_tokens=100,
                cache_read_tokens=50,
                output_tokens=20,
                reasoning_tokens=5,
                cost=Decimal("0.0123450000"),
            ),
            answer("r2", "unheard-of", input_tokens=7),
        ],
        origin=links.RUNTIME,
    )
    shown = ok(api.get(f"sessions/{session.id}"))
    assert shown["usage"] == {
        "input_tokens": 107,
        "cache_read_tokens": 50,
        "cache_write_tokens": None,
        "output_tokens": 20,
        "reasoning_tokens": 5,
        "total_tokens": 177,
    }
    assert shown["cost"] == {"amount": "0.012345", "currency": "USD", "basis": "recorded", "unpriced_tokens": 7}
    assert (shown["tools_invoked"], shown["models"], shown["tool_call_count"]) == (["grep"], ["m", "unheard-of"], 1)


def test_a_turn_says_its_time_its_tokens_and_its_money(api, session, settings):
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    late = start + timedelta(milliseconds=1500)
    events.append(
        session.id,
        [user("Go", at=start), answer("r", "m", input_tokens=1, cost=Decimal("1.5")), event("error", at=late)],
        origin=links.RUNTIME,
    )
    turn = ok(api.get(f"sessions/{session.id}/turns"))["items"][0]
    assert (turn["index"], turn["prompt"], turn["first_seq"], turn["last_seq"], turn["errors"]) == (1, "Go", 1, 3, 1)
    assert (turn["started_at"], turn["ended_at"], turn["duration_ms"]) == (
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:06.500000Z",
        1500,
    )
    assert (turn["usage"]["total_tokens"], turn["cost"]["amount"], turn["models"], turn["tool_calls"]) == (
        1,
        "1.500000",
        ["m"],
        0,
    )


def test_lists_are_narrowed_down(api, agent, session, seed):
    other = ok(api.post("agents", {"name": "Other"}), 201)
    ok(api.post(f"/dashboard/agents/{other['id']}/sessions", {"title": "Elsewhere"}), 201)
    events.append(
        session.id, [user("find the zebra"), event("error"), answer("r", cost=Decimal("2.50"))], origin=links.RUNTIME
    )
    requests.request(session, requests.Question("t", {}), by=audit.COMMAND)
    Session.objects.filter(pk=session.pk).update(tags=["vip"])
    mine = [
        {"agent": str(agent.id)},
        {"agent": "refund-agent"},
        {"q": "zebra"},
        {"tag": "vip"},
        {"min_cost": "2.5"},
        {"has_errors": "true"},
        {"needs_approval": "true"},
    ]
    for query in mine:
        assert [row["id"] for row in ok(api.get("sessions", query))["items"]] == [str(session.id)], query
    for query in (
        {"q": "giraffe"},
        {"min_cost": "2.51"},
        {"status": "archived"},
        {"origin": "import"},
        {"to": "2020-01-01"},
        {"agent": "x"},
    ):
        assert ok(api.get("sessions", query))["items"] == [], query
    for query in ({"has_errors": "false"}, {"needs_approval": "0"}):
        assert [row["title"] for row in ok(api.get("sessions", query))["items"]] == ["Elsewhere"], query
    assert [row["id"] for row in ok(api.get(seed))["items"]] == [str(session.id)]


def test_times_bound_the_list_and_a_day_counts_to_its_end(api, session):
    Session.objects.filter(pk=session.pk).update(started_at="2026-03-05T12:00:00Z")
    inside = [
        {"from": "2026-03-05"},
        {"from": "2026-03-05T13:00:00+01:00", "to": "2026-03-05"},
        {"to": "2026-03-05T12:00:01Z"},
    ]
    for query in inside:
        assert len(ok(api.get("sessions", query))["items"]) == 1, query
    assert len(ok(api.get("sessions?from=2026-03-05T13:00:00+01:00"))["items"]) == 1
    for query in (
        {"from": "2026-03-06"},
        {"to": "2026-03-04"},
        {"to": "2026-03-05T12:00:00Z"},
        {"from": "2026-03-05T12:00:01"},
    ):
        assert ok(api.get("sessions", query))["items"] == [], query


@pytest.mark.parametrize(
    "sort", ["created", "-created", "started", "cost", "-cost", "tokens", "turns", "errors", "title", "-title"]
)
def test_every_order_pages_through_all_rows_once(api, agent, sort):
    for number in range(5):
        made = sessions.create(agent, by=audit.SYSTEM, title=f"s{number % 2}")
        events.append(made.id, [user(), answer(str(number), cost=Decimal(number % 3))], origin=links.RUNTIME)
    rows = [row["id"] for row in api.all("sessions", {"sort": sort, "limit": 2})]
    assert len(rows) == len(set(rows)) == 5


def test_a_message_is_queued_behind_the_turn_in_flight(api, session, seed):
    Agent.objects.filter(pk=session.agent_id).update(runtime="scripted")
    assert ok(api.post(f"{seed}/{session.id}/messages", {"text": "Hello"}), 202) == {"seq": 1, "queued": False}
    assert ok(api.post(f"{seed}/{session.id}/messages", {"text": "Wait"}), 202) == {"seq": None, "queued": True}


@pytest.mark.parametrize("text", ["", "  \n ", None, 4])
def test_empty_message_is_refused(api, session, seed, text):
    assert pointers(refused(api.post(f"{seed}/{session.id}/messages", {"text": text}), 422)) == {"/text"}


def test_an_interrupt_withdraws_what_is_asked_and_is_told_in_the_log(api, session, seed):
    asked = requests.request(session, requests.Question("refund", {}), by=audit.COMMAND)
    shown = ok(api.post(f"{seed}/{session.id}/interrupt"), 202)
    assert (shown["status"], shown["pending_approvals"]) == ("idle", 0)
    assert ok(api.get(f"approvals/{asked.id}"))["status"] == "cancelled"
    log = ok(api.get(f"sessions/{session.id}/events"))["items"]
    assert [(row["kind"], row["text"]) for row in log if row["kind"] == "status"] == [("status", "interrupt requested")]


def test_how_a_session_had_ended_stays_when_it_is_archived(api, session, seed):
    Session.objects.update(phase="crashed")
    assert ok(api.post(f"{seed}/{session.id}/archive"))["phase"] == "crashed"


def test_an_archived_session_is_read_only(api, session, seed):
    asked = requests.request(session, requests.Question("refund", {}), by=audit.COMMAND)
    path = f"{seed}/{session.id}"
    for _ in range(2):
        shown = ok(api.post(f"{path}/archive"))
        assert (shown["status"], shown["phase"]) == ("archived", "completed")
    assert ok(api.get(f"approvals/{asked.id}"))["status"] == "cancelled"
    refused(api.post(f"{path}/messages", {"text": "Still there?"}), 409)
    refused(api.post(f"{path}/interrupt"), 409)
    refused(api.post(f"sessions/{session.id}/events", {"events": [{"client_id": "1", "kind": "note"}]}), 409)
    refused(api.post("approvals", {"session_id": str(session.id), "tool": {"name": "t", "arguments": {}}}), 409)
    assert ok(api.get(f"{path}/events"))["items"]
