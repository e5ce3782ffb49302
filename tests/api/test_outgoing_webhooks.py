"""Outgoing webhooks over the API: for admins alone; a secret is told once; what was posted can be read."""

from __future__ import annotations

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, IdempotentAnswer, OutgoingMessage, OutgoingWebhook

from .client import ok, refused

NEW = {"name": "ops", "url": "https://ops.example.com/in?key=hushed", "events": ["approval.requested"]}


def test_a_webhook_is_made_read_changed_and_removed(admin):
    made = ok(admin.post("outgoing-webhooks", NEW), 201)
    secret = made.pop("secret")
    assert secret.startswith("whsec_") and OutgoingWebhook.objects.get().secret == secret
    path = f"outgoing-webhooks/{made['id']}"
    assert ok(admin.get(path)) == made and "secret" not in ok(admin.get(path))
    assert admin.all("outgoing-webhooks") == [made]
    changed = ok(admin.patch(path, {"events": [], "active": False}))
    assert (changed["events"], changed["active"], changed["name"]) == ([], False, "ops")
    rotated = ok(admin.post(f"{path}/rotate"))
    assert rotated["secret"] != secret
    assert admin.send("DELETE", path, "").status_code == 204
    refused(admin.get(path), 404)
    actions = AuditEntry.objects.filter(action__startswith="outgoing_webhook.").order_by("seq")
    assert [one.action.partition(".")[2] for one in actions] == ["created", "changed", "secret_changed", "removed"]
    assert "hushed" not in str([one.details for one in actions]) and secret not in str([one.details for one in actions])


def test_an_answer_that_is_kept_for_repeats_has_no_secret(admin):
    """The column of the secret is encrypted; the answer was kept beside it for a week, as it was told."""
    made = admin.post("outgoing-webhooks", NEW, **{"Idempotency-Key": "1"})
    rotate = f"outgoing-webhooks/{ok(made, 201)['id']}/rotate"
    rotated = admin.post(rotate, **{"Idempotency-Key": "2"})
    for first, status, sent in ((made, 201, ("outgoing-webhooks", NEW, "1")), (rotated, 200, (rotate, None, "2"))):
        told, (path, body, key) = ok(first, status), sent
        assert told["secret"].startswith("whsec_")
        assert ok(admin.post(path, body, **{"Idempotency-Key": key}), status) == told | {"secret": None}
        assert told["secret"] not in str([kept.answer for kept in IdempotentAnswer.objects.all()])
    assert OutgoingWebhook.objects.get().secret == ok(rotated)["secret"]


def test_a_test_is_among_the_messages(admin):
    made = ok(admin.post("outgoing-webhooks", NEW), 201)
    sent = ok(admin.post(f"outgoing-webhooks/{made['id']}/test"), 201)
    assert admin.all(f"outgoing-webhooks/{made['id']}/messages") == [sent]
    assert (sent["event"], sent["tries"], sent["taken_at"]) == ("webhook.test", 0, None)
    ok(admin.patch(f"outgoing-webhooks/{made['id']}", {"active": False}))
    refused(admin.post(f"outgoing-webhooks/{made['id']}/test"), 422)


@pytest.mark.parametrize("change", [
    {"url": "file:///etc/passwd"}, {"url": "https://me:pw@example.com"}, {"events": ["approval.exploded"]},
    {"name": " "}, {"name": "a\u202eb"},
    {"secret": "mine"}, {"url": "https://x.example/\0"},
])  # fmt: skip
def test_what_is_wrong_is_named(admin, change):
    assert (
        refused(admin.post("outgoing-webhooks", NEW | change), 422)["errors"][0]["pointer"] == f"/{[*change][0]}"
        or "events" in change
    )
    assert not OutgoingWebhook.objects.exists()


def test_a_name_is_taken_once(admin):
    ok(admin.post("outgoing-webhooks", NEW), 201)
    refused(admin.post("outgoing-webhooks", NEW), 422)


def test_others_than_admins_see_nothing_of_it(admin, api, viewer, stranger):
    made = ok(admin.post("outgoing-webhooks", NEW), 201)
    for path in ("outgoing-webhooks", f"outgoing-webhooks/{made['id']}", f"outgoing-webhooks/{made['id']}/messages"):
        refused(api.get(path), 403)
        refused(viewer.get(path), 403)
    refused(stranger.get(f"outgoing-webhooks/{made['id']}"), 404)
    refused(stranger.patch(f"outgoing-webhooks/{made['id']}", {"url": "https://theirs.example"}), 404)
    refused(stranger.post(f"outgoing-webhooks/{made['id']}/rotate"), 404)
    assert stranger.all("outgoing-webhooks") == []


def test_what_was_given_up_is_sent_again_and_nothing_else_is(admin, api, stranger):
    made = ok(admin.post("outgoing-webhooks", NEW), 201)
    sent = ok(admin.post(f"outgoing-webhooks/{made['id']}/test"), 201)
    again = f"outgoing-webhooks/{made['id']}/messages/{sent['id']}/send-again"
    assert "on its way" in refused(admin.post(again), 409)["detail"]
    OutgoingMessage.objects.update(next_try_at=None, tries=11, error="the answer was 500 — given up")
    refused(api.post(again), 403)
    refused(stranger.post(again), 404)
    refused(admin.post(again.replace(sent["id"], made["id"])), 404)
    told = ok(admin.post(again))
    assert (told["id"], told["body"], told["tries"]) == (sent["id"], sent["body"], 0) and told["next_try_at"]
    assert told["error"] == "", "it says given up no longer"
    (entry,) = AuditEntry.objects.filter(action="outgoing_webhook.sent_again")
    assert entry.details["message"] == sent["id"] and entry.details["tries"] == 11
    OutgoingMessage.objects.update(next_try_at=None, taken_at=timezone.now())
    assert "delivered" in refused(admin.post(again), 409)["detail"]
    OutgoingMessage.objects.update(taken_at=None)
    ok(admin.patch(f"outgoing-webhooks/{made['id']}", {"active": False}))
    refused(admin.post(again), 422)
