"""Agents are defined and changed on pages; each change is a version, and nobody overwrites what they have not seen."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sessions_app.models import Agent, AgentVersion, AuditEntry, Budget, Session
from sessions_app.services import agents, audit

from ..build import words
from ..test_query_counts import queries

ADA = audit.Actor("member", "a", "Ada")
FORM = {
    "name": "Refund desk", "description": "Pays back", "model": "m-1", "instructions": "Be brief.\r\nAsk.", "tools": "",
    "environment": "", "policy_default": "ask", "expires_minutes": "", "budget": "", "runtime": "scripted",
}  # fmt: skip


@pytest.fixture
def agent_with_policy(workspace) -> Agent:
    policy = {"default": "ask", "tools": {"ls": "allow"}}
    return agents.create(workspace.id, "Parrot", by=ADA, runtime="scripted", instructions="One", policy=policy)


def form(**changes: Any) -> dict[str, Any]:
    return FORM | changes


def test_an_agent_is_defined_with_its_first_version(admin):
    rows = {"policy_tool": ["shop/issue_refund", "", "ls"], "policy_verdict": ["deny", "ask", "allow"]}
    tools = '[{"type": "builtin", "name": "ls"}]'
    response = admin.post("/agents/+/", form(**rows, tools=tools, expires_minutes="30", budget="2.50"))
    assert response.headers["Location"] == "/agents/refund-desk/"
    agent = Agent.objects.get()
    assert (agent.runtime, agent.model, agent.instructions) == ("scripted", "m-1", "Be brief.\nAsk.")
    assert agent.tools == [{"type": "builtin", "name": "ls"}]
    assert agent.policy == {"tools": {"shop/issue_refund": "deny", "ls": "allow"}, "expires_in": 1800}
    assert AgentVersion.objects.get().definition["policy"] == agent.policy
    assert Budget.objects.get().amount == Decimal("2.5")
    page = words(admin.get("/agents/refund-desk/"))
    assert "asks by default; allows 1, denies 1 by name" in page and "$0.00 of $2.50 today" in page


def test_seconds_that_a_program_said_stay_when_something_else_is_changed(admin, workspace):
    policy = {"expires_in": 90}
    agents.create(workspace.id, "Parrot", by=ADA, runtime="scripted", policy=policy)
    shown = admin.get("/agents/parrot/edit/").context["form"]["expires_minutes"].value()
    change = form(name="Parrot", instructions="Two", version="1", expires_minutes=str(shown))
    assert admin.post("/agents/parrot/edit/", change).status_code == 302
    assert Agent.objects.get().policy == policy
    admin.post("/agents/parrot/edit/", change | {"version": "2", "expires_minutes": "2"})
    assert Agent.objects.get().policy == {"expires_in": 120}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"name": " "}, "This field is required"),
        ({"tools": "[{]"}, "this is no JSON: "),
        ({"tools": "{}"}, "this has to be a list"),
        ({"tools": '[{"type": "mcp"}]'}, "tool 1 has no name"),
        ({"tools": "[" * 5_000}, "this is no JSON: "),
        ({"environment": "[]"}, "this has to be an object"),
        ({"policy_tool": ["a", "a"], "policy_verdict": ["ask", "deny"]}, '"a" is named twice'),
        ({"policy_tool": ["a"], "policy_verdict": ["perhaps"]}, '"perhaps" is no choice'),
        ({"budget": "-1"}, "greater than or equal to 0"),
        ({"runtime": "cloud"}, "Select a valid choice"),
    ],
)
def test_invalid_agent_form_shows_errors_and_keeps_the_input(admin, wrong, told):
    response = admin.post("/agents/+/", form(**wrong))
    assert response.status_code == 422
    assert told in words(response)
    assert "Pays back" in response.content.decode()
    assert not Agent.objects.exists()


def test_a_name_that_is_taken_is_said(admin, agent_with_policy):
    response = admin.post("/agents/+/", form(name="PARROT"))
    assert response.status_code == 422
    assert 'there is an agent "parrot"' in words(response)


def changed(parrot: Agent, **changes: Any) -> dict[str, Any]:
    return form(
        name="Parrot", description="", model="", instructions="One", version=parrot.version, policy_tool=["ls"],
        policy_verdict=["allow"],
    ) | changes  # fmt: skip


def test_saving_without_a_change_makes_no_version(reviewer, agent_with_policy):
    assert reviewer.post("/agents/parrot/edit/", changed(agent_with_policy)).status_code == 302
    agent_with_policy.refresh_from_db()
    assert (agent_with_policy.version, AgentVersion.objects.count()) == (1, 1)


def test_each_change_is_a_version_with_a_diff(reviewer, agent_with_policy):
    page = reviewer.get("/agents/parrot/edit/").content.decode()
    assert 'name="policy_tool"' not in page and ">One</textarea>" in page
    reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, instructions="Two", name="Cockatoo"))
    agent_with_policy.refresh_from_db()
    assert (
        agent_with_policy.version,
        agent_with_policy.name,
        agent_with_policy.slug,
        agent_with_policy.instructions,
    ) == (2, "Cockatoo", "parrot", "Two")
    page = words(reviewer.get("/agents/parrot/versions/"))
    assert "name, instructions" in page and "Rosa" in page
    assert "From 1 to 2" in page and "- One" in page and "+ Two" in page
    assert "One" in words(reviewer.get("/agents/parrot/versions/1/"))
    assert reviewer.get("/agents/parrot/versions/9/").status_code == 404
    assert reviewer.get("/agents/parrot/versions/?from=1&to=9").status_code == 404


def test_saving_an_outdated_agent_version_shows_the_changes_first(reviewer, agent_with_policy):
    agents.change(agent_with_policy, {"model": "m-2"}, by=ADA)
    late = reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, instructions="Mine"))
    assert late.status_code == 409
    assert "version 2 was made meanwhile by Ada, with changes: model" in words(late)
    assert "+ m-2" in words(late) and ">Mine</textarea>" in late.content.decode()
    agent_with_policy.refresh_from_db()
    assert (agent_with_policy.instructions, agent_with_policy.version) == ("One", 2)
    assert reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, instructions="Mine")).status_code == 302
    agent_with_policy.refresh_from_db()
    assert (agent_with_policy.instructions, agent_with_policy.version) == ("Mine", 3)


def test_only_an_admin_sets_what_an_agent_may_do(admin, reviewer, agent_with_policy):
    """Not even by sending a form that they were not shown."""
    allowing = {"policy_tool": ["ls", "rm"], "policy_verdict": ["allow", "allow"], "policy_default": "allow"}
    more = allowing | {"tools": '[{"type": "mcp", "name": "x", "url": "http://10.0.0.1/"}]', "environment": '{"a": 1}'}
    reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, instructions="Two", **more))
    after = Agent.objects.get(pk=agent_with_policy.pk)
    assert (after.policy, after.tools, after.environment) == (agent_with_policy.policy, [], {})
    assert after.instructions == "Two"
    assert 'value="ls"' in admin.get("/agents/parrot/edit/").content.decode()
    reviewer.post("/agents/+/", form(name="Crow", runtime="local", **more))
    assert (Agent.objects.get(name="Crow").policy, Agent.objects.get(name="Crow").tools) == ({}, [])


def test_only_an_admin_sets_the_budget(admin, reviewer, agent_with_policy):
    assert 'name="budget"' not in reviewer.get("/agents/parrot/edit/").content.decode()
    reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, budget="9"))
    assert not Budget.objects.exists()
    admin.post("/agents/parrot/edit/", changed(agent_with_policy, budget="9"))
    assert Budget.objects.get().agent == agent_with_policy
    admin.post("/agents/parrot/edit/", changed(agent_with_policy, budget=""))
    assert not Budget.objects.exists()


def test_an_agent_is_paused_resumed_and_archived(reviewer, agent_with_policy):
    for status, told in (
        ("paused", "Paused: starts no turns"),
        ("active", "is at work again"),
        ("archived", "Archived"),
    ):
        response = reviewer.post("/agents/parrot/status/", {"status": status}, follow=True)
        assert told in words(response)
    agent_with_policy.refresh_from_db()
    assert (agent_with_policy.status, agent_with_policy.version) == ("archived", 1)
    assert AuditEntry.objects.filter(action="agent.changed").count() == 3


def test_the_list_says_what_an_agent_is(viewer, reviewer, agent_with_policy):
    assert "scripted · version 1" in words(viewer.get("/agents/"))
    assert "Chat" not in words(viewer.get("/agents/"))
    assert "/agents/parrot/chat/" in reviewer.get("/agents/").content.decode()


def test_typing_on_the_chat_page_begins_a_session(reviewer, agent_with_policy):
    assert "Chat with Parrot" in words(reviewer.get("/agents/parrot/chat/"))
    response = reviewer.post("/agents/parrot/chat/", {"text": " Where is order 4711?\nIt is late. "})
    session = Session.objects.get()
    assert response.headers["Location"] == f"/dashboard/sub-agents/{agent_with_policy.pk}/chat/{session.pk}#follow"
    assert (session.title, session.origin, session.status) == ("Where is order 4711?", "chat", "running")
    assert (session.user_id, session.agent_version) == ("Rosa", 1)
    assert "Where is order 4711?" in words(reviewer.get("/agents/parrot/chat/"))


def test_a_session_that_cannot_begin_leaves_nothing_but_what_was_typed(admin, agent_with_policy, workspace, agent):
    Budget.objects.create(workspace=workspace, agent=agent_with_policy, amount=0)
    response = admin.post("/agents/parrot/chat/", {"text": "Hello there"})
    assert response.status_code == 409
    assert "the budget of Parrot is used up" in words(response) and "Hello there" in words(response)
    agents.change(agent_with_policy, {"status": "paused"}, by=ADA)
    assert admin.post("/agents/parrot/chat/", {"text": "Hello"}).status_code == 409
    assert "external agent" in words(admin.get(f"/agents/{agent.slug}/chat/"))
    assert not Session.objects.filter(agent=agent_with_policy).exists()


def test_viewers_read_and_strangers_find_nothing(viewer, charlie, agent_with_policy):
    for path in ("", "versions/", "versions/1/"):
        assert viewer.get(f"/agents/parrot/{path}").status_code == 200
        assert charlie.get(f"/agents/parrot/{path}").status_code == 404
    for path in ("/agents/+/", "/agents/parrot/edit/", "/agents/parrot/chat/"):
        assert viewer.get(path).status_code == 403
    assert charlie.post("/agents/parrot/status/", {"status": "paused"}).status_code == 404
    assert charlie.post("/agents/parrot/chat/", {"text": "x"}).status_code == 404
    assert viewer.post("/agents/parrot/status/", {"status": "paused"}).status_code == 403


def test_sessions_of_two_versions_are_compared_and_few_are_said_to_be_few(reviewer, agent_with_policy):
    reviewer.post("/agents/parrot/edit/", changed(agent_with_policy, instructions="Two"))
    path = "/agents/parrot/versions/?from=1&to=2"
    nothing = "Of the last 1,000 sessions of this agent, 0 ran under version 1 and 0 under version 2: there is nothing"
    assert nothing in words(reviewer.get(path))
    for version in (1, 2):
        Session.objects.create(
            workspace_id=agent_with_policy.workspace_id,
            agent=agent_with_policy,
            agent_version=version,
            turn_count=version,
            cost_recorded=Decimal("1.234567") / version,
        )
    response = reviewer.get(path)
    page = words(response)
    assert "Turns 1.0 n=1 2.0 n=1 +1.0 too few sessions" in page
    assert "Cost $1.23 n=1 $0.62 n=1 \u2212 $0.62 too few" in page, "to the cent"
    assert 'title="$1.234567"' in response.content.decode()
    assert "there is nothing to compare" in words(reviewer.get(f"{path}&tag=eval"))


def test_versions_cost_the_same_queries_however_many_there_are(admin, agent_with_policy):
    agents.change(agent_with_policy, {"model": "m"}, by=ADA)
    before = queries(admin, "/agents/parrot/versions/")
    for number in range(35):
        agents.change(agent_with_policy, {"model": f"m-{number}"}, by=ADA)
    assert queries(admin, "/agents/parrot/versions/") == before
    page = admin.get("/agents/parrot/versions/").content.decode()
    assert "?below=8" in page
    assert "first" in words(admin.get("/agents/parrot/versions/?below=8"))


def test_an_agent_that_a_file_named_has_a_version_too(admin, workspace):
    agents.get_or_create_agent(workspace.id, "Imported")
    assert "created by an import or an event" in words(admin.get("/agents/imported/versions/"))
