"""Tool calls of agents that run here, over the API."""

from __future__ import annotations

import pytest

from sessions_app.services import agents
from tests.views.money.spending import ran

from .client import ok, pointers, refused


@pytest.fixture
def three_calls(agent):
    first = ran(agent, tool="lookup", price="0.02")
    ran(agent, tool="refund", status="error")
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), tool="lookup")
    return first


def tools(api, **query):
    return [call["tool"] for call in ok(api.get("calls", query))["items"]]


def test_a_call_says_who_how_long_and_how_much(viewer, agent, three_calls):
    call = ok(viewer.get("calls"))["items"][-1]
    assert {name: call[name] for name in ("session_id", "agent_id", "provider", "tool", "status", "latency_ms")} == {
        "session_id": str(three_calls.id), "agent_id": str(agent.id), "provider": "shop", "tool": "lookup",
        "status": "ok", "latency_ms": 80,
    }  # fmt: skip
    assert (call["cost"], call["seq"]) == ("0.020000", three_calls.events.get(kind="tool_call").seq)
    assert ok(viewer.get("calls"))["items"][0]["cost"] is None


def test_tool_call_list_is_filtered(viewer, agent, three_calls):
    assert tools(viewer) == ["lookup", "refund", "lookup"]
    assert tools(viewer, status="error") == ["refund"]
    assert tools(viewer, agent="refund-agent", tool="lookup") == ["lookup"]
    assert tools(viewer, agent=str(agent.id)) == tools(viewer, agent="refund Agent") == ["refund", "lookup"]
    assert tools(viewer, agent="Nobody") == []
    assert tools(viewer, session=str(three_calls.id)) == ["lookup"]
    assert tools(viewer, provider="nobody") == tools(viewer, to="2020-01-01") == []


def test_pages_stay_where_they_are_while_calls_are_made(viewer, agent, three_calls):
    first = ok(viewer.get("calls", {"limit": 2}))
    ran(agent, tool="later")
    second = ok(viewer.get("calls", {"limit": 2, "cursor": first["next_cursor"]}))
    assert [call["tool"] for call in first["items"] + second["items"]] == ["lookup", "refund", "lookup"]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("query", [{"session": "x"}, {"from": "soon"}, {"tool": "\0"}, {"cursor": "!"}])
def test_a_value_that_means_nothing_is_refused(viewer, three_calls, query):
    assert pointers(refused(viewer.get("calls", query), 422)) == {f"/{next(iter(query))}"}


def test_usage_tells_wallets_apart_and_takes_the_filters_of_the_session_list(viewer, agent, three_calls):
    ran(agent, "0.25", here=False, origin="import")
    total = ok(viewer.get("usage"))["total"]
    assert total["wallets"] == {"ai": "1.500000", "data": "0.020000", "elsewhere": "0.250000"}
    assert (total["runtime_ms"], total["cost"]["amount"]) == (4_500, "1.750000")
    assert ok(viewer.get("usage", {"origin": "import"}))["total"]["cost"]["amount"] == "0.250000"
    assert ok(viewer.get("usage", {"agent": "other", "group_by": "tool"}))["total"]["sessions"] == 1
    refused(viewer.get("usage", {"origin": "dream"}), 422)
