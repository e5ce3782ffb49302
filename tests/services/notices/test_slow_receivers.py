"""A receiver of webhooks that is slow or fails gets few posts; the others wait without counting it as their try."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import OutgoingMessage, OutgoingWebhook
from sessions_app.queries import notices
from sessions_app.services import audit
from sessions_app.services.notices import outgoing_messages, outgoing_webhooks

from .test_outgoing_webhooks import ask, waiting

pytestmark = pytest.mark.django_db


def send_what_is_due() -> None:
    for message in waiting():
        outgoing_messages.send(message.pk)


def a_pause_is_over() -> None:
    before = timezone.now() - timedelta(seconds=1)
    OutgoingMessage.objects.exclude(next_try_at=None).update(next_try_at=before)
    OutgoingWebhook.objects.exclude(next_at=None).update(next_at=before)


def test_one_that_fails_is_tried_once_for_all_and_once_after_each_pause(session, webhook, listener):
    for _ in range(8):
        ask(session)
    listener.answers = [503, 503]
    for tried in (1, 2):
        send_what_is_due()
        send_what_is_due()
        assert len(listener.posts) == tried
        a_pause_is_over()
    assert sum(OutgoingMessage.objects.values_list("tries", flat=True)) == 2, "to wait is no try"
    send_what_is_due()
    a_pause_is_over()
    send_what_is_due()
    assert waiting() == [] and len(listener.posts) == 2 + 8
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.failed_times, webhook.next_at, webhook.problem) == (None, 0, None, "")


def test_one_that_is_slow_gets_four_posts_at_a_time(session, webhook, listener):
    for _ in range(outgoing_messages.AT_ONCE + 1):
        ask(session)
    first, *others = waiting()
    later = timezone.now() + outgoing_messages.CLAIM
    OutgoingMessage.objects.filter(pk__in=[one.pk for one in others]).update(held_until=later, next_try_at=later)
    outgoing_messages.send(first.pk)
    first.refresh_from_db()
    assert listener.posts == [] and first.next_try_at > timezone.now() and first.tries == 0
    OutgoingMessage.objects.filter(pk=others[0].pk).update(held_until=None)
    a_pause_is_over()
    outgoing_messages.send(first.pk)
    assert len(listener.posts) == 1


def test_another_receiver_does_not_wait_for_it(session, webhook, listener, workspace):
    outgoing_webhooks.create(workspace.id, "second", f"{listener.url}2", [], by=audit.SYSTEM)
    ask(session)
    OutgoingWebhook.objects.filter(pk=webhook.pk).update(next_at=timezone.now() + timedelta(hours=1), failed_times=9)
    send_what_is_due()
    assert len(listener.posts) == 1


def test_a_message_that_one_receiver_dislikes_keeps_no_other_from_it(session, webhook, listener):
    listener.answers = [400]
    ask(session), ask(session)
    send_what_is_due()
    OutgoingWebhook.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    OutgoingMessage.objects.filter(tries=0).update(next_try_at=timezone.now())
    send_what_is_due()
    assert OutgoingMessage.objects.exclude(taken_at=None).count() == 1


def test_one_that_asks_for_a_time_that_no_clock_has_waits_as_any_that_fails(session, webhook, listener):
    listener.answers, listener.retry_after = [503], "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"
    ask(session)
    send_what_is_due()
    webhook.refresh_from_db()
    assert webhook.next_at and webhook.failed_times == 1 and "503" in webhook.problem


def test_who_changes_the_address_waits_for_no_pause(session, webhook, listener):
    OutgoingWebhook.objects.update(next_at=timezone.now() + timedelta(hours=1), failed_times=9, problem="503")
    webhook.refresh_from_db()
    outgoing_webhooks.change(webhook, {"url": f"{listener.url}2"}, by=audit.SYSTEM)
    ask(session)
    send_what_is_due()
    assert len(listener.posts) == 1


def test_the_operator_is_told_of_one_that_fails_for_long(session, webhook, listener):
    listener.answers = [503]
    ask(session)
    send_what_is_due()
    assert notices.receivers_that_fail() == []
    OutgoingWebhook.objects.update(failing_since=timezone.now() - timedelta(minutes=6))
    (said,) = notices.receivers_that_fail()
    assert said.startswith("outgoing webhook ops of ") and said.endswith("1 messages wait")
