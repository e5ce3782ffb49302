"""The same delivery twice at once, each with a connection of its own: a sender that gave up waiting tries again."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from sessions_app.models import Session, TriggerRun, WebhookDelivery
from sessions_app.services.triggers import webhook_deliveries

pytestmark = pytest.mark.django_db(transaction=True)


def test_concurrent_equal_webhooks_make_one_delivery_and_one_session(transactional_db, make_endpoint):
    endpoint, _ = make_endpoint("none")
    posted = webhook_deliveries.Posted(
        b'{"order": 4711}', "application/json", {"idempotency-key": "a"}, "http://x/hooks/y", None
    )
    together, came = threading.Barrier(6), []

    def receive() -> None:
        together.wait()
        came.append(webhook_deliveries.receive(endpoint.hook_id, posted))
        connection.close()

    senders = [threading.Thread(target=receive) for _ in range(6)]
    for one in senders:
        one.start()
    for one in senders:
        one.join(60)
    assert (WebhookDelivery.objects.count(), Session.objects.count(), TriggerRun.objects.count()) == (1, 1, 1)
    assert sorted(received.is_new for received in came) == [False] * 5 + [True]
    assert {(received.delivery.pk, received.session_id) for received in came} == {
        (WebhookDelivery.objects.get().pk, Session.objects.get().pk)
    }
