"""Who is named in a comment is told by mail, where they chose so: once, and nothing of what was written."""

from __future__ import annotations

import pytest
from django.core import mail as django_mail
from django.utils import timezone

from sessions_app.models import Member, Mention, Role, Session
from sessions_app.services import audit
from sessions_app.services.notices import choices
from sessions_app.services.people import members
from sessions_app.services.reviews import comments, mention_mails


@pytest.fixture(autouse=True)
def can_send(settings):
    settings.EMAIL_CONFIGURED, settings.PUBLIC_URL = True, "https://desk.example.org"


def member(workspace, name: str, role: Role = Role.REVIEWER, **more) -> Member:
    made, _ = members.add_member(workspace, f"{name}@example.org".lower(), name, role, by=audit.COMMAND, **more)
    django_mail.outbox.clear()
    return made


@pytest.fixture
def rosa(workspace) -> Member:
    made = member(workspace, "Rosa")
    choices.choose(made, mail=False, least_risk="", mentions=True)
    return made


def say(session: Session, author: Member, words: str):
    return comments.add(session.pk, author, words, by=audit.Actor("member", str(author.pk), str(author)))


def send_all() -> list:
    django_mail.outbox.clear()
    for pk in Mention.objects.values_list("pk", flat=True):
        mention_mails.send(pk)
    return list(django_mail.outbox)


def test_a_mention_is_told_once_without_what_was_written(session, workspace, rosa):
    Session.objects.filter(pk=session.pk).update(title="Hush title")
    said = say(session, member(workspace, "Ada"), "@rosa look at this secret")
    (sent,) = send_all()
    assert (sent.to, sent.subject) == (["rosa@example.org"], "Ada mentioned you in a comment")
    page = f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}?comment={said.pk}#comment-{said.pk}"
    assert f"https://desk.example.org{page}" in sent.body
    assert "secret" not in sent.body and "Hush" not in sent.body + sent.subject
    assert send_all() == []


def test_without_a_public_address_the_path_is_whole(session, workspace, rosa, settings):
    settings.PUBLIC_URL = ""
    said = say(session, member(workspace, "Ada"), "@rosa look")
    (sent,) = send_all()
    assert f"/chat/{session.pk}?comment={said.pk}#comment-{said.pk} at your desk" in sent.body


def test_who_did_not_choose_it_is_not_told(session, workspace):
    member(workspace, "Rosa")
    say(session, member(workspace, "Ada"), "@rosa look")
    assert Mention.objects.get().mail_at is None and send_all() == []


def test_an_edit_tells_nobody_twice(session, workspace, rosa):
    ada = member(workspace, "Ada")
    made = say(session, ada, "@rosa look")
    assert len(send_all()) == 1
    comments.edit(made, ada, "@rosa look again", by=audit.COMMAND)
    assert send_all() == []


def test_what_was_read_or_deleted_meanwhile_is_not_told(session, workspace, rosa):
    ada = member(workspace, "Ada")
    made = say(session, ada, "@rosa look")
    comments.read_mentions(rosa, session)
    assert send_all() == [] and Mention.objects.get().mail_at is None
    comments.delete(made, ada, by=audit.COMMAND)
    assert send_all() == []


def test_who_sees_numbers_only_is_not_named(session, workspace):
    member(workspace, "Nora", Role.VIEWER, numbers_only=True)
    say(session, member(workspace, "Ada"), "@nora look")
    assert not Mention.objects.exists()


def test_a_mail_server_that_is_away_is_tried_again_and_given_up(session, workspace, rosa, settings):
    say(session, member(workspace, "Ada"), "@rosa look")
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = (
        "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1", 1,
    )  # fmt: skip
    pk = Mention.objects.get().pk
    for tries in range(1, len(mention_mails.WAITS) + 2):
        Mention.objects.filter(pk=pk).update(mail_at=timezone.now())
        mention_mails.send(pk)
        assert Mention.objects.get().mail_tries == tries
    assert Mention.objects.get().mail_at is None


def test_the_sweep_finds_what_was_lost(session, workspace, rosa):
    say(session, member(workspace, "Ada"), "@rosa look")
    assert mention_mails.sweep() == 1
    send_all()
    assert mention_mails.sweep() == 0


def test_a_member_chooses_on_a_page(client, workspace, rosa):
    client.force_login(rosa.user)
    client.post("/settings/notices/", {"least_risk": "", "digest_minutes": "0"})
    rosa.notice_choice.refresh_from_db()
    assert not rosa.notice_choice.mentions
    client.post("/settings/notices/", {"least_risk": "", "digest_minutes": "0", "mentions": "on"})
    rosa.notice_choice.refresh_from_db()
    assert rosa.notice_choice.mentions
