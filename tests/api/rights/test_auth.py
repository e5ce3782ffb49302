"""Who may do what: 401 without a way in, 403 when the role is too low, 404 for what is another workspace's."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from sessions_app.models import Member, Role, Session
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.people import api_keys

from ..client import Api, ok, refused


@pytest.fixture
def asked(session):
    return requests.request(session, requests.Question("refund", {"amount": 4}), by=audit.COMMAND)


def reads(session, asked):
    seed = f"/dashboard/agents/{session.agent_id}/sessions"
    return [
        "agents",
        f"agents/{session.agent_id}",
        "sessions",
        f"sessions/{session.id}",
        f"sessions/{session.id}/turns",
        f"sessions/{session.id}/events",
        "approvals",
        f"approvals/{asked.id}",
        "usage",
        "imports",
        seed,
        f"{seed}/{session.id}",
        f"{seed}/{session.id}/events",
        f"{seed}/{session.id}/queue",
    ]


def writes(session, asked):
    seed = f"/dashboard/agents/{session.agent_id}/sessions"
    return [
        "agents",
        f"sessions/{session.id}/events",
        "approvals",
        f"approvals/{asked.id}/decision",
        seed,
        f"{seed}/{session.id}/messages",
        f"{seed}/{session.id}/interrupt",
        f"{seed}/{session.id}/archive",
        f"{seed}/{session.id}/go-on",
        f"{seed}/{session.id}/retry",
        "imports",
    ]


@pytest.mark.parametrize("key", [None, "cs_none_of_ours", "", "\xe9\xff"])
def test_nothing_is_told_without_a_key(session, asked, key):
    nobody = Api(key)
    for path in reads(session, asked):
        answer = nobody.get(path)
        refused(answer, 401)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    for path in writes(session, asked):
        refused(nobody.post(path), 401)


def test_a_scheme_other_than_bearer_is_refused(api):
    refused(Api(None).get("agents", Authorization="Basic Y3M6Y3M="), 401)


def test_a_revoked_key_does_not_work_any_more(workspace, key_for):
    leaver = key_for(workspace)
    ok(leaver.get("agents"))
    api_keys.revoke_api_key(api_keys.find_api_key(leaver.key), by=audit.COMMAND)
    refused(leaver.get("agents"), 401)


def test_a_viewer_reads_everything_but_the_audit_log(viewer, session, asked):
    for path in reads(session, asked):
        ok(viewer.get(path))
    refused(viewer.get("audit"), 403)


def test_a_viewer_writes_nothing_whatever_the_body(viewer, session, asked):
    for path in writes(session, asked):
        refused(viewer.post(path, {}), 403)
    refused(viewer.patch(f"agents/{session.agent_id}", {"name": "Other"}), 403)
    assert Session.objects.get().status == "idle"


def test_a_reviewer_does_not_read_the_audit_log(api, admin):
    refused(api.get("audit"), 403)
    assert ok(admin.get("audit"))["items"]


@pytest.mark.parametrize("role", Role.values)
def test_a_stranger_is_told_404_and_never_403(session, asked, other_workspace, key_for, role):
    stranger = key_for(other_workspace, Role(role))
    for path in reads(session, asked):
        if "/" in path:
            refused(stranger.get(path), 404)
    for path in writes(session, asked):
        if "/" in path and path != "imports":
            body = {"verdict": "deny", "version": 1, "digest": asked.digest, "text": "hi", "events": []}
            refused(stranger.post(path, body), 404)
    assert ok(stranger.get("sessions"))["items"] == []
    assert ok(stranger.get("approvals"))["items"] == []


def test_a_session_is_not_found_under_another_agent(api, session, workspace):
    other = ok(api.post("agents", {"name": "Other"}), 201)["id"]
    refused(api.get(f"/dashboard/agents/{other}/sessions/{session.id}"), 404)
    refused(api.get(f"/dashboard/agents/{other}/sessions/{session.id}/events"), 404)


@pytest.mark.parametrize("id_", ["1", "nobody", "00000000-0000-7000-8000-000000000000", "%00", "..%2f.."])
def test_an_id_that_nobody_has_is_404(api, id_):
    for noun in ("agents", "sessions", "approvals", "imports"):
        refused(api.get(f"{noun}/{id_}"), 404)


@pytest.fixture
def browser(workspace):
    user = get_user_model().objects.create_user("ada@example.org", first_name="Ada")
    Member.objects.create(workspace=workspace, user=user, role=Role.REVIEWER)
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(user)
    return client


def test_a_browser_session_reads_what_its_member_may_read(browser, session):
    assert ok(browser.get("/api/v1/sessions"))["items"][0]["id"] == str(session.id)


def test_a_browser_session_writes_only_with_its_csrf_token(browser, agent):
    path = f"/dashboard/agents/{agent.id}/sessions"
    refused(browser.post(path, "{}", "application/json"), 403)
    browser.cookies["csrftoken"] = "a" * 32
    made = ok(browser.post(path, "{}", "application/json", headers={"X-CSRFToken": "a" * 32}), 201)
    assert made["origin"] == "chat"


def test_a_form_of_a_browser_is_refused_where_json_is_to_be_sent(browser, agent):
    """Its CSRF token is looked for in the form, too; then the body was read, and that was a fault of ours (500)."""
    browser.cookies["csrftoken"] = "a" * 32
    for path in ("/api/v1/agents", f"/dashboard/agents/{agent.id}/sessions"):
        answer = browser.post(path, {"name": "A"}, headers={"X-CSRFToken": "a" * 32})
        assert '"multipart/form-data"' in refused(answer, 415)["detail"]
    assert not Session.objects.exists()


def test_a_signed_in_person_without_a_workspace_gets_nowhere(browser):
    Member.objects.all().delete()
    refused(browser.get("/api/v1/sessions"), 403)


def test_a_member_decides_under_their_own_name(browser, asked):
    browser.cookies["csrftoken"] = "a" * 32
    decision = json.dumps({"verdict": "approve", "version": 1, "digest": asked.digest})
    decided = ok(
        browser.post(
            f"/api/v1/approvals/{asked.id}/decision", decision, "application/json", headers={"X-CSRFToken": "a" * 32}
        )
    )
    assert (decided["decision"]["by"], decided["decision"]["by_kind"], decided["votes"][0]["channel"]) == (
        "Ada",
        "member",
        "web",
    )


@pytest.mark.parametrize(
    ("path", "body", "noun"),
    [
        ("webhooks/{0}/deliveries/acknowledge", {"ids": ["01990000-0000-7000-8000-000000000000"]}, "webhook endpoint"),
        ("grants/{0}/revoke", {}, "grant"),
        ("reviews/queues/{0}/close", {}, "review queue"),
        ("stops/{0}/lift", {}, "stop"),
    ],
)
def test_what_nobody_has_is_called_the_same_whatever_role_asks(viewer, admin, path, body, noun):
    path = path.format("01990000-0000-7000-8000-000000000000")
    said = f"there is no such {noun} in this workspace"
    assert [refused(api.post(path, body), 404)["detail"] for api in (viewer, admin)] == [said, said]
