"""The role agent, and keys for one agent: each operation that there is, is on a list here of what they may do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import Agent, Approval, Member, Role, Session
from sessions_app.services import agents, audit
from sessions_app.services import sessions as session_services
from sessions_app.services.people import api_keys

from ..client import Api, ok, pointers, refused
from ..things import address

SEED = "/dashboard/agents/{agent_id}/sessions"
ONE = SEED + "/{session_id}"
SESSION = "/api/v1/sessions/{session_id}"
READS = {
    ("get", "/api/v1/sessions"), ("get", "/api/v1/search"), ("get", SESSION), ("get", f"{SESSION}/turns"),
    ("get", f"{SESSION}/events"), ("get", f"{SESSION}/state"), ("get", f"{SESSION}/graph"),
    ("get", f"{SESSION}/retention"), ("get", f"{SESSION}/pruned"),
    ("get", f"{SESSION}/stream"), ("get", SEED), ("get", ONE), ("get", f"{ONE}/events"), ("get", f"{ONE}/stream"),
    ("get", f"{ONE}/queue"), ("get", "/api/v1/approvals"), ("get", "/api/v1/approvals/{approval_id}"),
    ("get", "/api/v1/approvals/{approval_id}/receipt"), ("post", f"{SESSION}/state/search"),
}  # fmt: skip
"""What an agent reads: of its own."""
EXECUTION = ("post", "/api/v1/approvals/{approval_id}/execution")
CANCEL = ("post", "/api/v1/approvals/{approval_id}/cancel")
OPEN = ("post", "/api/v1/sessions")
SPANS = {("post", "/api/v1/otlp/v1/traces"), ("post", "/v1/traces")}
PRUNE = ("post", f"{SESSION}/prune")
STATE = ("put", f"{SESSION}/state")
DECISION, EVIDENCE = ("post", f"{SESSION}/decisions"), ("post", f"{SESSION}/evidence")
WRITES = {
    ("post", SEED), OPEN, ("post", f"{SESSION}/events"), ("post", "/api/v1/approvals"), EXECUTION, CANCEL, *SPANS,
    STATE, ("delete", f"{SESSION}/state"), PRUNE, DECISION, EVIDENCE,
}  # fmt: skip
REVIEWS = {
    ("patch", f"{SESSION}/decisions/{{decision_id}}"),
    ("post", f"{SESSION}/continue"), ("post", f"{ONE}/messages"), ("post", f"{ONE}/interrupt"),
    ("post", f"{ONE}/archive"), ("post", f"{ONE}/go-on"), ("post", f"{ONE}/retry"),
    ("delete", f"{ONE}/queue/{{message_id}}"), ("post", "/api/v1/approvals/{approval_id}/decision"),
    ("get", f"{SESSION}/export"), ("get", f"{SESSION}/export/report"), ("get", f"{SESSION}/redactions"),
    ("post", f"{SESSION}/redactions"), ("get", f"{SESSION}/redactions/{{redaction_id}}"),
    ("post", f"{SESSION}/redactions/{{redaction_id}}/accept"), ("get", f"{SESSION}/redactions/{{redaction_id}}/file"),
}  # fmt: skip
"""What a reviewer's key for one agent does beside that, in the sessions of the agent."""
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("post", f"{SESSION}/events"): {"events": [{"client_id": "1", "kind": "note"}]},
    STATE: {"key": "step", "value": 1},
    PRUNE: {"strategy": "keep_last_5"},
    DECISION: {"title": "Go"},
    EVIDENCE: {"title": "Seen"},
    OPEN: {"agent": "Mine", "external_id": "run-1"},
    ("post", "/api/v1/approvals"): {"agent": "Mine", "tool": {"name": "t", "arguments": {}}},
    EXECUTION: {"digest": "0" * 64, "status": "running"},
}


@pytest.fixture
def operations(db) -> list[tuple[str, str]]:
    schema = ok(Client().get("/api/v1/openapi.json"))
    return [(method, path) for path, methods in schema["paths"].items() for method in methods]


@pytest.fixture
def robot(workspace, key_for) -> Api:
    """A key of the role agent."""
    return key_for(workspace, Role.AGENT, "robot")


def limited(agent: Agent, role: Role) -> Api:
    return Api(api_keys.create_api_key(agent.workspace, f"{role} of {agent}", role, by=audit.COMMAND, agent=agent)[1])


