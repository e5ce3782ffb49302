"""Secrets of a workspace: encrypted, bound to one origin, never shown."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from sessions_app.models import AuditEntry, Secret
from sessions_app.services import audit, secrets, workspaces

pytestmark = pytest.mark.django_db
BY = audit.Actor("member", "m", "Ines")


def test_a_secret_is_encrypted_at_rest_and_in_no_audit_entry(workspace):
    secrets.store_secret(workspace.id, "crm", "Bearer tok-123456", "https://MCP.example.com:443/mcp", by=BY)
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM sessions_app_secret")
        assert "tok-123456" not in cursor.fetchone()[0]
    assert secrets.value_for(workspace.id, "crm", "https://mcp.example.com/other") == "Bearer tok-123456"
    assert "tok-123456" not in str(list(AuditEntry.objects.values()))


def test_storing_a_secret_again_replaces_it(workspace):
    secrets.store_secret(workspace.id, "crm", "one-1234", "https://a.example", by=BY)
    secrets.store_secret(workspace.id, "crm", "two-1234", "https://b.example", by=BY)
    assert Secret.objects.get().origin == "https://b.example"
    assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True)) == [
        "secret.kept",
        "secret.replaced",
    ]


@pytest.mark.parametrize(
    "url", ["http://mcp.example.com/", "https://mcp.example.com:8443/", "https://mcp.example.com.evil.example/",
            "https://mcp.example.com@evil.example/", "https://evil.example/mcp.example.com"],
)  # fmt: skip
def test_secret_is_sent_to_no_other_origin(workspace, url):
    secrets.store_secret(workspace.id, "crm", "tok-123456", "https://mcp.example.com", by=BY)
    with pytest.raises(secrets.Refused, match="is for https://mcp.example.com and is not sent to") as refused:
        secrets.value_for(workspace.id, "crm", url)
    assert "tok-123456" not in str(refused.value)


def test_secret_of_one_workspace_is_not_found_in_another(workspace):
    secrets.store_secret(workspace.id, "crm", "tok-123456", "https://a.example", by=BY)
    other = workspaces.create_workspace("other")
    with pytest.raises(secrets.Refused, match='there is no secret "crm"'):
        secrets.value_for(other.id, "crm", "https://a.example")


@pytest.mark.parametrize(
    ("name", "value", "origin"),
    [
        ("", "v", "https://a.example"),
        ("a b", "v", "https://a.example"),
        ("a", "", "https://a.example"),
        ("a", "two\nlines", "https://a.example"),
        ("a", "ümlaut", "https://a.example"),
        ("a", "v", "ftp://a.example"),
        ("a", "v", "https://"),
        ("a", "v", "https://a:99999"),
    ],
)
def test_invalid_header_values_and_origins_are_refused(workspace, name, value, origin):
    with pytest.raises(secrets.Refused):
        secrets.store_secret(workspace.id, name, value, origin, by=BY)


def test_the_command_reads_the_value_from_standard_input_and_never_shows_it(workspace, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("Bearer tok-123456\n"))
    call_command("secret", "set", "crm", "--origin", "https://a.example")
    out = io.StringIO()
    call_command("secret", "list", stdout=out)
    assert out.getvalue() == "crm  https://a.example\n"
    call_command("secret", "delete", "crm")
    assert not Secret.objects.exists()
    with pytest.raises(CommandError, match='there is no secret "crm"'):
        call_command("secret", "delete", "crm")


def test_a_workspace_asks_anthropic_with_its_own_key_and_its_neighbour_with_the_installations(workspace, settings):
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "sk-of-all-1234", None
    neighbour = workspaces.create_workspace("neighbour", "Neighbour")
    secrets.store_secret(workspace.id, secrets.PROVIDER_KEY, "sk-of-ours-1234", "https://api.anthropic.com", by=BY)
    assert (secrets.provider_key(workspace.id), secrets.provider_key(neighbour.id)) == (
        "sk-of-ours-1234",
        "sk-of-all-1234",
    )


def test_a_key_is_not_sent_to_another_place_nor_replaced_by_somebody_elses(workspace, settings):
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "sk-of-all-1234", None
    secrets.store_secret(workspace.id, secrets.PROVIDER_KEY, "sk-of-ours-1234", "https://api.anthropic.com", by=BY)
    settings.ANTHROPIC_BASE_URL = "https://gateway.example/anthropic"
    with pytest.raises(secrets.Refused, match="is for https://api.anthropic.com and is not sent to"):
        secrets.provider_key(workspace.id)


def test_workspaces_with_a_key(workspace, settings):
    workspaces.create_workspace("neighbour", "Neighbour")
    settings.ANTHROPIC_API_KEY = None
    assert list(secrets.workspaces_with_provider_key()) == []
    secrets.store_secret(workspace.id, secrets.PROVIDER_KEY, "sk-of-ours-1234", secrets.provider_origin(), by=BY)
    assert list(secrets.workspaces_with_provider_key()) == [workspace]
    settings.ANTHROPIC_API_KEY = "sk-of-all-1234"
    assert secrets.workspaces_with_provider_key().count() == 2
