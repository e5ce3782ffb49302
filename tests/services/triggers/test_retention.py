"""What webhooks brought and answers to repeated requests go away in time; runs, sessions and what waits stay."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from sessions_app import tasks
from sessions_app.models import Event, IdempotentAnswer, Role, SignedRequest, TriggerRun, WebhookDelivery
from sessions_app.services import audit
from sessions_app.services.people import members
from sessions_app.services.triggers import webhook_deliveries
from sessions_app.services.upkeep import retention

INES = audit.Actor("member", "m", "Ines")
BODY = {"order": 4711}


@pytest.fixture
def receive(make_endpoint):
    """Post to an endpoint, so many days ago."""

    def post(name: str, days: int, **fields) -> WebhookDelivery:
        endpoint, _ = make_endpoint("none", name, **fields)
        body = json.dumps(BODY).encode()
        posted = webhook_deliveries.Posted(
            body, "application/json", {"host": "desk", "x-a": "b"}, "https://desk/", "192.0.2.1"
        )
        delivery = webhook_deliveries.receive(endpoint.hook_id, posted).delivery
        at = timezone.now() - timedelta(days=days)
        WebhookDelivery.objects.filter(pk=delivery.pk).update(received_at=at)
        return delivery

    return post


def now(delivery: WebhookDelivery) -> WebhookDelivery:
    return WebhookDelivery.objects.get(pk=delivery.pk)


def test_the_content_goes_and_the_run_with_its_session_stays(receive, settings):
    settings.KEEP_DELIVERIES_DAYS = 30
    old, young = receive("old", 31), receive("young", 29)
    assert retention.empty_deliveries() == 1
    assert (now(old).payload, now(old).headers, now(old).source_ip) == (None, {}, None)
    assert (now(young).payload, now(young).source_ip) == (BODY, "192.0.2.1")
    run = TriggerRun.objects.get(delivery=old)
    assert run.input_text == "" and Event.objects.filter(session=run.session, text__contains="4711").exists()
    assert retention.empty_deliveries() == 0


def test_unacknowledged_delivery_is_kept_whole(receive):
    waiting, seen = receive("waiting", 400, agent=None), receive("seen", 400, agent=None)
    webhook_deliveries.acknowledge(seen.workspace_id, [seen.pk], by=INES)
    assert retention.empty_deliveries() == 1
    assert (now(waiting).payload, now(seen).payload) == (BODY, None)


def test_purged_delivery_is_still_a_duplicate_and_cannot_be_replayed(receive, workspace):
    old = receive("old", 400)
    retention.empty_deliveries()
    posted = webhook_deliveries.Posted(
        json.dumps(BODY).encode(), "application/json", {"idempotency-key": "k"}, "", None
    )
    WebhookDelivery.objects.update(delivery_id="k")
    again = webhook_deliveries.receive(old.endpoint.hook_id, posted)
    assert (again.delivery.pk, again.is_new) == (old.pk, False)
    http = Client()
    http.force_login(members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=INES)[0].user)
    shown = http.get(f"/triggers/deliveries/{old.pk}/").content.decode()
    assert "kept for 90 days here" in shown and "Replay in a new session" not in shown
    answer = http.post(f"/triggers/deliveries/{old.pk}/replay/", follow=True)
    assert "not kept any more" in answer.content.decode()
    assert TriggerRun.objects.count() == 1


def test_signed_requests_are_forgotten_when_their_time_is_over(make_endpoint):
    endpoint, _ = make_endpoint("none")
    delivery = WebhookDelivery.objects.create(
        endpoint=endpoint, workspace_id=endpoint.workspace_id, delivery_id="a", size=0, payload={}
    )
    for name in ("old", "new"):
        SignedRequest.objects.create(endpoint=endpoint, delivery=delivery, sha256=name)
    SignedRequest.objects.filter(sha256="old").update(received_at=timezone.now() - timedelta(days=2))
    assert retention.forget_signed_requests() == 1
    assert SignedRequest.objects.get().sha256 == "new"


def test_retention_continues_after_a_batch_and_past_kept_deliveries(receive, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(5):
        receive(f"old-{number}", 400)
    assert retention.empty_deliveries() == 5


def test_answers_to_repeated_requests_are_forgotten_after_a_week(workspace, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for number, days in enumerate((8, 8, 8, 6)):
        made = IdempotentAnswer.objects.create(workspace=workspace, key=str(number), route="POST /", body_sha256="")
        IdempotentAnswer.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(days=days))
    assert retention.forget_answers() == 3
    assert IdempotentAnswer.objects.get().key == "3"


def test_the_scheduler_sends_the_retention_task():
    assert tasks.remove_old.name in settings.SENT
