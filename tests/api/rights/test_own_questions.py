"""Nobody decides what they asked themselves, by whatever way they come."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from sessions_app.models import Approval, Member, Role
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.people import api_keys
from tests.views.build import words

from ..client import Api, ok, refused

TOOL = {"name": "refund", "arguments": {"order": 4711}}


def ask(api, session):
    return ok(api.post("approvals", {"session_id": str(session.id), "tool": TOOL}), 201)


def decide(api, asked, verdict="approve"):
    body = {"verdict": verdict, "version": asked["version"], "digest": asked["digest"]}
    return api.post(f"approvals/{asked['id']}/decision", body)


class Browser(Api):
    """The API with the browser session of a member."""

    def __init__(self, member: Member) -> None:
        super().__init__(None)
        self.client = Client(raise_request_exception=False)
        self.client.force_login(member.user)


@pytest.fixture
def ada(workspace) -> Member:
    user = get_user_model().objects.create_user("ada@example.org", first_name="Ada")
    return Member.objects.create(workspace=workspace, user=user, role=Role.ADMIN)


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.ADMIN])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_no_key_decides_what_it_asked_itself_whatever_its_role(workspace, key_for, session, role, verdict):
    key = key_for(workspace, role)
    asked = ask(key, session)
    assert "asked for this itself" in refused(decide(key, asked, verdict), 403)["detail"]
    assert Approval.objects.get().status == "pending"
    assert ok(decide(key_for(workspace, role, "another"), asked, verdict))["status"] != "pending"


def test_a_key_that_asked_in_a_session_of_its_own_making_decides_neither(api):
    asked = ok(api.post("approvals", {"agent": "A", "tool": TOOL}), 201)
    refused(decide(api, asked), 403)


def test_no_member_decides_what_they_asked_themselves(workspace, session, ada, key_for):
    browser = Browser(ada)
    asked = ask(browser, session)
    assert "you asked for this yourself" in refused(decide(browser, asked), 403)["detail"]
    page = browser.client.get(f"/approvals/{asked['id']}/")
    assert "somebody else has to decide it" in words(page) and 'name="verdict"' not in page.content.decode()
    form = {"verdict": "approve", "version": 1, "digest": asked["digest"]}
    answer = browser.client.post(f"/approvals/{asked['id']}/decision", form)
    assert answer.status_code == 403 and "you asked for this yourself" in words(answer)
    assert Approval.objects.get().status == "pending"
    assert ok(decide(key_for(workspace), asked))["status"] == "approved"


def test_nor_by_a_key_that_they_made(workspace, session, ada):
    _, secret = api_keys.create_api_key(workspace, "hers", Role.ADMIN, by=audit.Actor("member", str(ada.pk), "Ada"))
    asked = ask(Browser(ada), session)
    assert "who made this key" in refused(decide(Api(secret), asked), 403)["detail"]


def test_nor_after_having_been_removed_and_added_again(workspace, session, ada):
    asked = ask(Browser(ada), session)
    user = ada.user
    ada.delete()
    again = Member.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    refused(decide(Browser(again), asked), 403)


def test_what_a_key_asked_its_maker_decides(workspace, session, ada):
    _, secret = api_keys.create_api_key(workspace, "robot", Role.AGENT, by=audit.Actor("member", str(ada.pk), "Ada"))
    asked = ok(Api(secret).post("approvals", {"agent": "A", "tool": TOOL}), 201)
    assert ok(decide(Browser(ada), asked))["status"] == "approved"


def test_what_an_agent_that_runs_here_asks_everybody_may_decide(session, api, ada):
    for decider in (api, Browser(ada)):
        asked = requests.request(session, requests.Question("refund", {}), by=audit.Actor("agent", "", "Parrot"))
        shown = json.loads(decider.get(f"approvals/{asked.pk}").content)
        assert ok(decide(decider, shown))["status"] == "approved"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"context": "other"}, "context"),
        ({"context": None}, "context"),
        ({"risk": "low"}, "risk"),
        ({"expires_in": 61}, "expires_in"),
        ({"expires_in": None}, "expires_in"),
        ({"tool": {"name": "pay", "arguments": {"order": 4711}}}, "tool.name"),
        ({"tool": {**TOOL, "server": "shop"}}, "tool.server"),
        ({"tool": {"name": "refund", "arguments": {"order": 1}}}, "tool.arguments"),
    ],
)
@pytest.mark.parametrize("where", ["session", "agent"])
def test_a_client_id_that_comes_again_with_anything_else_is_a_conflict_that_names_it(api, session, where, change, name):
    place = {"session_id": str(session.id)} if where == "session" else {"agent": "Night shift"}
    first = place | {"client_id": "c1", "tool": TOOL, "context": "why", "risk": "high", "expires_in": 60}
    asked = ok(api.post("approvals", first), 201)
    assert ok(api.post("approvals", first), 201) == asked
    assert name in refused(api.post("approvals", first | change), 409)["detail"]
    assert Approval.objects.get().context == "why"


def test_an_idempotency_key_of_another_caller_is_a_request_of_its_own(workspace, key_for, api, ada):
    header = {"Idempotency-Key": "k-1"}
    body = {"agent": "A", "tool": TOOL}
    first = ok(api.post("approvals", body, **header), 201)
    second = ok(key_for(workspace, Role.REVIEWER, "other").post("approvals", body, **header), 201)
    third = ok(Browser(ada).post("approvals", body, **header), 201)
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert [first["requested_by"], second["requested_by"], third["requested_by"]] == ["reviewer key", "other", "Ada"]
    assert ok(api.post("approvals", body, **header), 201) == first
