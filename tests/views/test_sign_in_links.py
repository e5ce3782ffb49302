"""Links and invitations: what one workspace's admin makes opens no other one, and nobody acts as another unseen."""

from __future__ import annotations

import re

from django.contrib.auth import get_user_model
from django.test import Client

from sessions_app.models import Approval, AuditEntry, Invitation, Member, PasswordOrigin, Role
from sessions_app.services import audit, workspaces
from sessions_app.services.people import members

from .build import asks, session_of, words
from .conftest import member_of, signed_in

PASSWORD, OTHER = "seven quiet herons", "nine loud starlings"
BOB = {"name": "Bob", "email": "bob@corp.example", "role": "admin"}


def path_in(answer) -> str:
    return re.search(r'id="invitation">http://testserver(/[^<]+/)<', answer.content.decode())[1]


def bob_comes_in(path: str) -> Client:
    """By a first link, choosing a password."""
    client = Client()
    assert client.post(path).url == "/sign-in/password/"
    form = {"name": "Bob", "email": BOB["email"], "password": PASSWORD}
    assert client.post("/sign-in/password/", form).url == "/"
    return client


def workspaces_of(email: str) -> set[str]:
    return set(Member.objects.filter(user__username=email).values_list("workspace__slug", flat=True))


# --- H1: the admin of one workspace does not get into another by the account of somebody ---------------------------


def test_an_old_link_of_one_workspace_opens_no_other(admin, charlie):
    """The link is kept, and opened after its person has become a member elsewhere."""
    old = path_in(admin.post("/settings/members/", BOB, follow=True))
    first = path_in(
        admin.post(f"/settings/members/{Member.objects.get(user__username=BOB['email']).pk}/link/", follow=True)
    )
    bob = bob_comes_in(first)
    later = members.make_sign_in_link(Member.objects.get(user__username=BOB["email"]), by=audit.COMMAND).path
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    assert workspaces_of(BOB["email"]) == {"default"}, "nobody is a member without their own yes"
    assert bob.post(invited, {"answer": "accept", "password": OTHER}).url == "/"
    assert workspaces_of(BOB["email"]) == {"default", "elsewhere"}
    for link in (old, first, later):
        thief = Client()
        assert thief.get(link).status_code == thief.post(link, {"password": OTHER}).status_code == 410
        assert thief.get("/").status_code == 302
    here = Member.objects.get(user__username=BOB["email"], workspace__slug="default")
    page = admin.post(f"/settings/members/{here.pk}/link/", follow=True)
    assert "belongs to another workspace too" in words(page)


def test_who_took_the_account_with_the_link_does_not_get_into_the_other_workspace(admin, charlie):
    """The admin uses the link at once and sets the password: no e-mail was ever verified."""
    thief = bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    assert thief.post(
        "/settings/workspace/switch/", {"workspace": str(Member.objects.first().workspace_id)}
    ).status_code
    assert workspaces_of(BOB["email"]) == {"default"}
    assert "elsewhere" not in words(thief.get("/settings/")).lower()
    # Without the other workspace's link there is nothing that the account alone could accept.
    assert "/invitations/" not in thief.get("/").content.decode() + thief.get("/settings/").content.decode()
    assert Invitation.objects.get().answer == "waits"
    # Bob, told the password, accepts with the link: the thief's password and browser are of no use from then on.
    bob = Client()
    assert bob.post("/sign-in/", {"email": BOB["email"], "password": PASSWORD}).status_code == 302
    assert bob.post(invited, {"answer": "accept"}).status_code == 422
    assert bob.post(invited, {"answer": "accept", "password": OTHER}).url == "/"
    assert thief.get("/").status_code == 302, "the browser session from before has ended"
    assert Client().post("/sign-in/", {"email": BOB["email"], "password": PASSWORD}).status_code == 422
    assert bob.get("/").status_code == 200


def test_an_account_without_a_password_is_invited_too(admin, charlie):
    """Bob never used his first link: the other workspace's link does not stand in for it."""
    first = path_in(admin.post("/settings/members/", BOB, follow=True))
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    guest = Client()
    assert guest.get(invited).status_code == 200
    assert guest.post(invited, {"answer": "accept", "password": OTHER}).status_code == 403
    assert workspaces_of(BOB["email"]) == {"default"}
    assert not get_user_model().objects.get(username=BOB["email"]).has_usable_password()
    bob = Client()
    bob.post(first)
    assert bob.post(invited, {"answer": "accept", "password": OTHER}).url == "/"


