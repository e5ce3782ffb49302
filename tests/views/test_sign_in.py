"""Coming in by a one-time link or a password, and going out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from sessions_app.models import Role, SignInLink
from sessions_app.services import audit
from sessions_app.services.people import members

from .build import words
from .conftest import member_of

PASSWORD = "seven quiet herons"


@pytest.fixture
def link(workspace) -> str:
    return members.one_time_link_for_first_admin()


def test_a_link_signs_in_once_only(link):
    first, second = Client(), Client()
    assert first.get(link).status_code == 200
    assert first.get("/").status_code == 302, "a link that is opened signs nobody in"
    assert first.post(link).url == "/sign-in/password/"
    assert first.get("/").status_code == 200
    assert second.get(link).status_code == 410
    again = second.post(link)
    assert again.status_code == 410
    assert "does not work any more" in words(again)
    assert second.get("/").status_code == 302


def test_a_program_that_previews_a_link_does_not_use_it_up(link):
    assert Client().head(link).status_code == 405
    assert Client().get(link).status_code == 200
    assert Client().post(link).status_code == 302


def test_an_old_link_does_not_work(link):
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(link).status_code == 410


def test_a_link_that_nobody_made_does_not_work(workspace):
    assert Client().get("/sign-in/%00%ff<script>/").status_code == 410


def test_after_the_first_link_a_password_is_chosen_and_works_from_then_on(link):
    client = Client()
    client.post(link)
    chosen = client.post("/sign-in/password/", {"name": "Ada", "email": "Ada@Example.org", "password": PASSWORD})
    assert chosen.url == "/"
    assert client.get("/").status_code == 200, "choosing a password does not sign out"
    other = Client()
    assert other.post("/sign-in/", {"email": "ada@example.ORG ", "password": PASSWORD}).url == "/"
    assert "Ada" in words(other.get("/"))


def test_member_with_a_password_is_not_asked_for_one_again(link):
    admin = get_user_model().objects.get()
    members.set_password(admin, "Ada", "ada@example.org", PASSWORD)
    assert Client().post(members.one_time_link_for_first_admin()).url == "/"


@pytest.mark.parametrize(
    ("password", "reason"),
    [("short", "too short"), ("password123", "too common"), ("1234567890", "too common")],
)
def test_a_weak_password_is_refused_with_its_reason(link, password, reason):
    client = Client()
    client.post(link)
    answer = client.post("/sign-in/password/", {"name": "Ada", "email": "ada@example.org", "password": password})
    assert answer.status_code == 422
    assert reason in words(answer)


def test_an_invited_member_cannot_take_the_e_mail_of_another(workspace):
    member = member_of(workspace, Role.VIEWER, "Vito")
    client = Client()
    client.post(members.make_sign_in_link(member, by=audit.COMMAND).path)
    client.post("/sign-in/password/", {"name": "Vito", "email": "boss@example.org", "password": PASSWORD})
    member.user.refresh_from_db()
    assert member.user.username == "vito@example.org"
    assert member.user.has_usable_password()


def test_changing_a_password_needs_the_one_until_now(workspace):
    user = member_of(workspace, Role.VIEWER, "Vito").user
    members.set_password(user, "Vito", "vito@example.org", PASSWORD)
    client = Client()
    client.post("/sign-in/", {"email": "vito@example.org", "password": PASSWORD})
    form = {"name": "Vito", "password": "another long password", "current": "a guess"}
    refused = client.post("/sign-in/password/", form)
    assert "This is not your password." in words(refused)
    assert client.post("/sign-in/password/", form | {"current": PASSWORD}).url == "/"
    user.refresh_from_db()
    assert user.check_password("another long password")


def test_forgotten_password_is_replaced_after_a_sign_in_link(workspace):
    member = member_of(workspace, Role.VIEWER, "Vito")
    members.set_password(member.user, "Vito", "vito@example.org", PASSWORD)
    path = members.make_sign_in_link(member, by=audit.COMMAND).path
    client = Client()
    assert client.post(path).status_code == 422, "a reset signs nobody in without another password"
    assert client.get("/").status_code == 302
    assert client.post(path, {"password": "short"}).status_code == 422
    assert client.post(path, {"password": "another long password"}).url == "/"
    assert client.get("/").status_code == 200
    member.user.refresh_from_db()
    assert member.user.check_password("another long password")


def test_a_wrong_password_is_told_without_saying_which_half_is_wrong(workspace):
    member_of(workspace, Role.VIEWER, "Vito")
    known = Client().post("/sign-in/", {"email": "vito@example.org", "password": "x"})
    unknown = Client().post("/sign-in/", {"email": "nobody@example.org\0", "password": "x"})
    assert (known.status_code, unknown.status_code) == (422, 422)
    assert "No member has this e-mail and password." in words(known)
    assert "No member has this e-mail and password." in words(unknown)


def test_nobody_without_a_password_can_sign_in_with_an_empty_one(link):
    assert Client().post("/sign-in/", {"email": "admin", "password": ""}).status_code == 422


@pytest.mark.parametrize("evil", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"])
def test_after_signing_in_nobody_is_sent_to_another_site(link, evil):
    members.set_password(get_user_model().objects.get(), "Ada", "ada@example.org", PASSWORD)
    answer = Client().post("/sign-in/", {"email": "ada@example.org", "password": PASSWORD, "next": evil})
    assert answer.url == "/"


@pytest.mark.parametrize("nowhere", ["nowhere", "session-list", "9" * 400, "\0"])
def test_what_is_no_address_leads_home_and_is_no_fault_of_ours(admin, nowhere):
    assert admin.get("/sign-in/", {"next": nowhere}).url == "/"
    members.set_password(get_user_model().objects.get(), "Ada", "ada@example.org", PASSWORD)
    assert Client().post("/sign-in/", {"email": "ada@example.org", "password": PASSWORD, "next": nowhere}).url == "/"


def test_after_signing_in_the_page_that_was_wanted_comes(link):
    members.set_password(get_user_model().objects.get(), "Ada", "ada@example.org", PASSWORD)
    client = Client()
    page = client.get("/sessions/?has_errors=true", follow=True)
    wanted = page.context["next"]
    answer = client.post("/sign-in/", {"email": "ada@example.org", "password": PASSWORD, "next": wanted})
    assert answer.url == "/sessions/?has_errors=true"


def test_htmx_is_told_to_leave_the_page_for_the_sign_in(workspace):
    answer = Client().get("/sessions/", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/agents/"})
    assert answer.headers["HX-Redirect"] == "/sign-in/?next=/agents/"


def test_signing_out_needs_a_post(admin):
    assert admin.get("/sign-out/").status_code == 405
    assert admin.post("/sign-out/").url == "/sign-in/"
    assert admin.get("/").status_code == 302


def test_somebody_without_a_workspace_is_told_what_to_do(workspace):
    client = Client()
    client.force_login(get_user_model().objects.create_user("lost"))
    answer = client.get("/")
    assert answer.status_code == 403
    assert "Ask an admin to add you" in words(answer)
