"""Tokens and money by day, agent, model, session and tool; every grouping adds up to the same."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from sessions_app.services import audit, sessions
from sessions_app.services.log import events, links
from tests.services.build import answer, call, event, user

from .client import ok, pointers, refused

MONDAY, TUESDAY = datetime(2026, 3, 2, 23, 30, tzinfo=UTC), datetime(2026, 3, 3, 8, tzinfo=UTC)


@pytest.fixture
def two_sessions_with_usage(agent):
    """Two sessions on two days: three responses of two models, one of them without a price."""
    first, second = (sessions.create(agent, by=audit.SYSTEM, title=title) for title in ("First", "Second"))
    events.append(
        first.id,
        [
            user(at=MONDAY),
            call("c1", "grep", request="r1"),
            call("c2", "grep", request="r1"),
            call("c3", "edit", request="r1"),
            answer("r1", "m-1", input_tokens=90, output_tokens=30, cost=Decimal("0.30")),
            user(at=TUESDAY),
            answer("r2", "m-2", input_tokens=7),
        ],
        origin=links.RUNTIME,
    )
    events.append(
        second.id, [user(at=TUESDAY), answer("r3", "m-1", output_tokens=5, cost=Decimal("0.05"))], origin=links.RUNTIME
    )
    return first, second


def usage(api, group, **query):
    page = ok(api.get("usage", {"group_by": group} | query))
    return {row[group]: row for row in page["items"]}, page["total"]


def test_usage_by_day(api, two_sessions_with_usage):
    rows, total = usage(api, "day")
    assert list(rows) == ["2026-03-02", "2026-03-03"]
    assert (rows["2026-03-02"]["sessions"], rows["2026-03-02"]["turns"]) == (1, 1)
    assert (rows["2026-03-03"]["sessions"], rows["2026-03-03"]["turns"]) == (2, 2)
    assert rows["2026-03-03"]["cost"] == {
        "amount": "0.050000",
        "currency": "USD",
        "basis": "recorded",
        "unpriced_tokens": 7,
    }
    assert total["usage"]["total_tokens"] == 132
    assert total["cost"]["amount"] == "0.350000"


def test_usage_by_agent_model_and_session(api, agent, two_sessions_with_usage):
    rows, _ = usage(api, "agent")
    assert (rows[str(agent.id)]["name"], rows[str(agent.id)]["sessions"], rows[str(agent.id)]["turns"]) == (
        "Refund agent",
        2,
        3,
    )
    rows, _ = usage(api, "model")
    assert (rows["m-1"]["usage"]["output_tokens"], rows["m-1"]["usage"]["input_tokens"], rows["m-1"]["sessions"]) == (
        35,
        90,
        2,
    )
    assert rows["m-2"]["cost"] == {"amount": None, "currency": "USD", "basis": "none", "unpriced_tokens": 7}
    rows, _ = usage(api, "session")
    assert {row["title"]: row["usage"]["total_tokens"] for row in rows.values()} == {"First": 127, "Second": 5}


def test_a_response_is_shared_among_the_tools_it_calls(api, two_sessions_with_usage):
    rows, _ = usage(api, "tool")
    assert (rows["grep"]["calls"], rows["grep"]["usage"]["total_tokens"], rows["grep"]["cost"]["amount"]) == (
        2,
        80,
        "0.200000",
    )
    assert (rows["edit"]["calls"], rows["edit"]["usage"]["total_tokens"], rows["edit"]["cost"]["amount"]) == (
        1,
        40,
        "0.100000",
    )
    assert rows[None]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize("group", ["day", "agent", "model", "session", "tool"])
def test_every_grouping_adds_up_to_the_total(api, two_sessions_with_usage, group):
    rows, total = usage(api, group)
    assert sum(row["usage"]["total_tokens"] for row in rows.values()) == total["usage"]["total_tokens"] == 132
    assert sum(Decimal(row["cost"]["amount"] or 0) for row in rows.values()) == Decimal(total["cost"]["amount"])
    assert sum(row["cost"]["unpriced_tokens"] for row in rows.values()) == total["cost"]["unpriced_tokens"] == 7
    assert all({group, "sessions", "turns", "usage", "cost"} <= row.keys() for row in rows.values())


def test_a_period_takes_the_turns_that_began_in_it(api, two_sessions_with_usage):
    _, total = usage(api, "day", **{"from": "2026-03-03"})
    assert (total["usage"]["total_tokens"], total["turns"]) == (12, 2)
    _, total = usage(api, "model", to="2026-03-02")
    assert total["usage"]["total_tokens"] == 120
    rows, total = usage(api, "tool", **{"from": "2027-01-01"})
    assert (rows, total["usage"]["total_tokens"], total["cost"]["amount"]) == ({}, None, None)


def test_a_session_that_says_nothing_of_tokens_counts_and_is_unknown(api, agent):
    quiet = sessions.create(agent, by=audit.SYSTEM)
    events.append(quiet.id, [user(), event()], origin=links.RUNTIME)
    for group in ("day", "agent", "model", "session", "tool"):
        rows, total = usage(api, group)
        (row,) = rows.values()
        assert (row["sessions"], row["turns"], row["usage"]["total_tokens"], row["cost"]["amount"]) == (
            1,
            1,
            None,
            None,
        ), group
        assert total["usage"]["input_tokens"] is None


@pytest.mark.parametrize("group", ["day", "model", "session", "tool"])
def test_groups_are_paged_and_the_total_stays(api, two_sessions_with_usage, group):
    pages, cursor = [], None
    while True:
        page = ok(api.get("usage", {"group_by": group, "limit": 1} | ({"cursor": cursor} if cursor else {})))
        pages.append(page)
        cursor = page["next_cursor"]
        if cursor is None:
            break
    names = [row[group] for page in pages for row in page["items"]]
    assert len(names) == len(set(names)) == {"day": 2, "model": 2, "session": 2, "tool": 3}[group]
    assert {page["total"]["usage"]["total_tokens"] for page in pages} == {132}


def test_other_workspaces_are_not_counted(stranger, two_sessions_with_usage):
    _, total = usage(stranger, "day")
    assert total["sessions"] == 0


def test_unknown_usage_grouping_is_refused(api):
    assert pointers(refused(api.get("usage", {"group_by": "mood"}), 422)) == {"/group_by"}
