"""Keys expire, say when they were used last, and are made on the command line and in the settings."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from sessions_app.models import Agent, ApiKey, AuditEntry, Role
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.views.build import words
from tests.views.conftest import member_of, signed_in

from ..client import Api, ok, refused


def test_an_expired_key_is_401_with_a_sentence(workspace):
    key, secret = api_keys.create_api_key(
        workspace, "short", Role.VIEWER, by=audit.COMMAND, expires_in=timedelta(days=1)
    )
    ok(Api(secret).get("sessions"))
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    answer = Api(secret).get("sessions")
    assert "this API key expired on 20" in refused(answer, 401)["detail"]
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("apikey", "create", *arguments, stdout=out)
    return out.getvalue().strip()


def test_the_command_makes_a_key_for_one_agent_that_expires(workspace):
    secret = command("--name", "robot", "--role", "agent", "--agent", "Refund agent", "--expires-in", "30")
    key = api_keys.find_api_key(secret)
    assert (key.role, key.agent.name) == ("agent", "Refund agent")
    assert timedelta(days=29) < key.expires_at - timezone.now() <= timedelta(days=30)
    asked = Api(secret).post("approvals", {"agent": "Refund agent", "tool": {"name": "t", "arguments": {}}})
    assert ok(asked, 201)["status"] == "pending"
    details = AuditEntry.objects.get(action="api_key.created").details
    assert (details["agent"], details["expires_at"]) == ("Refund agent", key.expires_at.isoformat())


@pytest.mark.parametrize("days", ["0", "-1", "x", "1.5", "99999", ""])
def test_a_number_of_days_that_is_none_is_refused(workspace, days):
    with pytest.raises(CommandError, match="is no number of days from 1 to 3650"):
        command("--name", "robot", "--role", "agent", f"--expires-in={days}")
    assert not ApiKey.objects.exists()


def test_the_settings_make_and_list_keys_with_expiry_last_use_and_agent(workspace, agent):
    browser = signed_in(member_of(workspace, Role.ADMIN, "Ada"))
    form = {"name": "robot", "role": "agent", "agent": str(agent.pk), "expires_in": "7"}
    answer = browser.post("/settings/keys/", form, follow=True)
    secret = re.search(r'id="secret">(cs_[^<]+)<', answer.content.decode())[1]
    key = ApiKey.objects.get()
    assert (key.agent, key.made_by.first_name) == (agent, "Ada")
    page = words(browser.get("/settings/"))
    assert "only for Refund agent" in page and "never used" in page
    assert f"{timezone.localtime(key.expires_at):%-d %b %Y}" in page
    ok(Api(secret).get("sessions"))
    assert "never used" not in words(browser.get("/settings/"))
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=2))
    assert "Expired" in words(browser.get("/settings/"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"expires_in": "0"}, "greater than or equal to 1"),
        ({"agent": "x"}, "Only for agent: "),
        ({"role": "x"}, "Role: "),
    ],
)
def test_a_wrong_key_form_makes_no_key(workspace, change, says):
    browser = signed_in(member_of(workspace, Role.ADMIN, "Ada"))
    answer = browser.post("/settings/keys/", {"name": "robot", "role": "agent"} | change)
    assert answer.status_code == 422 and says in words(answer)
    assert not ApiKey.objects.exists()


def test_an_agent_of_another_workspace_is_no_choice(workspace, other_workspace):
    theirs = Agent.objects.create(workspace=other_workspace, name="Theirs", slug="theirs")
    browser = signed_in(member_of(workspace, Role.ADMIN, "Ada"))
    answer = browser.post("/settings/keys/", {"name": "robot", "role": "agent", "agent": str(theirs.pk)})
    assert answer.status_code == 422 and "Theirs" not in answer.content.decode()