def send(api: Api, method: str, path: str, things: dict[str, Any]) -> Any:
    body = json.dumps(BODIES.get((method, path), {})) if method != "get" else b""
    query = "?format=jsonl" if path.endswith(("{session_id}/export", "/export/report")) else ""
    return api.send(method.upper(), address(path, things) + query, body, Accept="text/html")


def test_every_operation_is_on_the_lists_or_shut(operations, things, robot):
    """A new route is shut to agents until somebody puts it on a list here, and opens its door."""
    assert set(operations) >= READS | WRITES | REVIEWS
    before = things["session_id"]
    for method, path in operations:
        answer = send(robot, method, path, things)
        if (method, path) in READS | WRITES:
            expected = {404} if "{session_id}" in path or "{approval_id}" in path else {200, 201}
        else:  # 404 where the address names a session or an approval of others, which it does not see
            expected = {404} if "{session_id}" in path or "{approval_id}" in path else {403}
        assert answer.status_code in expected, (method, path, answer.status_code, answer.content[:300])
    assert Session.objects.get(pk=before).event_count == 1  # the question of somebody else, and nothing more


def test_an_agent_does_with_its_own_what_is_on_the_lists_and_nothing_else(operations, things, robot, agent):
    own = ok(robot.post(address(SEED, things), {"title": "Mine"}), 201)["id"]
    asked = ok(robot.post("approvals", {"session_id": own, "tool": {"name": "t", "arguments": {}}}), 201)["id"]
    mine = things | {"session_id": own, "approval_id": asked}
    for method, path in sorted(operations, key=lambda one: one == CANCEL):  # the last, since it ends what was asked
        if (method, path) in READS | WRITES:
            # A page is asked for, so that a stream leads to the page and ends.
            expected = {302} if path.endswith("/stream") and not path.startswith("/dashboard") else {200, 201}
            if path.startswith("/dashboard") and path.endswith("/stream"):
                continue
            if path.endswith(("/receipt", "/execution")):
                expected = {409}  # it is still pending
        else:
            expected = {403}
        answer = send(robot, method, path, mine)
        assert answer.status_code in expected, (method, path, answer.status_code, answer.content[:300])
    assert Approval.objects.get(pk=asked).status == "cancelled"
    assert Agent.objects.get(pk=agent.pk).version == 1


def test_lists_hold_what_is_its_own(api, robot, things, session):
    own = ok(robot.post(address(SEED, things), {}), 201)["id"]
    asked = ok(robot.post("approvals", {"agent": "Elsewhere", "tool": {"name": "t", "arguments": {}}}), 201)
    assert {row["id"] for row in robot.all("sessions")} == {own, asked["session_id"]}
    assert {row["session"]["id"] for row in robot.all("search")} == {own, asked["session_id"]}
    assert {row["id"] for row in robot.all(address(SEED, things))} == {own}
    assert [row["id"] for row in robot.all("approvals")] == [asked["id"]]
    assert len(api.all("sessions")) == 3 and len(api.all("approvals")) == 2


def test_the_sessions_of_another_agent_key_are_not_its_own(workspace, key_for, robot, agent):
    other = key_for(workspace, Role.AGENT, "other robot")
    session = ok(robot.post(f"/dashboard/agents/{agent.id}/sessions", {}), 201)["id"]
    refused(other.get(f"sessions/{session}"), 404)
    refused(other.post(f"sessions/{session}/events", {"events": [{"client_id": "1", "kind": "note"}]}), 404)
    refused(other.post("approvals", {"session_id": session, "tool": {"name": "t", "arguments": {}}}), 404)


def test_the_same_client_id_of_two_agents_keys_is_two_questions(workspace, key_for, robot):
    other = key_for(workspace, Role.AGENT, "other robot")
    body = {"agent": "Night shift", "client_id": "c1", "tool": {"name": "t", "arguments": {}}}
    first = ok(robot.post("approvals", body), 201)
    second = ok(other.post("approvals", body), 201)
    assert first["id"] != second["id"] and first["session_id"] != second["session_id"]
    assert ok(robot.post("approvals", body), 201) == first


def test_an_agent_begins_no_turn_of_an_agent_that_runs_here(robot, scripted_agent):
    path = f"/dashboard/agents/{scripted_agent.id}/sessions"
    refused(robot.post(path, {"message": "Spend money"}), 403)
    assert not Session.objects.exists()
    ok(robot.post(path, {"title": "Only opened"}), 201)


