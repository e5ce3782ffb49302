"""Triggers of an agent that is stopped start nothing, and say why."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Session, TriggerRun, WebhookDelivery
from sessions_app.services.triggers import schedules, webhook_deliveries

from ..stops.build import lift, stop
from .conftest import INES, at
from .test_webhooks import post, taken

pytestmark = pytest.mark.django_db
WHY = "Parrot is stopped by Olga, until somebody lifts it: it refunds the wrong people"


def test_a_schedule_that_is_due_is_skipped_with_the_reason(make_schedule, scripted_agent):
    schedule = make_schedule("2026-03-02T08:00Z")
    made = stop(scripted_agent)
    assert schedules.fire_due(at("2026-03-02T08:00:04Z")) == 1
    run = TriggerRun.objects.get()
    assert (run.status, run.error, run.session) == ("skipped", WHY, None)
    assert schedules.run_now(schedule, by=INES).status == "skipped"
    assert not Session.objects.exists()
    lift(made)
    assert schedules.run_now(schedule, by=INES).status == "started"


def test_a_webhook_is_kept_and_starts_nothing(make_endpoint, scripted_agent):
    made = stop(scripted_agent, everybody=True)
    endpoint, _ = make_endpoint("none")
    answer = taken(post(Client(), endpoint, {"order": 4711}))
    run = TriggerRun.objects.get()
    assert (run.status, run.session, answer["session"]) == ("skipped", None, None)
    assert "every agent of this workspace is stopped by Olga" in run.error
    delivery = WebhookDelivery.objects.get()
    assert delivery.payload == {"order": 4711}
    assert webhook_deliveries.replay(delivery, by=INES).status == "skipped"
    lift(made)
    assert webhook_deliveries.replay(delivery, by=INES).status == "started"
