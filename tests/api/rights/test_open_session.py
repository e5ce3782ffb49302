"""A program opens the session that it calls by an id of its own: made once, and only its own is found again."""

from __future__ import annotations

import pytest

from sessions_app.models import Agent, Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys

from ..client import Api, ok, refused

RUN = {"agent": "Refund agent", "external_id": "run-1", "user_id": "ines", "metadata": {"shop": "Porto"}}


@pytest.fixture
def program(workspace, key_for) -> Api:
    return key_for(workspace, Role.AGENT)


def test_it_is_made_once_with_its_agent(program, workspace):
    made = ok(program.post("sessions", RUN), 201)
    again = ok(program.post("sessions", RUN | {"metadata": {"shop": "Lisbon"}}))
    assert made["id"] == again["id"] and again["metadata"] == {"shop": "Porto"}
    assert (made["agent"]["name"], made["external_id"], made["user_id"]) == ("Refund agent", "run-1", "ines")
    assert (made["origin"], made["status"]) == ("api", "idle")
    assert Agent.objects.get(workspace=workspace).runtime == "external"
    ok(program.post(f"sessions/{made['id']}/events", {"events": [{"client_id": "1", "kind": "note"}]}))


def test_another_key_and_another_workspace_have_sessions_of_their_own(program, workspace, other_workspace, key_for):
    others = [key_for(workspace, Role.AGENT, "other"), key_for(other_workspace, Role.AGENT)]
    assert len({ok(one.post("sessions", RUN), 201)["id"] for one in (program, *others)}) == 3


def test_one_that_was_read_from_a_file_is_another(workspace, api):
    agent = Agent.objects.create(workspace=workspace, name="Refund agent", slug="refund-agent")
    Session.objects.create(workspace=workspace, agent=agent, origin="import", external_id="run-1")
    ok(api.post("sessions", RUN), 201)


def test_a_key_for_one_agent_opens_no_session_of_another(workspace):
    agent = Agent.objects.create(workspace=workspace, name="Clerk", slug="clerk")
    key = api_keys.create_api_key(workspace, "clerk", Role.AGENT, by=audit.COMMAND, agent=agent)[1]
    problem = refused(Api(key).post("sessions", RUN), 403)
    assert "Clerk" in problem["detail"] and Session.objects.count() == 0
    ok(Api(key).post("sessions", RUN | {"agent": "Clerk"}), 201)


def test_who_only_reads_opens_none(viewer):
    refused(viewer.post("sessions", RUN), 403)
