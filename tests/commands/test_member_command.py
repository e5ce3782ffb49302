"""`member link` lets in who can come in by no other way, and writes it down in each of their workspaces."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from sessions_app.models import AuditEntry, Member, PasswordOrigin, Role
from sessions_app.services import audit, workspaces
from sessions_app.services.people import members, sign_in_links


def test_the_link_opens_every_workspace_and_ends_what_an_admins_link_left(workspace):
    user = members.add_member(workspace, "kim@example.org", "Kim", Role.VIEWER, by=audit.Actor("member", "", "Ada"))[
        0
    ].user
    Member.objects.create(workspace=workspaces.create_workspace("other"), user=user, role=Role.VIEWER)
    sign_in_links.note_origin(user, "Ada", emailed=False)
    out = StringIO()
    call_command("member", "link", "Kim@example.org", stdout=out)
    client = Client()
    assert client.post(out.getvalue().strip()).url == "/sign-in/password/"
    client.post("/sign-in/password/", {"name": "Kim", "password": "seven quiet herons"})
    assert not PasswordOrigin.objects.exists()
    made = AuditEntry.objects.filter(action="member.link_made", actor_kind="command")
    assert made.values("workspace").distinct().count() == 2


def test_nobody_of_that_name_is_said(db):
    with pytest.raises(CommandError, match='nobody signs in as "x@example.org"'):
        call_command("member", "link", "x@example.org")
