"""Members are told by mail of what they may decide: once, without secrets, with a link that decides nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail as django_mail
from django.test import Client
from django.utils import timezone

from sessions_app.models import Agent, Approval, Member, Notice, Role, Session
from sessions_app.services import audit
from sessions_app.services.approvals import endings, requests
from sessions_app.services.notices import choices, outbox, sending
from sessions_app.services.people import members

KEY = "sk-ant-" + "a" * 40


@pytest.fixture(autouse=True)
def can_send(settings):
    settings.EMAIL_CONFIGURED, settings.PUBLIC_URL = True, "https://desk.example"


def member(workspace, name: str, role: Role = Role.REVIEWER) -> Member:
    made = members.add_member(workspace, f"{name}@example.org", name, role, by=audit.COMMAND)[0]
    django_mail.outbox.clear()
    return made


@pytest.fixture
def rosa(workspace) -> Member:
    made = member(workspace, "rosa")
    choices.choose(made, mail=True, least_risk="")
    return made


def ask(session, arguments=None, **more) -> Approval:
    return requests.request(session, requests.Question("refund", arguments or {"amount": 4}, **more), by=audit.COMMAND)


def send_all() -> list:
    django_mail.outbox.clear()
    for notice in Notice.objects.exclude(next_try_at=None):
        sending.send(notice.pk)
    return list(django_mail.outbox)


def test_a_member_who_chose_it_is_told_once(session, rosa, workspace):
    member(workspace, "olaf")
    asked = ask(session, context="The parcel never came")
    (sent,) = send_all()
    assert sent.to == ["rosa@example.org"]
    assert sent.subject == "“Refund agent” asks: refund amount=4"
    assert f"https://desk.example/approvals/{asked.pk}/" in sent.body and "Workspace: Default" in sent.body
    assert '> {\n>   "amount": 4\n> }' in sent.body and "> The parcel never came" in sent.body
    notice = Notice.objects.get()
    assert notice.sent_at and notice.next_try_at is None and str(notice.pk) in sent.message()["Message-ID"]
    Notice.objects.update(next_try_at=None)
    assert send_all() == []


def test_no_secret_leaves_not_even_one_that_is_cut(session, rosa):
    ask(session, {"command": "x" * 140 + " " + KEY, "api_key": "short-one"}, context=f"with {KEY}")
    (sent,) = send_all()
    assert "sk-ant-a" not in sent.subject + sent.body and "short-one" not in sent.body
    assert "masked" in sent.body


def test_no_secret_leaves_in_a_name_or_a_title(session, rosa):
    Session.objects.filter(pk=session.pk).update(title=f"Use {KEY} for the shop")
    Agent.objects.filter(pk=session.agent_id).update(name=f"Shop {KEY}")
    requests.request(Session.objects.get(), requests.Question(f"pay {KEY}", {}, server=KEY), by=audit.COMMAND)
    (sent,) = send_all()
    assert "sk-ant-a" not in sent.subject + sent.body and "for the shop" in sent.body


def test_what_hides_is_shown_and_nothing_breaks_the_subject(session, rosa):
    ask(
        session,
        {"path": "a\u202etxt.exe\u200b\r\nBcc: evil@example.org"},
        context="see\u2066this\nhttps://evil.example",
    )
    (sent,) = send_all()
    assert not any(odd in sent.subject + sent.body for odd in "\u202e\u200b\u2066\r")
    assert "U+202E" in sent.subject and "U+202E" in sent.body
    assert sent.recipients() == ["rosa@example.org"]


def test_a_name_that_reads_like_a_sentence_of_the_desk_stands_in_quotes(session, rosa):
    Agent.objects.filter(pk=session.agent_id).update(name="Approved by Ada” at https://evil.example. Countersign")
    Session.objects.filter(pk=session.pk).update(title="Risk: none")
    requests.request(Session.objects.get(), requests.Question("pay. Nothing is left to do", {}), by=audit.COMMAND)
    (sent,) = send_all()
    named = '“Approved by Ada" at https://evil.example. Countersign”'
    assert sent.body.startswith(f"{named} asks to run “pay. Nothing is left to do”.\n")
    assert sent.subject == f"{named} asks: “pay. Nothing is left to do”"
    assert "\nSession: “Risk: none”\n" in sent.body


def test_who_may_not_decide_is_not_told(session, workspace, rosa):
    viewer, named = member(workspace, "vito", Role.VIEWER), member(workspace, "nina")
    for one in (viewer, named):
        choices.choose(one, mail=True, least_risk="")
    asks_one = {"eligible": {"members": [str(named.pk)]}}
    session.agent.policy = {"rules": [{"name": "two", "match": {"tool": "refund"}, "effect": "ask", "ask": asks_one}]}
    session.agent.save()
    asked = ask(session)
    assert asked.terms["eligible"]["members"] == [str(named.pk)]
    assert [one.to for one in send_all()] == [["nina@example.org"]]


def test_who_may_decide_no_more_when_it_is_sent_is_not_told(session, rosa):
    ask(session)
    Member.objects.filter(pk=rosa.pk).update(role=Role.VIEWER)
    assert send_all() == [] and "may not decide" in Notice.objects.get().error


def test_what_was_decided_meanwhile_is_not_told(session, rosa):
    ask(session, expires_in=1)
    Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    endings.expire_due()
    assert send_all() == [] and "decided before" in Notice.objects.get().error


@pytest.mark.parametrize(("risk", "told"), [("low", 0), ("", 0), ("high", 1), ("critical", 1)])
def test_only_of_the_risk_that_was_chosen(session, rosa, risk, told):
    choices.choose(rosa, mail=True, least_risk="high")
    ask(session, risk=risk)
    assert Notice.objects.count() == told


def test_an_escalation_step_tells_whom_it_names_and_says_so(session, workspace):
    boss = member(workspace, "boss", Role.ADMIN)
    asked = ask(session)
    Notice.objects.create(approval=asked, member=boss, channel="mail", step=2, next_try_at=timezone.now())
    (sent,) = send_all()
    assert "step 2 of its escalation" in sent.body and "a rule names you" in sent.body


def test_a_mail_server_that_is_away_is_tried_again_and_given_up(session, rosa, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    ask(session)
    send_all()
    notice = Notice.objects.get()
    assert notice.next_try_at > timezone.now() and "could not be sent" in notice.error and notice.sent_at is None
    Notice.objects.update(tries=len(outbox.WAITS), next_try_at=timezone.now())
    send_all()
    notice.refresh_from_db()
    assert notice.next_try_at is None and notice.error.endswith("given up")


def test_the_sweep_finds_what_was_lost(session, rosa):
    ask(session)
    assert outbox.sweep() == 1
    Notice.objects.update(next_try_at=timezone.now() + outbox.CLAIM)
    sending.send(Notice.objects.get().pk)
    assert django_mail.outbox == [] and Notice.objects.get().tries == 0


def test_the_link_decides_nothing(session, rosa):
    asked = ask(session)
    client = Client()
    client.force_login(rosa.user)
    assert client.get(f"/approvals/{asked.pk}/").status_code == 200
    asked.refresh_from_db()
    assert asked.status == "pending"
    assert Client().get(f"/approvals/{asked.pk}/").status_code == 302


def test_a_member_chooses_on_a_page(session, rosa, workspace):
    client = Client()
    client.force_login(rosa.user)
    assert "rosa@example.org" in client.get("/settings/notices/").content.decode()
    client.post("/settings/notices/", {"least_risk": "high"})
    rosa.notice_choice.refresh_from_db()
    assert (rosa.notice_choice.mail, rosa.notice_choice.least_risk) == (False, "high")
    assert client.post("/settings/notices/", {"least_risk": "none"}).status_code == 422
    viewer = Client()
    viewer.force_login(member(workspace, "vito", Role.VIEWER).user)
    assert viewer.get("/settings/notices/").status_code == 403
