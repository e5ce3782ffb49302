"""Tool calls of agents that run here, filtered by the URL."""

from __future__ import annotations

import csv
import io
import re

import pytest

from sessions_app.queries.money import ledger
from sessions_app.services import agents
from tests.html import on_one_line

from ..build import words
from .spending import ran


def tools(client, query: str = "") -> list[str]:
    """Of the rows, the newest first."""
    html = on_one_line(client.get(f"/usage/calls/{query}"))
    return re.findall(r'class="cell-tool"><a data-row class="untrusted" href="[^"]+">([^<]*)<', html)


@pytest.fixture
def three_calls(agent):
    """A call that succeeded, one that failed, and one of another agent without a price."""
    first = ran(agent, tool="lookup", price="0.02")
    ran(agent, tool="refund", price="0.05", status="error")
    ran(agents.get_or_create_agent(agent.workspace_id, "Other"), tool="lookup")
    return first


def test_each_call_is_a_line_that_leads_to_it(viewer, agent, three_calls):
    page = viewer.get("/usage/calls/")
    assert "lookup shop OK 80 ms $0.020 Order 4711 Refund agent" in words(page)
    seq = three_calls.events.get(kind="tool_call").seq
    assert f"/chat/{three_calls.id}?event={seq}" in page.content.decode()
    assert "lookup shop OK 80 ms — Order 4711 Other" in words(page), "without a price the cost is unknown"


def test_providers_are_summed_over_what_passes(viewer, three_calls):
    assert "shop 3 1 80 ms $0.020" in words(viewer.get("/usage/calls/"))
    assert "shop 1 0 80 ms —" in words(viewer.get("/usage/calls/?agent=other"))


def test_many_calls_are_summed_when_they_are_asked_to(viewer, three_calls, monkeypatch):
    monkeypatch.setattr(ledger, "SUMMED", 2)
    page = viewer.get("/usage/calls/?provider=shop")
    assert "More than 2 calls" in words(page) and "shop 3 1" not in words(page)
    assert 'href="?provider=shop&amp;providers=all"' in page.content.decode()
    assert "shop 3 1 80 ms $0.020" in words(viewer.get("/usage/calls/?provider=shop&providers=all"))
    assert "shop 1 1 80 ms" in words(viewer.get("/usage/calls/?status=error"))


def test_tool_call_list_is_filtered(viewer, three_calls):
    assert tools(viewer) == ["lookup", "refund", "lookup"]
    assert tools(viewer, "?tool=refund") == ["refund"]
    assert tools(viewer, "?status=ok&agent=refund-agent") == ["lookup"]
    assert tools(viewer, f"?session={three_calls.id}") == ["lookup"]
    assert tools(viewer, "?provider=shop&to=2020-01-01") == []
    assert "No calls match these filters" in words(viewer.get("/usage/calls/?provider=nobody"))


@pytest.mark.parametrize("query", ["session=x", "from=soon", "tool=%00", "provider=" + "x" * 1001])
def test_invalid_filter_value_is_reported(viewer, three_calls, query):
    assert viewer.get(f"/usage/calls/?{query}").status_code == 400
    assert viewer.get(f"/usage/calls.csv?{query}").status_code == 400


def test_the_csv_has_what_passes_and_no_formula(viewer, agent, three_calls):
    ran(agent, tool="=1+1", price="0.01")
    rows = list(csv.DictReader(io.StringIO(viewer.get("/usage/calls.csv?status=ok").content.decode())))
    assert [(row["tool"], row["cost USD"]) for row in rows] == [
        ("'=1+1", "0.0100000000"), ("lookup", ""), ("lookup", "0.0200000000"),
    ]  # fmt: skip
