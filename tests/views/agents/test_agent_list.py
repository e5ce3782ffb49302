"""The list of agents is searched and sorted by its address; the page of one says how it fares."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.queries.agents import agent_health
from sessions_app.services import agents

from ..build import session_of, words
from ..money.spending import ran
from ..session.build import BOT, asked, call, priced, result, said, session_with

HOSTILE = "<script>alert(1)</script>"


def names(response) -> list[str]:
    return re.findall(r'data-row class="untrusted" href="[^"]*">([^<]*)</a>', response.content.decode())


@pytest.fixture
def three(workspace):
    for name, cost, errors in (("Beaver", "0.50", 0), ("adder", "7.00", 2), ("Crane", "0.10", 0)):
        session_of(agents.get_or_create_agent(workspace.id, name), "One", cost=cost, errors=errors)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sort=name", ["adder", "Beaver", "Crane"]), ("sort=-name", ["Crane", "Beaver", "adder"]),
        ("sort=-cost", ["adder", "Beaver", "Crane"]), ("sort=cost", ["Crane", "Beaver", "adder"]),
        ("q=BEAV", ["Beaver"]), ("q=nobody", []), ("q=e%20r&sort=name", ["adder", "Beaver", "Crane"]),
    ],
)  # fmt: skip
def test_the_address_says_which_agents_in_which_order(viewer, three, query, found):
    assert names(viewer.get(f"/agents/?{query}")) == found


def test_of_few_sessions_those_with_errors_are_a_number_and_no_alarm(viewer, three, workspace):
    page = viewer.get("/agents/?q=adder")
    assert "1 of 1" in words(page) and "100 %" not in words(page) and "right is-wrong" not in page.content.decode()
    busy = agents.get_or_create_agent(workspace.id, "Dingo")
    for number in range(10):
        session_of(busy, "One", errors=int(number < 2))
    assert "20 %" in words(viewer.get("/agents/?q=dingo"))


def test_errors_come_first_where_they_are_asked_for(viewer, three):
    page = viewer.get("/agents/?sort=-errors")
    assert names(page)[0] == "adder" and 'aria-sort="descending"' in page.content.decode()


@pytest.mark.parametrize(
    ("query", "told"), [("sort=colour", '"colour" is no order'), (f"q={'x' * 300}", "at most 200")]
)
def test_what_cannot_be_understood_is_said(viewer, three, query, told):
    page = viewer.get(f"/agents/?{query}")
    assert page.status_code == 400 and told in words(page)


def test_what_a_recorder_counted_too_low_is_at_least_that_for_its_agent_and_above_the_list(viewer, agent):
    low = priced("0.50", request="r", output_tokens=2, quality="placeholder")
    session_with(agent, [asked("p", "Write"), said("m", "done", **low)])
    for page in ("/agents/", f"/agents/{agent.slug}/", "/sessions/", "/sessions/?totals=all"):
        assert "≥ $0.50" in words(viewer.get(page)), page


def test_only_agents_that_run_here_say_what_they_run_on(viewer, workspace, agent):
    agents.create(workspace.pk, "Parrot", by=BOT, runtime="scripted")
    shown = words(viewer.get("/agents/"))
    assert "Parrot scripted" in shown and "external" not in shown


def test_health_has_tools_and_errors_by_kind(viewer, agent):
    for number in range(2):
        session_with(agent, [
            asked("p", "Go"), call("a", "Bash", {"command": "make"}),
            result("a", f"error: no rule {number} {HOSTILE}", "error"),
            call("b", "Read", {"file_path": "/a"}), result("b", "x", "error"),
            call("c", "Read", {"file_path": "/a"}), result("c", "y"),
        ])  # fmt: skip
    page = viewer.get(f"/agents/{agent.slug}/")
    text, html = words(page), page.content.decode()
    assert "2 in 2 sessions; not recovered in 2" in text and "2 in 2 sessions; always recovered" in text
    assert "error: no rule" in text and HOSTILE not in html and "?event=2#e-2" in html


def test_health_has_the_tools_of_the_last_days(viewer, agent):
    ran(agent, tool="lookup")
    assert f"?agent={agent.slug}&amp;tool=lookup" in viewer.get(f"/agents/{agent.slug}/").content.decode()


def test_errors_beside_calls_are_of_the_same_days(agent):
    ran(agent, tool="lookup")
    drafts = [asked("p", "Go"), call("a", "lookup", {}), result("a", "error: no", "error")]
    long_ago, today = session_with(agent, drafts), session_with(agent, drafts)
    now = timezone.now()
    Session.objects.filter(pk=long_ago.pk).update(started_at=now - timedelta(days=agent_health.DAYS + 1))
    Session.objects.filter(pk=today.pk).update(started_at=now)
    health = agent_health.health_of(agent)
    assert [tool.errors for tool in health.tools if tool.name == "lookup"] == [1]
    assert sum(kind.count for kind in health.kinds) == 2, "kinds are of the latest sessions, whenever they were"


def test_neither_page_asks_more_for_more_rows(viewer, agent, workspace):
    def asked_for() -> int:
        with CaptureQueriesContext(connection) as captured:
            for path in ("/agents/?sort=-cost", f"/agents/{agent.slug}/"):
                assert viewer.get(path).status_code == 200
        return len(captured)

    run = [call("a", "Bash", {"command": "make"}), result("a", "error: no rule", "error")]
    session_with(agent, run)
    asked_for()
    before = asked_for()
    for number in range(3):
        session_with(agents.get_or_create_agent(workspace.id, f"Other {number}"), run)
        session_with(agent, run)
    assert asked_for() == before