def test_a_message_to_an_agent_elsewhere_is_part_of_opening_a_session(robot, agent):
    made = ok(robot.post(f"/dashboard/agents/{agent.id}/sessions", {"message": "Refund 4711"}), 201)
    assert made["event_count"] == 1


@pytest.mark.django_db(transaction=True)  # exports work in threads, which see only what is committed
@pytest.mark.parametrize("role", Role.values)
def test_a_key_for_one_agent_sees_only_that_one_whatever_its_role(operations, things, workspace, role):
    """``things`` is of another agent."""
    only = limited(agents.get_or_create_agent(workspace.id, "Mine"), Role(role))
    for method, path in operations:
        if (method, path) in {("post", "/api/v1/approvals"), OPEN, *SPANS}:
            continue
        answer = send(only, method, path, things)
        if "{agent_id}" in path or "{session_id}" in path or "{approval_id}" in path:
            expected = 404
        else:
            expected = 200 if (method, path) in READS else 403
        assert answer.status_code == expected, (method, path, answer.status_code, answer.content[:300])
    assert only.all("sessions") == only.all("approvals") == only.all("search") == []


def test_an_agents_key_for_one_agent_has_all_its_sessions(workspace, agent, session):
    only, theirs = limited(agent, Role.AGENT), Session.objects.create(workspace=workspace, agent=agents.create(
        workspace.id, "Other", by=audit.COMMAND))  # fmt: skip
    ok(only.get(f"sessions/{session.id}"))
    ok(only.post(f"sessions/{session.id}/events", {"events": [{"client_id": "1", "kind": "note"}]}))
    refused(only.get(f"sessions/{theirs.id}"), 404)
    tool = {"name": "t", "arguments": {}}
    ok(only.post("approvals", {"agent": agent.name, "tool": tool}), 201)
    assert "for the agent" in refused(only.post("approvals", {"agent": "Other", "tool": tool}), 403)["detail"]
    refused(only.post(f"/dashboard/agents/{theirs.agent_id}/sessions", {}), 404)


def test_a_reviewers_key_for_one_agent_decides_there_alone(api, workspace, agent, session, things):
    reviewer = limited(agent, Role.REVIEWER)
    asked = ok(api.get(f"approvals/{things['approval_id']}"))
    decision = {"verdict": "deny", "version": 1, "digest": asked["digest"], "reason": "no"}
    other = limited(agents.create(workspace.id, "Other", by=audit.COMMAND), Role.REVIEWER)
    refused(other.post(f"approvals/{asked['id']}/decision", decision), 404)
    assert ok(reviewer.post(f"approvals/{asked['id']}/decision", decision))["status"] == "denied"


def test_a_reviewers_key_for_one_agent_continues_with_no_other(workspace, agent, session, scripted_agent):
    body = {"agent_id": str(scripted_agent.id)}
    problem = refused(limited(agent, Role.REVIEWER).post(f"sessions/{session.id}/continue", body), 422)
    assert pointers(problem) == {"/agent_id"}


def test_nobody_is_a_member_with_the_role_agent(admin, workspace, django_user_model):
    from django.db import IntegrityError

    user = django_user_model.objects.create_user("x")
    with pytest.raises(IntegrityError, match="member_is_no_agent"):
        Member.objects.create(workspace=workspace, user=user, role=Role.AGENT)


@pytest.mark.parametrize("field", [{"policy": {"default": "allow"}}, {"tools": [{"type": "mcp", "name": "x", "url":
    "http://127.0.0.1/"}]}, {"environment": {"networking": "open"}}])  # fmt: skip
def test_what_an_agent_may_do_is_set_by_admins_alone(api, admin, agent, field):
    refused(api.patch(f"agents/{agent.id}", field), 403)
    refused(api.post("agents", {"name": "New"} | field), 403)
    after = Agent.objects.get()
    assert (after.version, after.policy, after.tools, after.environment) == (1, {}, [], {})
    ok(api.patch(f"agents/{agent.id}", {"instructions": "Be kind"}))
    assert ok(admin.patch(f"agents/{agent.id}", field))["version"] == 3
    ok(api.patch(f"agents/{agent.id}", field | {"instructions": "Be brief"}))  # as it is already: nothing is granted


def test_a_session_that_a_person_began_belongs_to_no_key(workspace, agent, robot):
    began = session_services.create(agent, by=audit.Actor("member", "x", "Ines"))
    assert began.opened_by_key is None
    refused(robot.get(f"sessions/{began.pk}"), 404)
