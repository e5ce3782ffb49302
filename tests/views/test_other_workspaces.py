"""Charlie works elsewhere: what is not his is not there for him."""

from __future__ import annotations

import pytest

from sessions_app.models import ApiKey, Member, Role, Secret
from sessions_app.services import audit, secrets
from sessions_app.services.people import api_keys
from vcon_app.services.imports import import_jobs

from .build import ASKER, TRANSCRIPT, asks, session_of, words
from .conftest import member_of


@pytest.fixture
def ours(workspace, agent) -> dict[str, str]:
    """Addresses of things in our workspace."""
    session = session_of(agent, title="Hush refund")
    approval = asks(session, tool="hush_tool")
    imported = import_jobs.start_import(workspace, "hush.json", [TRANSCRIPT], by=ASKER)
    key, _ = api_keys.create_api_key(workspace, "hush key", Role.VIEWER, by=audit.COMMAND)
    member = member_of(workspace, Role.VIEWER, "Hushpuppy")
    secret = secrets.store_secret(workspace.id, "hush-token", "tok-123456", "https://mcp.example.com", by=audit.COMMAND)
    return {
        "session": f"/dashboard/sub-agents/{agent.id}/chat/{session.id}",
        "agent": f"/agents/{agent.slug}/",
        "approval": f"/approvals/{approval.id}/",
        "import": f"/imports/{imported.id}/",
        "document": f"/imports/{imported.id}/document",
        "key": f"/settings/keys/{key.id}/revoke/",
        "secret": f"/settings/secrets/{secret.id}/replace/",
        "no secret": f"/settings/secrets/{secret.id}/remove/",
        "role": f"/settings/members/{member.id}/role/",
        "link": f"/settings/members/{member.id}/link/",
        "remove": f"/settings/members/{member.id}/remove/",
    }


@pytest.mark.parametrize("what", ["session", "agent", "approval", "import", "document"])
def test_their_page_is_not_found(charlie, reviewer, ours, what):
    assert reviewer.get(ours[what]).status_code == 200
    answer = charlie.get(ours[what])
    assert answer.status_code == 404
    assert "hush" not in words(answer).lower()


def test_who_is_in_both_is_led_from_a_page_that_is_not_there_to_where_it_is(charlie, reviewer, ours, workspace):
    assert "You are in others, too" not in words(charlie.get(ours["approval"]))
    user = Member.objects.get(user__first_name="Charlie").user
    Member.objects.create(workspace=workspace, user=user, role=Role.VIEWER)
    path = f"{ours['approval']}?place=alone"
    page = charlie.get(path)
    assert page.status_code == 404 and "looked for in Elsewhere" in words(page) and "Look in Default" in words(page)
    assert f'name="next" value="{path}"' in page.content.decode() and "hush" not in words(page).lower()
    led = charlie.post("/settings/workspace/switch/", {"workspace": str(workspace.pk), "next": path})
    assert led.url == path and "hush" in words(charlie.get(path))
    away = charlie.post("/settings/workspace/switch/", {"workspace": str(workspace.pk), "next": "//evil.example/"})
    assert away.url == "/"


@pytest.mark.parametrize("what", ["key", "secret", "no secret", "role", "link", "remove"])
def test_an_admin_of_another_workspace_changes_nothing_here(charlie, ours, what):
    assert charlie.post(ours[what], {"role": "admin", "value": "other"}).status_code == 404
    assert Secret.objects.get(name="hush-token").value == "tok-123456"
    assert ApiKey.objects.get(name="hush key").revoked_at is None
    assert Member.objects.get(user__first_name="Hushpuppy").role == Role.VIEWER


@pytest.mark.parametrize("path", ["/", "/sessions/", "/agents/", "/approvals/", "/imports/", "/settings/", "/audit/"])
def test_no_list_shows_what_is_theirs(charlie, ours, path):
    assert "hush" not in words(charlie.get(path)).lower()


def test_importing_for_an_agent_of_another_workspace_is_not_found(charlie, agent):
    assert charlie.post("/imports/", {"file": "", "agent": agent.slug}).status_code in (404, 422)


def test_somebody_in_two_workspaces_switches_between_them(admin, workspace, elsewhere):
    ada = Member.objects.get(user__first_name="Ada", workspace=workspace)
    other = Member.objects.get_or_create(workspace=elsewhere, user=ada.user, defaults={"role": Role.VIEWER})[0]
    assert admin.post("/settings/workspace/switch/", {"workspace": str(elsewhere.id)}).url == "/"
    assert "Elsewhere" in words(admin.get("/settings/"))
    other.delete()
    assert "Default" in words(admin.get("/settings/")), "without the membership the first workspace is back"


def test_nobody_switches_to_a_workspace_they_are_not_in(reviewer, elsewhere):
    for wanted in (str(elsewhere.id), "nonsense", ""):
        reviewer.post("/settings/workspace/switch/", {"workspace": wanted})
        assert "Default" in words(reviewer.get("/settings/"))


def test_an_invitation_does_not_open_somebody_elses_workspace(charlie, workspace, elsewhere):
    member_of(workspace, Role.ADMIN, "Ada")
    answer = charlie.post(
        "/settings/members/", {"name": "Ada", "email": "ada@example.org", "role": "viewer"}, follow=True
    )
    assert "has an account already and is invited" in words(answer)
    assert "http://testserver/sign-in/" not in answer.content.decode()
    assert not Member.objects.filter(workspace=elsewhere, user__first_name="Ada").exists()
    ada = Member.objects.get(workspace=workspace, user__first_name="Ada")
    Member.objects.create(workspace=elsewhere, user=ada.user, role=Role.VIEWER)  # as by accepting
    charlie.post(f"/settings/members/{Member.objects.get(workspace=elsewhere, user=ada.user).id}/link/")
    assert "belongs to another workspace too" in words(charlie.get("/settings/"))
