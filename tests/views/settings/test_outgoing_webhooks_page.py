"""The pages of outgoing webhooks: an admin makes one, tries it, sees what became of posts; nobody else sees them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import OutgoingMessage, OutgoingWebhook
from sessions_app.services import audit
from sessions_app.services.notices import outgoing_webhooks

from ..build import words

ENTERED = {"name": "ops", "url": "https://ops.example.com/in", "events": ["approval.requested", "stop.made"]}


@pytest.fixture
def webhook(workspace) -> OutgoingWebhook:
    made, _ = outgoing_webhooks.create(workspace.id, "<b>ops", "https://ops.example.com/", [], by=audit.SYSTEM)
    return made


def test_a_webhook_is_made_and_its_secret_is_shown_once(admin):
    page = admin.post("/settings/webhooks/new/", ENTERED, follow=True)
    made = OutgoingWebhook.objects.get()
    assert page.redirect_chain == [(f"/settings/webhooks/{made.pk}/", 302)], "a reload makes no other webhook"
    assert made.secret in page.content.decode() and page.headers["Cache-Control"] == "no-store"
    assert made.events == ENTERED["events"]
    again = admin.get(f"/settings/webhooks/{made.pk}/")
    assert made.secret not in again.content.decode()
    assert "Outgoing webhooks" in words(admin.get("/settings/")) and "ops" in words(admin.get("/settings/webhooks/"))


def test_what_was_wrong_stays_in_the_form_with_why(admin):
    page = admin.post("/settings/webhooks/new/", ENTERED | {"url": "ops.example.com"})
    assert page.status_code == 422 and "use https://HOST/PATH" in words(page)
    assert 'value="ops.example.com"' in page.content.decode()
    assert not OutgoingWebhook.objects.exists()


def test_the_page_shows_what_became_of_posts_and_escapes_names(admin, webhook):
    admin.post(f"/settings/webhooks/{webhook.pk}/test/")
    OutgoingMessage.objects.update(error="the answer was 500, not 2xx", last_status=500, next_try_at=None, tries=11)
    OutgoingWebhook.objects.update(problem="the answer was 500, not 2xx")
    page = admin.get(f"/settings/webhooks/{webhook.pk}/")
    assert "webhook.test" in words(page) and "Given up the answer was 500" in words(page)
    assert "<b>ops" not in page.content.decode()


def test_what_was_given_up_is_sent_again_by_a_button_beside_it(admin, webhook, reviewer, charlie):
    path = f"/settings/webhooks/{webhook.pk}/"
    admin.post(f"{path}test/")
    sent = OutgoingMessage.objects.get()
    again = f"{path}messages/{sent.pk}/again/"
    assert again not in admin.get(path).content.decode(), "it is on its way"
    OutgoingMessage.objects.update(error="the answer was 500 — given up", next_try_at=None, tries=11)
    OutgoingWebhook.objects.update(next_at=timezone.now() + timedelta(hours=1))
    assert again in admin.get(path).content.decode()
    assert (reviewer.post(again).status_code, charlie.post(again).status_code) == (403, 404)
    assert admin.get(again).status_code == 405
    assert "It is sent again" in words(admin.post(again, follow=True))
    kept = OutgoingMessage.objects.get()
    assert (kept.pk, kept.body, kept.tries) == (sent.pk, sent.body, 0) and kept.next_try_at
    assert OutgoingWebhook.objects.get().next_at <= timezone.now(), "it does not wait for the end of a pause"
    assert "It was not sent again: it is on its way" in words(admin.post(again, follow=True))
    assert admin.post(f"{path}messages/{webhook.pk}/again/").status_code == 404


def test_it_is_changed_switched_off_given_another_secret_and_removed(admin, webhook):
    path, before = f"/settings/webhooks/{webhook.pk}/", webhook.secret
    assert f'action="{path}change/#change"' in admin.get(path).content.decode()
    assert admin.post(f"{path}change/", ENTERED).url == f"{path}#main"
    admin.post(f"{path}switch/", {"active": "false"})
    page = admin.post(f"{path}secret/", follow=True)
    assert page.redirect_chain == [(path, 302)]
    webhook.refresh_from_db()
    assert (webhook.name, webhook.active) == ("ops", False) and webhook.secret != before
    assert webhook.secret in page.content.decode()
    assert "switched off" in words(admin.post(f"{path}test/", follow=True))
    admin.post(f"{path}remove/")
    assert not OutgoingWebhook.objects.exists()


def test_nobody_else_sees_or_changes_it(reviewer, viewer, charlie, webhook):
    path = f"/settings/webhooks/{webhook.pk}/"
    for who, status in ((reviewer, 403), (viewer, 403), (charlie, 404)):
        assert who.get(path).status_code == status
        for what in ("change", "switch", "secret", "test", "remove"):
            assert who.post(f"{path}{what}/", ENTERED).status_code == status
    assert reviewer.get("/settings/webhooks/").status_code == 403
    assert "Outgoing webhooks" not in words(reviewer.get("/settings/"))
    assert OutgoingWebhook.objects.get().name == webhook.name
