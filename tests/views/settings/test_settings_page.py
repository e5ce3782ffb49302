"""Members, keys and the workspace: changed by admins, secrets shown once, everything in the audit log."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from sessions_app.models import ApiKey, AuditEntry, Member, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members
from vcon_app.services.trust import own_keys
from vcon_app.signing.keys import fingerprint

from ..build import words


def the_member(name: str) -> Member:
    return Member.objects.get(user__first_name=name)


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("seq").values_list("action", flat=True))


def test_an_invited_member_comes_in_by_the_link_that_is_shown_once(admin):
    answer = admin.post(
        "/settings/members/", {"name": "Kim", "email": "kim@example.org", "role": "reviewer"}, follow=True
    )
    path = re.search(r"http://testserver(/sign-in/[^<]+/)", answer.content.decode())[1]
    assert answer.headers["Cache-Control"] == "no-store"
    assert path not in admin.get("/settings/").content.decode()
    guest = Client()
    guest.post(path)
    assert "You are reviewer in Default" in words(guest.get("/settings/"))
    assert actions()[-1] == "member.added"


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"name": "Kim", "email": "kim", "role": "viewer"}, "Enter a valid email address"),
        ({"name": "", "email": "kim@example.org", "role": "viewer"}, "Name: This field is required"),
        ({"name": "Kim", "email": "kim@example.org", "role": "emperor"}, "Select a valid choice"),
        ({"name": "Kim\0", "email": "kim@example.org", "role": "viewer"}, "Null characters are not allowed"),
        ({"name": "Ada", "email": "ADA@example.org", "role": "viewer"}, "is a member of this workspace already"),
    ],
)
def test_a_form_that_is_wrong_says_so_and_keeps_what_was_typed(admin, form, says):
    answer = admin.post("/settings/members/", form)
    assert answer.status_code == 422
    assert says in words(answer)
    assert form["email"] in answer.content.decode()


def test_a_lost_link_is_replaced_and_the_old_one_ends(admin, viewer):
    member = the_member("Vito")
    old = members.make_sign_in_link(member, by=audit.COMMAND).path
    answer = admin.post(f"/settings/members/{member.id}/link/", follow=True)
    new = re.search(r"http://testserver(/sign-in/[^<]+/)", answer.content.decode())[1]
    assert Client().get(old).status_code == 410
    assert Client().get(new).status_code == 200


def test_a_role_changes(admin, viewer):
    admin.post(f"/settings/members/{the_member('Vito').id}/role/", {"role": "reviewer"})
    assert the_member("Vito").role == Role.REVIEWER
    assert "Vito is reviewer now" in words(admin.get("/settings/"))


def test_a_role_that_there_is_not_is_refused(admin, viewer):
    assert admin.post(f"/settings/members/{the_member('Vito').id}/role/", {"role": "x"}).status_code == 422
    assert the_member("Vito").role == Role.VIEWER


@pytest.mark.parametrize("what", ["role", "remove"])
def test_the_last_admin_stays(admin, what):
    Member.objects.exclude(user__first_name="Ada").delete()
    admin.post(f"/settings/members/{the_member('Ada').id}/{what}/", {"role": "viewer"})
    assert the_member("Ada").role == Role.ADMIN
    assert "only admin of this workspace" in words(admin.get("/settings/"))


def test_a_member_is_removed(admin, viewer):
    admin.post(f"/settings/members/{the_member('Vito').id}/remove/")
    assert not Member.objects.filter(user__first_name="Vito").exists()
    assert actions()[-1] == "member.removed"


def test_a_key_is_shown_once_and_works_until_it_is_revoked(admin):
    answer = admin.post("/settings/keys/", {"name": "robot", "role": "reviewer"}, follow=True)
    assert answer.redirect_chain == [("/settings/#keys", 302)], "a reload makes no other key"
    assert answer.headers["Cache-Control"] == "no-store"
    secret = re.search(r'id="secret">(cs_[^<]+)<', answer.content.decode())[1]
    assert f"Authorization: Bearer {secret}" in words(answer).replace("&quot;", '"')
    assert secret not in admin.get("/settings/").content.decode()
    assert api_keys.find_api_key(secret).name == "robot"
    admin.post(f"/settings/keys/{ApiKey.objects.get().id}/revoke/")
    assert api_keys.find_api_key(secret) is None
    assert "Revoked" in words(admin.get("/settings/"))
    assert actions()[-2:] == ["api_key.created", "api_key.revoked"]


@pytest.mark.parametrize(
    ("page", "action", "section"),
    [
        ("/settings/", "/settings/keys/", "keys"), ("/settings/", "/settings/members/", "members"),
        ("/settings/", "/settings/secrets/", "secrets"), ("/settings/", "/settings/trust/", "trust"),
        ("/usage/wallets/", "/usage/budgets/", "budgets"),
    ],
)  # fmt: skip
def test_what_a_form_answers_is_in_sight_where_the_page_is_long(admin, page, action, section):
    shown = admin.get(page).content.decode()
    assert f'action="{action}#{section}"' in shown and f'id="{section}"' in shown


def test_no_name_that_a_person_gave_hides_anything_or_turns_a_page_round(admin, workspace):
    odd = "Ines\u202e\u200b approved"
    Workspace.objects.update(name=odd)
    get_user_model().objects.update(first_name=odd)
    api_keys.create_api_key(workspace, odd, Role.AGENT, by=audit.COMMAND)
    for path in ("/", "/settings/", "/audit/"):
        html = re.sub(r' value="[^"]*"', "", admin.get(path).content.decode())  # fields hold what is stored
        assert "Ines⟨U+202E⟩⟨U+200B⟩ approved" in html, path
        assert not [odd for odd in "\u202e\u200b" if odd in html], path


def test_the_workspace_gets_another_name(admin, workspace):
    admin.post("/settings/workspace/", {"name": "Claims <b>desk</b>"})
    page = admin.get("/settings/")
    assert "Claims <b>desk</b>" in words(page)
    assert "<b>desk" not in page.content.decode()
    assert admin.post("/settings/workspace/", {"name": " "}).status_code == 422


@pytest.mark.parametrize("path", ["members/", "keys/", "workspace/", "workspace/switch/"])
def test_nothing_changes_by_a_get(admin, path):
    assert admin.get(f"/settings/{path}").status_code == 405


def test_a_form_from_another_site_is_refused(admin):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(the_member("Ada").user)
    answer = strict.post("/settings/keys/", {"name": "robot", "role": "admin"})
    assert answer.status_code == 403
    assert "This page has expired" in words(answer)
    assert not ApiKey.objects.exists()


def test_the_public_half_of_our_key_is_there_for_others_to_pin(viewer, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    ours = own_keys.signer()
    page = viewer.get("/settings/").content.decode()
    assert fingerprint(ours.key.public_key()) in page and ours.public_pem.decode() in page
    assert "PRIVATE KEY" not in page


def test_a_key_that_cannot_be_used_is_reported(admin, settings, tmp_path):
    settings.SIGNING_KEY = tmp_path / "own.key"
    settings.SIGNING_KEY.write_text("nonsense")
    assert "The key that exports are signed with cannot be used" in words(admin.get("/settings/"))


def test_the_address_of_a_forms_answer_that_is_opened_again_is_a_page(admin):
    """A key that was just made stands on a page of its own; from the history its address came as an empty one."""
    answer = admin.get("/settings/keys/", headers={"Accept": "text/html,*/*"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "There is nothing to open here This address only takes what a form sends: opening it" in words(answer)
    assert 'href="/settings/"' in answer.content.decode(), "with the way to the other pages"
    assert admin.get("/settings/keys/").content == b"", "a program asks for no page"
    assert Client().get("/settings/keys/", headers={"Accept": "text/html"}).status_code == 405
