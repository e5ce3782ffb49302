"""Calls of low risk come in one mail, for who chose it; what cannot wait for it comes at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail as outbox_of_django
from django.utils import timezone

from sessions_app.models import Approval, Member, Notice
from sessions_app.services import audit
from sessions_app.services.approvals import endings
from sessions_app.services.notices import choices, mail

from .test_mail import ask, can_send, member, send_all  # noqa: F401 - a fixture


@pytest.fixture
def rosa(workspace) -> Member:
    made = member(workspace, "rosa")
    choices.choose(made, mail=True, least_risk="", digest_minutes=30)
    return made


def is_due() -> list:
    """The mails of a worker when the time of the digest has come."""
    Notice.objects.exclude(next_try_at=None).update(next_try_at=timezone.now())
    return send_all()


def test_calls_of_low_risk_are_one_mail_after_the_time_that_was_chosen(session, rosa):
    asked = [ask(session, {"amount": amount}, risk="low") for amount in (1, 2, 3)]
    times = set(Notice.objects.values_list("next_try_at", flat=True))
    (at,) = times
    assert timedelta(minutes=29) < at - timezone.now() <= timedelta(minutes=30)
    assert send_all() == []
    (sent,) = is_due()
    assert sent.subject == "3 calls of low risk wait for you: “Refund agent”"
    for number, one in enumerate(asked, start=1):
        assert f"“Refund agent” asks: refund amount={number}" in sent.body
        assert f"https://desk.example/approvals/{one.pk}/" in sent.body
    assert is_due() == [] and Notice.objects.filter(sent_at=None).count() == 0


@pytest.mark.parametrize("risk", ["", "medium", "high", "banana"])
def test_everything_else_comes_at_once(session, rosa, risk):
    ask(session, risk=risk)
    assert [sent.subject for sent in send_all()] == ["“Refund agent” asks: refund amount=4"]


def test_what_would_be_denied_before_or_soon_after_the_digest_comes_at_once(session, rosa):
    ask(session, risk="low", expires_in=40 * 60)
    assert len(send_all()) == 1
    ask(session, risk="low", expires_in=50 * 60)
    assert send_all() == [] and len(is_due()) == 1


def test_what_was_decided_meanwhile_is_left_out_and_nothing_left_is_no_mail(session, rosa):
    first, _ = ask(session, {"amount": 1}, risk="low"), ask(session, {"amount": 2}, risk="low")
    Approval.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    endings.expire_due()
    (sent,) = is_due()
    assert sent.subject.startswith("1 call of low risk waits for you") and "amount=1" not in sent.body
    third = ask(session, {"amount": 3}, risk="low")
    endings.cancel_all(third.session_id, reason="over", by=audit.SYSTEM)
    assert is_due() == []


def test_a_digest_that_the_mail_server_does_not_take_comes_whole_later(session, rosa, settings):
    backend, settings.EMAIL_BACKEND = settings.EMAIL_BACKEND, "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    for amount in (1, 2):
        ask(session, {"amount": amount}, risk="low")
    is_due()
    assert set(Notice.objects.values_list("tries", flat=True)) == {1}
    assert not Notice.objects.filter(next_try_at__lte=timezone.now()).exists()
    settings.EMAIL_BACKEND = backend
    outbox_of_django.outbox.clear()
    assert len(is_due()) == 1


def test_an_escalation_step_is_told_by_itself(session, rosa):
    asked = ask(session, risk="low")
    Notice.objects.create(approval=asked, member=rosa, channel="mail", step=1, next_try_at=timezone.now())
    (sent,) = send_all()
    assert "step 1 of its escalation" in sent.body


def test_a_long_digest_is_cut_and_counted(session, rosa, monkeypatch):
    monkeypatch.setattr(mail, "MOST_LISTED", 2)
    for amount in range(5):
        ask(session, {"amount": amount}, risk="low")
    (sent,) = is_due()
    assert "and 3 more" in sent.body and "5 calls wait" in sent.body


def test_the_digest_of_one_member_is_not_that_of_another(session, rosa, workspace):
    olaf = member(workspace, "olaf")
    choices.choose(olaf, mail=True, least_risk="", digest_minutes=60)
    ask(session, risk="low")
    assert Notice.objects.get(member=olaf).next_try_at - Notice.objects.get(member=rosa).next_try_at > timedelta(
        minutes=29
    )
    assert sorted(sent.to[0] for sent in is_due()) == ["olaf@example.org", "rosa@example.org"]


@pytest.mark.parametrize("minutes", [1, -5, 7, 100_000])
def test_only_the_times_that_are_offered_can_be_chosen(rosa, minutes):
    with pytest.raises(choices.Refused):
        choices.choose(rosa, mail=True, least_risk="", digest_minutes=minutes)
