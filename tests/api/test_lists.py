"""Lists: pages that stay where they are, and a number of queries that does not grow with the rows."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Role
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import events, links
from tests.services.build import answer, call, event, result, user

from .client import ok


def test_pages_do_not_move_while_rows_are_added(api, agent):
    made = [sessions.create(agent, by=audit.SYSTEM, title=f"s{number}") for number in range(7)]
    first = ok(api.get("sessions", {"limit": 3}))
    sessions.create(agent, by=audit.SYSTEM, title="came later")
    second = ok(api.get("sessions", {"limit": 3, "cursor": first["next_cursor"]}))
    third = ok(api.get("sessions", {"limit": 3, "cursor": second["next_cursor"]}))
    seen = [row["title"] for page in (first, second, third) for row in page["items"]]
    assert seen == [session.title for session in reversed(made)]
    assert third["next_cursor"] is None


def test_the_default_page_has_50_rows(api, workspace):
    for number in range(51):
        agents.get_or_create_agent(workspace.id, f"Agent {number}")
    page = ok(api.get("agents"))
    assert len(page["items"]) == 50
    assert len(api.all("agents")) == 51


def test_turns_come_in_order(api, session):
    events.append(session.id, [event(), user("one"), user("two"), user("three")], origin=links.RUNTIME)
    turns = api.all(f"sessions/{session.id}/turns", {"limit": 2})
    assert [(turn["index"], turn["prompt"]) for turn in turns] == [(0, ""), (1, "one"), (2, "two"), (3, "three")]


def test_approvals_are_listed_by_status(api, session):
    asked = [requests.request(session, requests.Question("t", {"n": number}), by=audit.COMMAND) for number in range(3)]
    decisions.decide(
        asked[0],
        decisions.Decider(audit.COMMAND, Role.REVIEWER, "api"),
        decisions.Decision("deny", version=1, digest=asked[0].digest),
    )
    waiting = api.all("approvals", {"status": "pending", "limit": 1})
    assert [row["id"] for row in waiting] == [str(asked[2].id), str(asked[1].id)]
    assert [row["id"] for row in api.all("approvals", {"status": "denied"})] == [str(asked[0].id)]
    assert len(api.all("approvals", {"session_id": str(session.id)})) == 3


def test_the_audit_log_is_paged_newest_first(admin, agent):
    for _ in range(4):
        sessions.create(agent, by=audit.SYSTEM)
    seqs = [row["seq"] for row in admin.all("audit", {"limit": 2})]
    assert seqs == list(range(max(seqs), 0, -1))


def _fill(agent, rows):
    for _ in range(rows):
        session = sessions.create(agent, by=audit.SYSTEM)
        events.append(
            session.id,
            [user(), call("c"), result("c"), answer("r", "m", input_tokens=1, output_tokens=2)],
            origin=links.RUNTIME,
        )
        requests.request(session, requests.Question("t", {}), by=audit.COMMAND)
    return session


PATHS = (
    "agents",
    "sessions",
    "sessions?q=search",
    "approvals",
    "imports",
    "usage",
    "usage?group_by=agent",
    "usage?group_by=model",
    "usage?group_by=session",
    "usage?group_by=tool",
)


@pytest.mark.parametrize("path", PATHS)
def test_the_number_of_queries_does_not_grow_with_the_rows(api, workspace, agent, path):
    ok(api.get(path))
    _fill(agent, 1)
    few = _queries(api, path)
    _fill(agent, 5)
    agents.get_or_create_agent(workspace.id, "One more")
    assert _queries(api, path) == few


def test_the_number_of_queries_does_not_grow_with_the_events(api, agent):
    session = _fill(agent, 1)
    for path in (f"sessions/{session.id}/events", f"sessions/{session.id}/turns"):
        ok(api.get(path))
        few = _queries(api, path)
        for number in range(20):
            events.append(
                session.id,
                [user(), call(f"c{number}"), result(f"c{number}"), answer(f"r{number}", output_tokens=1)],
                origin=links.RUNTIME,
            )
        assert _queries(api, path) == few


def _queries(api, path):
    with CaptureQueriesContext(connection) as captured:
        ok(api.get(path))
    return len(captured)


@pytest.mark.parametrize(("path", "query"), [("sessions", {}), ("usage", {"group_by": "session"})])
def test_an_agent_is_named_by_id_slug_or_name(api, agent, session, path, query):
    events.append(session.id, [user("hello")], origin=links.RUNTIME)
    for named in (str(agent.pk), agent.slug, agent.name):
        assert len(ok(api.get(path, {"agent": named} | query))["items"]) == 1, named
    assert ok(api.get(path, {"agent": "nobody"} | query))["items"] == []
