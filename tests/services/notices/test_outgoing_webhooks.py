"""Other programs are told of approvals and stops: signed, once each, again until it is taken, and with no secrets."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from sessions_app.api.schemas.approvals import Approval as Shown
from sessions_app.models import Approval, OutgoingMessage, OutgoingWebhook, Role
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, delivery, endings, requests
from sessions_app.services.notices import announcing, outgoing_messages, outgoing_webhooks, payloads, posting
from sessions_app.services.stops import stops

ALICE = decisions.Decider(audit.Actor("member", name="Alice"), Role.REVIEWER, "web")


@pytest.fixture(autouse=True)
def at_once(settings):
    """Decisions take effect at once: taking back has tests of its own."""
    settings.UNDO_SECONDS = 0


def ask(session, arguments=None, **more) -> Approval:
    return requests.request(session, requests.Question("refund", arguments or {"amount": 4}, **more), by=audit.COMMAND)


def decide(approval: Approval, verdict: str = "approve", **more) -> Approval:
    approval = Approval.objects.get(pk=approval.pk)
    decision = decisions.Decision(verdict, approval.version, approval.digest, sure=True, **more)
    return decisions.decide(approval, ALICE, decision)


def waiting() -> list[OutgoingMessage]:
    return list(OutgoingMessage.objects.exclude(next_try_at=None).order_by("id"))


def send_all() -> None:
    for message in waiting():
        OutgoingMessage.objects.filter(pk=message.pk).update(next_try_at=timezone.now())
        OutgoingWebhook.objects.update(next_at=None)
        outgoing_messages.send(message.pk)


def told() -> list[str]:
    return list(OutgoingMessage.objects.order_by("id").values_list("event", flat=True))


def test_a_post_is_signed_as_a_receiver_checks_it_by_the_specification(session, webhook, listener):
    ask(session)
    send_all()
    ((headers, body),) = listener.posts
    key = base64.b64decode(OutgoingWebhook.objects.get().secret.removeprefix("whsec_"))
    assert len(key) == 32
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == expected
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 300
    assert headers["webhook-id"] == str(OutgoingMessage.objects.get().pk)
    assert headers["content-type"] == "application/json"
    sent = json.loads(body)
    assert set(sent) == {"type", "timestamp", "data"} and sent["type"] == "approval.requested"


def test_the_body_has_the_approval_of_the_api(session, webhook):
    asked = ask(session, {"amount": 4, "to": "Ines"}, client_id="q1", risk="high", context="why", expires_in=60)
    decide(asked, arguments={"amount": 3, "to": "Ines"}, reason="less")
    after = Approval.objects.get(pk=asked.pk)
    by_api = json.loads(Shown.from_row(after).model_dump_json())
    first, last = (json.loads(one.body)["data"]["approval"] for one in OutgoingMessage.objects.order_by("id"))
    assert (last, last["status"]) == (by_api, "approved_edited")
    assert first["status"] == "pending" and first["id"] == str(asked.pk)


def test_what_looks_like_a_secret_leaves_masked(session, webhook):
    key = "sk-ant-" + "a" * 40
    ask(session, {"cmd": f"curl -H 'Authorization: Bearer {'b' * 30}'", "api_key": "short", key: [key]}, context=key)
    body = OutgoingMessage.objects.get().body
    assert "masked" in body and key not in body and "b" * 30 not in body and "short" not in body


def test_arguments_that_are_too_long_are_left_out_and_it_says_so(session, webhook):
    ask(session, {"text": "x" * payloads.MOST_BYTES})
    body = OutgoingMessage.objects.get().body
    assert len(body) < 5_000
    data = json.loads(body)["data"]
    assert data["cut"] is True and data["approval"]["tool"]["arguments"] is None


def test_each_event_is_told_once(session, webhook):
    one, two, three = ask(session), ask(session), ask(session, expires_in=1)
    decide(one)
    delivery.mark_delivered(Approval.objects.get(pk=one.pk))
    delivery.mark_delivered(Approval.objects.get(pk=one.pk))
    Approval.objects.filter(pk=three.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    endings.expire_due()
    stop = stops.make(session.workspace, by=audit.COMMAND, role=Role.ADMIN, reason="Enough")
    stops.lift(stop, by=audit.COMMAND, role=Role.ADMIN)
    assert sorted(told()) == sorted(
        3 * ["approval.requested"]
        + ["approval.decided", "approval.delivered", "approval.expired", "approval.decided", "stop.made", "stop.lifted"]
    )
    by_stop = OutgoingMessage.objects.filter(event="approval.decided").order_by("-id")[0]
    assert json.loads(by_stop.body)["data"]["approval"]["id"] == str(two.pk)
    assert json.loads(OutgoingMessage.objects.get(event="stop.made").body)["data"]["stop"]["reason"] == "Enough"


def test_a_vote_that_decides_nothing_yet_is_told(session, webhook):
    asked = ask(session)
    Approval.objects.filter(pk=asked.pk).update(votes_needed=2)
    decide(asked)
    assert told() == ["approval.requested", "approval.voted"]
    voted = json.loads(OutgoingMessage.objects.get(event="approval.voted").body)["data"]["approval"]
    assert (voted["status"], [vote["by"] for vote in voted["votes"]]) == ("pending", ["Alice"])


def test_only_what_was_chosen_is_told_and_nothing_of_another_workspace(session, webhook, workspace):
    outgoing_webhooks.change(webhook, {"events": ["approval.decided"]}, by=audit.SYSTEM)
    elsewhere = type(workspace).objects.create(slug="elsewhere", name="Elsewhere")
    outgoing_webhooks.create(elsewhere.id, "theirs", "https://theirs.example.com", [], by=audit.SYSTEM)
    decide(ask(session))
    assert told() == ["approval.decided"]


def test_what_is_rolled_back_is_not_told(session, webhook):
    with pytest.raises(RuntimeError), transaction.atomic():
        ask(session)
        raise RuntimeError
    assert told() == []


def test_a_webhook_that_is_removed_while_a_post_to_it_fails_is_gone_and_no_more(session, webhook, monkeypatch):
    def removes_and_fails(*_):
        outgoing_webhooks.remove(webhook, by=audit.SYSTEM)
        raise posting.Failed("it answered 500", 500)

    ask(session)
    monkeypatch.setattr(posting, "post", removes_and_fails)
    send_all()
    assert not OutgoingMessage.objects.exists() and not OutgoingWebhook.objects.exists()


def test_a_post_that_fails_is_sent_again_with_the_same_id_and_a_new_time(session, webhook, listener):
    listener.answers = [500, 302, 200]
    ask(session)
    message = OutgoingMessage.objects.get()
    for expected in (1, 2):
        send_all()
        message.refresh_from_db()
        assert message.tries == expected and message.taken_at is None and message.next_try_at > timezone.now()
        assert OutgoingWebhook.objects.get().problem
    assert "redirects are not followed" in message.error and message.last_status == 302
    outgoing_messages.send(message.pk)
    assert len(listener.posts) == 2, "it is not its time yet"
    send_all()
    message.refresh_from_db()
    assert message.taken_at and message.next_try_at is None and not message.error
    assert len({headers["webhook-id"] for headers, _ in listener.posts}) == 1
    assert OutgoingWebhook.objects.get().problem == ""


def test_a_message_is_given_up_after_the_last_wait(session, webhook, listener):
    ask(session)
    OutgoingMessage.objects.update(tries=len(outgoing_messages.WAITS))
    listener.answers = [503]
    send_all()
    message = OutgoingMessage.objects.get()
    assert message.next_try_at is None and message.taken_at is None and message.error.endswith("given up")
    assert outgoing_messages.WAITS[0] == 5 and outgoing_messages.WAITS[-1] == 86_400


def test_a_receiver_that_is_gone_is_told_nothing_more(session, webhook, listener):
    listener.answers = [410]
    first, _ = ask(session), ask(session)
    outgoing_messages.send(OutgoingMessage.objects.order_by("id")[0].pk)
    webhook.refresh_from_db()
    assert not webhook.active and "410" in webhook.problem and waiting() == []
    decide(first)
    assert len(told()) == 2


def test_a_private_address_is_not_asked_unless_it_is_listed(session, webhook, listener, settings):
    settings.PRIVATE_HOSTS = set()
    ask(session)
    send_all()
    assert listener.posts == [] and "private network" in OutgoingMessage.objects.get().error


@pytest.mark.django_db(transaction=True)
def test_two_workers_post_a_message_once(session, webhook, listener):
    from tests.services.build import at_once

    listener.delay = 0.3
    ask(session)
    pk = OutgoingMessage.objects.get().pk
    at_once(*[lambda: (outgoing_messages.send(pk), connection.close())] * 4)
    assert len(listener.posts) == 1


def test_the_sweep_finds_what_a_dead_worker_left(session, webhook):
    ask(session)
    # A worker that claims it and dies leaves it claimed for a minute.
    OutgoingMessage.objects.update(next_try_at=timezone.now() + outgoing_messages.CLAIM)
    assert outgoing_messages.sweep() == 0
    OutgoingMessage.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))
    assert outgoing_messages.sweep() == 1


def test_switching_off_gives_up_what_waits(session, webhook):
    ask(session)
    outgoing_webhooks.change(webhook, {"active": False}, by=audit.SYSTEM)
    assert waiting() == [] and "switched off" in OutgoingMessage.objects.get().error


def test_a_new_secret_signs_what_is_tried_again(session, webhook, listener):
    ask(session)
    secret = outgoing_webhooks.rotate(webhook, by=audit.SYSTEM)
    send_all()
    ((headers, body),) = listener.posts
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert headers["webhook-signature"][3:] == base64.b64encode(hmac.digest(key, signed, "sha256")).decode()


@pytest.mark.parametrize("url", [
    "ftp://a.example", "https://", "https://user:pw@a.example", "not a url", "https://a.example:99999/", "https://é.example",
    "https://a.example/\n",
])  # fmt: skip
def test_an_address_that_cannot_be_posted_to_is_refused(workspace, url):
    if url.endswith("\n"):
        url += "x"
    with pytest.raises(outgoing_webhooks.Refused):
        outgoing_webhooks.create(workspace.id, "x", url, [], by=audit.SYSTEM)


def test_where_nobody_is_told_an_event_costs_two_queries(session, django_assert_num_queries):
    asked = ask(session)
    with django_assert_num_queries(2):
        announcing.ended(asked)
    with django_assert_num_queries(2):
        announcing.requested(asked)