def test_the_invitation_says_who_where_and_as_what_and_is_answered_once(admin, elsewhere, charlie):
    bob = bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    invited = path_in(charlie.post("/settings/members/", BOB | {"role": "reviewer"}, follow=True))
    said = words(bob.get(invited))
    assert "Charlie invites bob@corp.example to the workspace Elsewhere , as reviewer" in said
    assert workspaces_of(BOB["email"]) == {"default"}, "nothing happens by looking"
    assert bob.post(invited, {"answer": "decline"}).url == "/"
    assert bob.post(invited, {"answer": "accept", "password": OTHER}).status_code == 410
    assert workspaces_of(BOB["email"]) == {"default"}
    actions = AuditEntry.objects.filter(workspace=elsewhere).order_by("seq").values_list("action", flat=True)
    assert list(actions)[-2:] == ["member.invited", "member.declined"]


def test_somebody_else_cannot_answer_and_is_told_whom_it_is_for(admin, charlie, viewer):
    bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    page = words(viewer.get(invited))
    assert "You are signed in as vito@example.org here" in page and "sign in as bob@corp.example" in page
    assert viewer.post(invited, {"answer": "accept"}).status_code == 403
    assert Invitation.objects.get().answer == "waits"


def test_an_invitation_is_listed_and_can_be_withdrawn_or_replaced(admin, charlie):
    bob = bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    first = path_in(charlie.post("/settings/members/", BOB, follow=True))
    second = path_in(charlie.post("/settings/members/", BOB, follow=True))
    assert bob.get(first).status_code == 410 and bob.get(second).status_code == 200
    assert "invited by Charlie" in words(charlie.get("/settings/"))
    waiting = Invitation.objects.get(answer="waits")
    assert admin.post(f"/settings/invitations/{waiting.pk}/withdraw/").status_code == 404, "of another workspace"
    charlie.post(f"/settings/invitations/{waiting.pk}/withdraw/")
    assert bob.get(second).status_code == 410
    assert "invited by Charlie" not in words(charlie.get("/settings/"))


def test_an_invitation_ends_after_a_week(admin, charlie):
    bob = bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    Invitation.objects.update(expires_at="2026-01-01T00:00:00Z")
    assert bob.get(invited).status_code == bob.post(invited, {"answer": "accept"}).status_code == 410


# --- M7: nobody acts as another member without it being seen -------------------------------------------------------


def test_an_admin_who_resets_a_password_is_named_in_what_is_decided_so(admin, workspace, agent):
    rosa = member_of(workspace, Role.REVIEWER, "Rosa")
    members.set_password(rosa.user, "Rosa", "rosa@example.org", PASSWORD)
    path = path_in(admin.post(f"/settings/members/{rosa.pk}/link/", follow=True))
    thief = Client()
    assert thief.post(path).status_code == 422, "the link alone signs nobody in"
    assert thief.get("/").status_code == 302
    assert thief.post(path, {"password": OTHER}).url == "/"
    assert Client().post("/sign-in/", {"email": "rosa@example.org", "password": PASSWORD}).status_code == 422
    # Not even by signing out and in, or by choosing another password in the session.
    form = {"name": "Rosa", "password": "a third password", "current": OTHER}
    assert thief.post("/sign-in/password/", form | {"current": "wrong"}).status_code == 422
    assert thief.post("/sign-in/password/", form).url == "/"
    approval = asks(session_of(agent))
    answer = {"verdict": "approve", "version": 1, "digest": approval.digest}
    again = Client()
    again.post("/sign-in/", {"email": "rosa@example.org", "password": "a third password"})
    again.post(f"/approvals/{approval.pk}/decision", answer)
    approval.refresh_from_db()
    assert (approval.status, approval.decision["signed_in_by_link_of"]) == (Approval.Status.APPROVED, "Ada")
    assert AuditEntry.objects.get(action="approval.decided").details["signed_in_by_link_of"] == "Ada"
    assert "Signed in by a link that Ada made" in words(admin.get(f"/approvals/{approval.pk}/"))
    assert "signed in by a link that Ada made" in words(admin.get("/settings/"))
    made, used = AuditEntry.objects.filter(action__in=["member.link_made", "member.password_reset"]).order_by("seq")
    assert (made.actor_name, made.details["purpose"], used.details["link_made_by"]) == ("Ada", "reset", "Ada")


def test_a_member_is_told_of_a_reset_link_at_the_next_sign_in_once(admin, workspace):
    rosa = member_of(workspace, Role.REVIEWER, "Rosa")
    members.set_password(rosa.user, "Rosa", "rosa@example.org", PASSWORD)
    admin.post(f"/settings/members/{rosa.pk}/link/", follow=True)
    entry = {"email": "rosa@example.org", "password": PASSWORD}
    said = words(Client().post("/sign-in/", entry, follow=True))
    assert "Ada made a link to choose another password for you" in said and "Nobody has used it" in said
    assert "Ada made a link" not in words(Client().post("/sign-in/", entry, follow=True))


