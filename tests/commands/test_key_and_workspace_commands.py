"""``apikey create``, ``workspace create``: what they print, and with which exit status they refuse."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import ApiKey, AuditEntry, Role, Workspace
from sessions_app.services.people import api_keys


def test_a_key_is_printed_once_and_works(db, capsys):
    call_command("apikey", "create", "--name", "CI", "--role", "reviewer")
    printed = capsys.readouterr().out
    assert printed.startswith("cs_")
    assert printed.count("\n") == 1
    key = api_keys.find_api_key(printed.strip())
    assert (key.name, key.role, key.workspace.slug) == ("CI", Role.REVIEWER, "default")
    assert printed.strip() not in str(ApiKey.objects.values().get())


def test_a_key_belongs_to_the_workspace_that_was_named(db, capsys):
    call_command("workspace", "create", "north", "--name", "North")
    call_command("apikey", "create", "--name", "CI", "--role", "viewer", "--workspace", "north")
    secret = capsys.readouterr().out.splitlines()[-1]
    assert api_keys.find_api_key(secret).workspace.name == "North"


@pytest.mark.parametrize(
    "arguments",
    [
        ["create", "--name", "CI", "--role", "king"],
        ["create", "--role", "admin"],
        ["create", "--name", " ", "--role", "admin"],
        ["create", "--name", "x" * 101, "--role", "admin"],
        ["create", "--name", "CI", "--role", "admin", "--workspace", "nowhere"],
        [],
    ],
)
def test_a_key_that_cannot_be_is_refused(db, arguments):
    with pytest.raises(CommandError):
        call_command("apikey", *arguments)
    assert not ApiKey.objects.exists()


def test_a_workspace_is_made_once(db, capsys):
    call_command("workspace", "create", "north")
    assert "north" in capsys.readouterr().out
    assert Workspace.objects.get(slug="north").name == "north"
    assert AuditEntry.objects.filter(workspace__slug="north", action="workspace.created", actor_kind="command").exists()
    with pytest.raises(CommandError, match="already"):
        call_command("workspace", "create", "north")


@pytest.mark.parametrize("slug", ["no rth", "nörth", "../north", "", "x" * 51])
def test_a_slug_is_letters_digits_and_dashes(db, slug):
    with pytest.raises(CommandError):
        call_command("workspace", "create", slug)
