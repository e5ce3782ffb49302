"""The log over the API: read in order, added to from outside, each event once."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import Event
from sessions_app.queries.log import events as queries
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from tests.services.build import answer, at_once, call, event, result, user

from ..client import ok, pointers, refused

FIELDS = {
    "seq",
    "id",
    "kind",
    "at",
    "turn",
    "actor",
    "text",
    "tool",
    "model",
    "usage",
    "cost",
    "parent_seq",
    "depth",
    "data",
    "source",
    "origin",
    "reported_by",
    "received_at",
}


def read(api, session, **query):
    return ok(api.get(f"sessions/{session.id}/events", query))


def send(api, session, *batch, status=200):
    return ok(api.post(f"sessions/{session.id}/events", {"events": list(batch)}), status)


def test_the_log_is_read_in_pages_after_a_seq(api, session):
    events.append(session.id, [event() for _ in range(120)], origin=links.RUNTIME)
    first = read(api, session)
    assert [row["seq"] for row in first["items"]] == list(range(1, 51))
    assert first["items"][0].keys() >= FIELDS
    assert first["last_seq"] == 120
    rest = read(api, session, after=50, limit=500)
    assert [row["seq"] for row in rest["items"]] == list(range(51, 121))
    assert read(api, session, after=120)["items"] == []


def test_the_dashboards_address_reads_the_same(api, session):
    events.append(session.id, [user(), event()], origin=links.RUNTIME)
    assert ok(api.get(f"/dashboard/agents/{session.agent_id}/sessions/{session.id}/events")) == read(api, session)


def test_events_are_filtered_by_kind(api, session):
    events.append(session.id, [user(), call("c"), result("c"), user()], origin=links.RUNTIME)
    assert [row["seq"] for row in read(api, session, kind="user_message")["items"]] == [1, 4]
    assert pointers(refused(api.get(f"sessions/{session.id}/events", {"kind": "gossip"}), 422)) == {"/kind"}


@pytest.mark.parametrize("after", ["-1", "x", "99999999999"])
def test_a_seq_that_cannot_be_is_refused(api, session, after):
    assert pointers(refused(api.get(f"sessions/{session.id}/events", {"after": after}), 422)) == {"/after"}


def test_tokens_and_money_stand_once_for_each_response(api, session):
    events.append(
        session.id,
        [
            answer("r1", "m", input_tokens=10, output_tokens=1),
            answer("r1", "m", input_tokens=10, output_tokens=4, cost=Decimal("0.5")),
            answer("r2", "m", input_tokens=3),
        ],
        origin=links.RUNTIME,
    )
    first, second, third = read(api, session)["items"]
    assert (first["usage"], first["cost"]) == (None, None)
    assert (second["usage"]["output_tokens"], second["usage"]["total_tokens"]) == (4, 14)
    assert second["cost"] == {"amount": "0.500000", "currency": "USD", "basis": "recorded", "unpriced_tokens": 0}
    assert third["cost"] == {"amount": None, "currency": "USD", "basis": "none", "unpriced_tokens": 3}


def test_a_call_and_its_result_say_which_tool_and_how_it_ended(api, session):
    events.append(
        session.id, [call("c1", "grep"), result("c1", "error", text="no such file"), event()], origin=links.RUNTIME
    )
    asked, answered, other = read(api, session)["items"]
    assert asked["tool"] == {
        "call_id": "c1",
        "name": "grep",
        "server": None,
        "arguments": {"q": "x"},
        "result": None,
        "status": "error",
    }
    assert answered["tool"] == {
        "call_id": "c1",
        "name": "grep",
        "server": None,
        "arguments": None,
        "result": "no such file",
        "status": "error",
    }
    assert other["tool"] is None


def test_a_page_of_large_events_is_cut_and_never_empty(api, session, monkeypatch):
    monkeypatch.setattr(queries, "MAX_CHARACTERS", 1000)
    events.append(session.id, [event(text="x" * size) for size in (5000, 300, 300, 300, 300)], origin=links.RUNTIME)
    sizes, after = [], 0
    while page := read(api, session, after=after)["items"]:
        sizes.append(len(page))
        after = page[-1]["seq"]
    assert sum(sizes) == 5
    assert sizes[0] == 1


def test_events_from_outside_are_appended_as_they_were_sent(api, session):
    answer = send(
        api,
        session,
        {"client_id": "1", "kind": "user_message", "text": "Go", "at": "2026-01-02T04:04:05+01:00"},
        {
            "client_id": "2",
            "kind": "tool_call",
            "tool": {"call_id": "c1", "name": "grep", "server": "fs", "arguments": {"q": 1}},
            "actor": {"kind": "subagent", "name": "Finder"},
            "data": {"k": [1]},
        },
        {
            "client_id": "3",
            "kind": "tool_result",
            "tool": {"call_id": "c1", "status": "ok", "result": {"n": 2}},
            "parent_client_id": "2",
        },
        {
            "client_id": "4",
            "kind": "agent_message",
            "text": "Done",
            "model": "m-1",
            "cost": {"amount": "0.012345", "currency": "USD"},
            "usage": {
                "input_tokens": 5,
                "cache_read_tokens": 2,
                "cache_write_tokens": 0,
                "output_tokens": 3,
                "reasoning_tokens": None,
                "total_tokens": 10,
            },
        },
    )
    assert answer == {"first_seq": 1, "last_seq": 4, "accepted": 4, "duplicates": 0}
    asked, called, came, said = read(api, session)["items"]
    assert (asked["at"], asked["actor"]["kind"], asked["turn"]) == ("2026-01-02T03:04:05Z", "person", 1)
    assert (called["actor"], called["tool"]["server"], called["data"]) == (
        {"kind": "subagent", "name": "Finder"},
        "fs",
        {"k": [1]},
    )
    assert called["at"] is not None
    assert (came["parent_seq"], came["tool"]["name"], came["tool"]["result"], came["source"]) == (
        2,
        "grep",
        {"n": 2},
        None,
    )
    assert (
        said["model"],
        said["usage"]["total_tokens"],
        said["usage"]["cache_write_tokens"],
        said["cost"]["amount"],
    ) == ("m-1", 10, 0, "0.012345")


def test_an_event_that_was_sent_before_is_left_out(api, session):
    send(api, session, {"client_id": "1", "kind": "note"}, {"client_id": "2", "kind": "note"})
    again = send(
        api,
        session,
        {"client_id": "2", "kind": "note"},
        {"client_id": "3", "kind": "note"},
        {"client_id": "3", "kind": "note"},
    )
    assert again == {"first_seq": 3, "last_seq": 3, "accepted": 1, "duplicates": 2}
    assert send(api, session, {"client_id": "1", "kind": "note"}) == {
        "first_seq": None,
        "last_seq": None,
        "accepted": 0,
        "duplicates": 1,
    }
    assert send(api, session) == {"first_seq": None, "last_seq": None, "accepted": 0, "duplicates": 0}


def test_a_batch_has_at_most_1000_events(api, session):
    batch = [{"client_id": str(number), "kind": "note"} for number in range(1001)]
    assert pointers(refused(api.post(f"sessions/{session.id}/events", {"events": batch}), 422)) == {"/events"}
    assert send(api, session, *batch[:1000])["accepted"] == 1000


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"kind": "gossip"}, "kind"),
        ({"client_id": "x" * 501}, "client_id"),
        ({"at": "2026-01-02T03:04:05"}, "at"),
        ({"at": 1767323045}, "at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "at"),
        ({"at": "soon"}, "at"),
        ({"cost": "NaN"}, "cost"),
        ({"cost": "-1"}, "cost"),
        ({"cost": "1e30"}, "cost"),
        ({"cost": {"amount": "1", "currency": "EUR"}}, "cost/currency"),
        ({"usage": {"input_tokens": 2**63}}, "usage/input_tokens"),
        ({"usage": {"input_tokens": 5, "cache_read_tokens": 4, "total_tokens": 5}}, "usage"),
        ({"usage": {"output_tokens": 1, "reasoning_tokens": 2}}, "usage"),
        ({"actor": {"kind": "god"}}, "actor/kind"),
        ({"tool": {"status": "meh"}}, "tool/status"),
        ({"data": []}, "data"),
        ({"text": 5}, "text"),
        ({"model": "x" * 201}, "model"),
    ],
)
def test_invalid_event_is_refused_with_its_pointer_and_nothing_is_stored(api, session, wrong, pointer):
    batch = [{"client_id": "fine", "kind": "note"}, {"client_id": "1", "kind": "note"} | wrong]
    problem = refused(api.post(f"sessions/{session.id}/events", {"events": batch}), 422)
    assert pointers(problem) == {f"/events/1/{pointer}"}
    assert not Event.objects.exists()


def test_hostile_text_is_kept_as_near_as_it_can_be(api, session):
    data = b'{"n": 123456789012345678901, "\\ud800": 1}'
    sent = b'{"client_id": "\\u0000\\ud800", "kind": "note", "text": "a\\u0000b", "data": %s}' % data
    assert ok(api.send("POST", f"sessions/{session.id}/events", b'{"events": [%s]}' % sent))["accepted"] == 1
    row = read(api, session)["items"][0]
    assert row["text"] == "a\N{REPLACEMENT CHARACTER}b"
    assert row["data"] == {"n": "123456789012345678901", "\N{REPLACEMENT CHARACTER}": 1}


def test_a_result_of_an_approved_call_is_its_execution(api, session):
    asked = [
        requests.request(session, requests.Question("t", {}, client_id=f"c{n}"), by=audit.COMMAND) for n in range(4)
    ]
    statuses = ("ok", "error", "denied", None)
    send(
        api,
        session,
        *(
            {"client_id": f"e{n}", "kind": "tool_result", "tool": {"call_id": f"c{n}", "status": status}}
            for n, status in enumerate(statuses)
        ),
    )
    shown = [ok(api.get(f"approvals/{approval.id}"))["execution"] for approval in asked]
    assert shown == ["succeeded", "errored", "none", "succeeded"]


@pytest.mark.django_db(transaction=True)
def test_the_same_batch_from_many_senders_is_stored_once(api, session):
    batch = [{"client_id": str(number), "kind": "note"} for number in range(50)]
    answers = at_once(*[lambda: send(api, session, *batch)] * 6)
    assert sum(answer["accepted"] for answer in answers) == 50
    assert sum(answer["duplicates"] for answer in answers) == 250
    assert [row.seq for row in Event.objects.filter(session=session).order_by("seq")] == list(range(1, 51))