def test_what_is_decided_by_a_password_of_ones_own_names_nobody(reviewer, workspace, agent):
    approval = asks(session_of(agent))
    form = {"verdict": "approve", "version": 1, "digest": approval.digest}
    reviewer.post(f"/approvals/{approval.pk}/decision", form)
    approval.refresh_from_db()
    assert approval.status == "approved" and "signed_in_by_link_of" not in approval.decision


def test_a_first_link_that_an_admin_saw_is_named_until_an_operators_link_ends_it(admin):
    bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    user = get_user_model().objects.get(username=BOB["email"])
    assert PasswordOrigin.objects.get(user=user).made_by == "Ada"
    client = Client()
    assert client.post(members.operators_link(user)).url == "/"
    assert client.post("/sign-in/password/", {"name": "Bob", "password": OTHER}).url == "/"
    assert not PasswordOrigin.objects.exists()
    # The link's privilege is spent: the next change needs the password.
    assert client.post("/sign-in/password/", {"name": "Bob", "password": PASSWORD}).status_code == 422


def test_with_e_mail_links_go_to_people_and_are_shown_to_nobody(admin, workspace, settings, mailoutbox):
    settings.EMAIL_CONFIGURED = True
    page = admin.post("/settings/members/", BOB, follow=True)
    assert "/sign-in/" not in page.content.decode().split("<main", 1)[1] and "was sent to bob@corp.example" in words(
        page
    )
    first = re.search(r"http://testserver(/sign-in/\S+/)", mailoutbox[0].body)[1]
    assert mailoutbox[0].to == [BOB["email"]] and "Ada made this link" in mailoutbox[0].body
    bob_comes_in(first)
    assert not PasswordOrigin.objects.exists()
    bob = Member.objects.get(user__username=BOB["email"])
    assert (
        "/sign-in/"
        not in admin.post(f"/settings/members/{bob.pk}/link/", follow=True).content.decode().split("<main", 1)[1]
    )
    assert "choose another password" in mailoutbox[1].subject
    assert [entry.details["emailed"] for entry in AuditEntry.objects.filter(action="member.link_made")] == [True]


def test_e_mail_that_cannot_be_sent_leaves_no_link_behind(admin, workspace, settings):
    settings.EMAIL_CONFIGURED = True
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1", 1,
    )  # fmt: skip
    rosa = Member.objects.get()
    answer = admin.post(f"/settings/members/{rosa.pk}/link/", follow=True)
    assert "could not be sent" in words(answer)


# --- L1: opening a link does nothing --------------------------------------------------------------------------------


def test_opening_a_link_leaves_the_present_session_and_says_whom_it_would_replace(reviewer, workspace):
    eve = member_of(workspace, Role.VIEWER, "Eve")
    path = members.make_sign_in_link(eve, by=audit.COMMAND).path
    page = reviewer.get(path)
    assert "You are signed in as rosa@example.org here. Going on ends that." in words(page)
    assert "Rosa" in words(reviewer.get("/"))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Member.objects.get(user__first_name="Rosa").user)
    assert strict.post(path).status_code == 403, "another site cannot press the button"
    assert "Rosa" in words(strict.get("/"))
    assert reviewer.post(path).status_code == 302
    assert "Eve" in words(reviewer.get("/settings/"))


def test_links_of_a_member_who_was_removed_end(admin, workspace):
    rosa = member_of(workspace, Role.REVIEWER, "Rosa")
    path = path_in(admin.post(f"/settings/members/{rosa.pk}/link/", follow=True))
    admin.post(f"/settings/members/{rosa.pk}/remove/")
    assert Client().post(path).status_code == 410


def test_an_operators_link_opens_every_workspace_of_its_person(workspace):
    path = members.one_time_link_for_first_admin()
    workspaces.create_workspace("third")
    assert Client().post(path).status_code == 302


def test_two_browsers_that_press_the_button_sign_in_once(workspace):
    path = members.make_sign_in_link(member_of(workspace, Role.VIEWER, "Eve"), by=audit.COMMAND).path
    assert [Client().post(path).status_code for _ in range(2)] == [302, 410]


def test_nobody_signed_in_is_led_back_to_the_invitation(admin, charlie):
    bob_comes_in(path_in(admin.post("/settings/members/", BOB, follow=True)))
    invited = path_in(charlie.post("/settings/members/", BOB, follow=True))
    assert f'href="/sign-in/?next={invited}"' in Client().get(invited).content.decode()
    assert signed_in(Member.objects.get(user__username=BOB["email"])).get(invited).status_code == 200
