"""Figures of oversight and planted calls over the API."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Approval, Role
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.api.client import Api, ok, pointers, refused
from tests.views.conftest import member_of

CALL = {"agent": "Refund agent", "tool": {"name": "shell", "arguments": {"command": "rm -rf /"}}}


def person(workspace, role: Role, name: str) -> Client:
    client = Client()
    client.force_login(member_of(workspace, role, name).user)
    return client


def test_admins_see_each_person_and_everybody_sees_themselves(workspace, agent, admin, viewer):
    assert ok(admin.get("oversight"))["members"] == [] and ok(admin.get("oversight"))["you"] is None
    assert ok(viewer.get("oversight"))["members"] is None
    mine = person(workspace, Role.REVIEWER, "Rosa").get("/api/v1/oversight").json()
    assert mine["you"]["decisions"] == 0 and mine["members"] is None


def test_a_period_that_is_none_is_named(viewer):
    backwards, years = {"from": "2026-03-02", "to": "2026-03-01"}, {"from": "2020-01-01", "to": "2026-01-01"}
    for query in (backwards, years, {"from": "x"}):
        assert pointers(refused(viewer.get("oversight", query), 422)) == {"/from"}


def test_a_person_who_is_an_admin_plants_a_call(workspace, agent, api):
    ada = person(workspace, Role.ADMIN, "Ada")
    made = ada.post("/api/v1/planted-calls", CALL, content_type="application/json")
    assert made.status_code == 201 and made.json()["status"] == "pending"
    (seen,) = api.all("approvals")
    assert seen["planted"] is False and "planted" not in str(seen).replace("'planted': False", "")
    decision = {"verdict": "approve", "version": seen["version"], "digest": seen["digest"]}
    decided = ok(api.post(f"approvals/{seen['id']}/decision", decision))
    assert (decided["planted"], decided["delivery"], decided["execution"]) == (True, "none", "none")
    assert "digest" not in decided["decision"] or not decided["decision"]["digest"]


def test_keys_and_others_plant_none(workspace, agent, admin, api, viewer, stranger):
    refused(admin.post("planted-calls", CALL), 403)
    for one in (api, viewer):
        refused(one.post("planted-calls", CALL), 403)
    zoe = person(workspace, Role.ADMIN, "Zoe")
    lost = zoe.post("/api/v1/planted-calls", CALL | {"agent": "Nobody"}, content_type="application/json")
    assert pointers(refused(lost, 422)) == {"/agent"}
    assert not Approval.objects.exists()


@pytest.mark.usefixtures("document_storage")
def test_no_key_of_an_agent_sees_a_planted_call(workspace, agent):
    person(workspace, Role.ADMIN, "Ada").post("/api/v1/planted-calls", CALL, content_type="application/json")
    _, secret = api_keys.create_api_key(workspace, "robot", Role.AGENT, by=audit.SYSTEM, agent=agent)
    robot = Api(secret)
    assert robot.all("approvals") == robot.all("sessions") == []
    refused(robot.get(f"sessions/{Approval.objects.get().session_id}"), 404)
    refused(robot.get(f"approvals/{Approval.objects.get().pk}"), 404)


def test_a_planted_call_costs_nothing(workspace, agent, viewer):
    before = ok(viewer.get("usage"))
    person(workspace, Role.ADMIN, "Ada").post("/api/v1/planted-calls", CALL, content_type="application/json")
    assert ok(viewer.get("usage"))["total"] == before["total"]
