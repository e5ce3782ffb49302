"""Secrets under Settings: entered by admins, shown to nobody, with who set them and which agents use them."""

from __future__ import annotations

import pytest
from django.db import connection

from sessions_app.models import AuditEntry, Secret
from sessions_app.services import agents, audit, secrets
from tests.html import on_one_line

from ..build import words

VALUE, OTHER = "Bearer tok-123456", "Bearer tok-654321"
ENTERED = {"name": "crm", "origin": "https://mcp.example.com/path", "value": VALUE}


def page(client) -> str:
    return client.get("/settings/").content.decode()


def trail() -> list[tuple[str, dict]]:
    found = AuditEntry.objects.filter(action__startswith="secret.").order_by("seq")
    return list(found.values_list("action", "details"))


def test_a_secret_is_added_and_never_shown_again(admin):
    answer = admin.post("/settings/secrets/", ENTERED, follow=True)
    assert '"crm" is kept, for https://mcp.example.com alone' in words(answer)
    assert "by Ada" in words(answer) and "no agent" in words(answer)
    assert secrets.value_for(Secret.objects.get().workspace_id, "crm", "https://mcp.example.com") == VALUE
    assert "tok-123456" not in answer.content.decode() + page(admin)
    assert trail() == [("secret.kept", {"name": "crm", "origin": "https://mcp.example.com"})]


def test_the_page_says_which_agents_use_it(admin, workspace):
    tools = [{"type": "mcp", "server": "crm", "url": "https://mcp.example.com", "headers_secret": {"X-Key": "crm"}}]
    agents.create(workspace.id, "Clerk", by=audit.COMMAND, runtime="local", tools=tools)
    admin.post("/settings/secrets/", ENTERED)
    assert '<a href="/agents/clerk/">Clerk</a>' in on_one_line(page(admin))


def test_secret_is_replaced_for_the_same_origin(admin):
    admin.post("/settings/secrets/", ENTERED)
    secret = Secret.objects.get()
    answer = admin.post(f"/settings/secrets/{secret.pk}/replace/", {"value": OTHER}, follow=True)
    secret.refresh_from_db()
    assert (secret.value, secret.origin) == (OTHER, "https://mcp.example.com")
    assert "tok-654321" not in answer.content.decode()
    assert [action for action, _ in trail()] == ["secret.kept", "secret.replaced"]


def test_secret_is_removed(admin):
    admin.post("/settings/secrets/", ENTERED)
    admin.post(f"/settings/secrets/{Secret.objects.get().pk}/remove/")
    assert not Secret.objects.exists()
    assert trail()[-1] == ("secret.forgotten", {"name": "crm"})


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "c r m"}, "is no name for a secret"),
        ({"origin": "mcp.example.com"}, "is no origin; use https://HOST"),
        ({"value": "tok-123456\nX: y"}, "printable ASCII"),
        ({"value": "tok-123456\0"}, "Null characters are not allowed"),
        ({"name": secrets.PROVIDER_KEY}, "it is sent to https://api.anthropic.com alone"),
        ({}, 'there is a secret "crm" already'),
    ],
)
def test_invalid_secret_is_refused_without_showing_its_value(admin, workspace, changed, says):
    secrets.store_secret(workspace.id, "crm", OTHER, "https://mcp.example.com", by=audit.COMMAND)
    answer = admin.post("/settings/secrets/", ENTERED | changed)
    assert answer.status_code == 422
    assert says in words(answer)
    assert "tok-123456" not in answer.content.decode()
    assert Secret.objects.get().value == OTHER


def test_a_replacement_that_cannot_be_kept_changes_nothing(admin, workspace):
    secret = secrets.store_secret(workspace.id, "crm", VALUE, "https://mcp.example.com", by=audit.COMMAND)
    for value in ("", "tok\u00e9"):
        assert admin.post(f"/settings/secrets/{secret.pk}/replace/", {"value": value}).status_code == 422
    assert Secret.objects.get().value == VALUE


def test_reviewers_do_not_see_secrets(admin, reviewer):
    admin.post("/settings/secrets/", ENTERED)
    assert "mcp.example.com" not in page(reviewer) and "Key of the Anthropic API" not in page(reviewer)


def test_secret_encrypted_with_a_lost_key_is_listed_and_replaceable(admin):
    admin.post("/settings/secrets/", ENTERED)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_secret SET value = 'sealed with another key'")
    assert "cannot be read any more: enter it again" in page(admin)
    secret = Secret.objects.defer("value").get()
    assert admin.post(f"/settings/secrets/{secret.pk}/replace/", {"value": OTHER}).status_code == 302
    assert Secret.objects.get().value == OTHER
    assert "cannot be read any more" not in page(admin)


def test_the_workspace_has_a_key_of_its_own_for_the_model(admin, workspace, settings):
    settings.ANTHROPIC_API_KEY = None
    assert "take no turns here until you enter one" in words(admin.get("/settings/"))
    settings.ANTHROPIC_API_KEY = "sk-ant-of-the-server"
    assert "use the key of this installation" in words(admin.get("/settings/"))
    answer = admin.post("/settings/secrets/anthropic/", {"value": " sk-ant-of-ours "}, follow=True)
    assert "This workspace has a key of its own" in words(answer)
    assert "sk-ant-of" not in answer.content.decode()
    assert secrets.provider_key(workspace.id) == "sk-ant-of-ours"
    admin.post(f"/settings/secrets/{Secret.objects.get().pk}/remove/")
    assert secrets.provider_key(workspace.id) == "sk-ant-of-the-server"


def test_an_empty_key_is_refused_where_it_was_entered(admin):
    answer = admin.post("/settings/secrets/anthropic/", {"value": " "})
    assert answer.status_code == 422
    assert "Enter it: nothing was changed." in words(answer)
