"""A viewer reads, a reviewer imports and decides, an admin changes settings; nobody else gets in."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from sessions_app.models import ApiKey, Member, Role, Secret
from vcon_app.models import Import

from .build import TRANSCRIPT, words

READ = [
    "/", "/sessions/", "/agents/", "/approvals/", "/imports/", "/usage/", "/usage/wallets/", "/usage/calls/",
    "/settings/", "/settings/policies/", "/settings/grants/",
]  # fmt: skip
CHANGE = [
    ("/settings/members/", {"name": "Kim", "email": "kim@example.org", "role": "viewer"}),
    ("/settings/keys/", {"name": "robot", "role": "admin"}),
    ("/settings/workspace/", {"name": "Mine"}),
    ("/settings/secrets/", {"name": "crm", "origin": "https://a.example", "value": "tok-123456"}),
    ("/settings/secrets/anthropic/", {"value": "sk-ant-123456"}),
    ("/demo/", {}),
]


@pytest.mark.parametrize("path", [*READ, "/audit/"])
def test_a_stranger_is_sent_to_the_sign_in(workspace, path):
    answer = Client().get(path)
    assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={path}")


@pytest.mark.parametrize("path", READ)
def test_a_viewer_reads_every_page(viewer, path):
    assert viewer.get(path).status_code == 200


@pytest.mark.parametrize(("path", "form"), CHANGE)
def test_only_an_admin_changes_settings(reviewer, workspace, path, form):
    before = (Member.objects.count(), ApiKey.objects.count(), Secret.objects.count(), workspace.name)
    answer = reviewer.post(path, form)
    assert answer.status_code == 403
    assert "This needs the role admin; you are reviewer" in words(answer)
    workspace.refresh_from_db()
    assert (Member.objects.count(), ApiKey.objects.count(), Secret.objects.count(), workspace.name) == before


def test_a_viewer_is_shown_no_form_that_they_may_not_send(viewer):
    assert "<form" not in viewer.get("/settings/").content.decode().split("<main", 1)[1].split("</main>")[0]
    assert "<form" not in viewer.get("/imports/").content.decode().split("<main", 1)[1].split("</main>")[0]


def test_a_viewer_cannot_import(viewer):
    answer = viewer.post("/imports/", {"file": SimpleUploadedFile("a.json", TRANSCRIPT)})
    assert answer.status_code == 403
    assert not Import.objects.exists()


def test_the_audit_log_is_for_admins(admin, reviewer):
    assert admin.get("/audit/").status_code == 200
    assert reviewer.get("/audit/").status_code == 403


def test_a_role_that_is_taken_away_is_gone_with_the_next_request(admin):
    Member.objects.filter(user__first_name="Ada").update(role=Role.VIEWER)
    assert admin.get("/audit/").status_code == 403


def test_a_member_who_was_removed_is_out_at_once(viewer):
    Member.objects.filter(user__first_name="Vito").delete()
    assert viewer.get("/").status_code == 403
