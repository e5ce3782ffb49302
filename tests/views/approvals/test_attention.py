"""Time on a card, and secrets that somebody had shown: written down, bounded, and nobody else's."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, CardView, Grant
from sessions_app.rendering.arguments import secrets

from ..build import asks, session_of

SECRET = "sk-live-abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def approval(agent):
    headers = {"Authorization": f"Bearer {SECRET}"}
    return asks(session_of(agent), tool="http_request", arguments={"url": "https://x.example", "headers": headers})


def test_secrets_are_shown_to_who_asks_and_the_audit_log_says_so(reviewer, approval):
    for address in ("/approvals/", f"/approvals/{approval.pk}/", f"/approvals/cards?id={approval.pk}"):
        assert SECRET not in reviewer.get(address).content.decode(), address
    assert SECRET in reviewer.post(f"/approvals/{approval.pk}/secrets").content.decode()
    entry = AuditEntry.objects.get(action="approval.secrets_shown")
    assert (entry.actor_name, entry.subject_id) == ("Rosa", str(approval.pk)) and SECRET not in str(entry.details)
    assert CardView.objects.get().secrets_shown_at
    assert SECRET not in reviewer.get("/approvals/").content.decode(), "once, and not from now on"


def test_what_has_secrets_is_edited_with_them_shown_only(reviewer, approval):
    assert 'name="arguments"' not in reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    shown = reviewer.post(f"/approvals/{approval.pk}/secrets", {"for": "edit"}).content.decode()
    assert 'name="arguments"' in shown and SECRET in shown


@pytest.mark.parametrize("path", ["secrets", "seen"])
def test_strangers_see_nothing_and_reading_is_no_way_to_secrets(charlie, viewer, approval, path):
    assert charlie.post(f"/approvals/{approval.pk}/{path}").status_code == 404
    assert viewer.get(f"/approvals/{approval.pk}/{path}").status_code == 405
    assert viewer.post(f"/approvals/{approval.pk}/secrets").status_code == 403
    assert not CardView.objects.filter(secrets_shown_at__isnull=False).exists()


def test_time_on_a_card_adds_up_but_not_faster_than_the_clock(reviewer, approval):
    def told(seconds) -> float:
        assert reviewer.post(f"/approvals/{approval.pk}/seen", {"seconds": seconds}).status_code == 204
        return CardView.objects.get().seconds

    assert told("12.5") == 12.5
    assert told("3600") < 15, "an hour within a moment is a lie"
    CardView.objects.update(last_at=timezone.now() - timedelta(seconds=30), seconds=0)
    assert told("20") == 20
    for nonsense in ("nan", "inf", "-5", "x", ""):
        assert told(nonsense) == 20


def test_grants_and_rules_made_of_a_card_show_no_secret(reviewer, admin, agent, approval):
    plain = asks(session_of(agent), tool="sign_in", arguments={"user": "ada", "password": "hunter2hunter2"})
    for one in (approval, plain):
        for client, address in (
            (reviewer, f"/approvals/{one.pk}/always"), (admin, f"/settings/policies/new?approval={one.pk}"),
        ):  # fmt: skip
            page = client.get(address).content.decode()
            assert SECRET not in page and "hunter2" not in page, address
    assert "/user" in admin.get(f"/settings/policies/new?approval={plain.pk}").content.decode()
    form = {"which": "exact", "scope": "session", "hours": "8", "reason": "The nightly sign-in"}
    assert reviewer.post(f"/approvals/{plain.pk}/always", form).status_code == 302
    assert Grant.objects.get().arguments[0]["value"]["password"] == "hunter2hunter2", "what passes is what was asked"
    assert "hunter2" not in reviewer.get("/settings/grants/").content.decode()
    assert "hunter2" not in str(AuditEntry.objects.get(action="grant.made").details)


def test_conditions_are_masked_by_the_name_of_what_they_compare():
    said = [{"path": "/login/password", "op": "=", "value": "hunter2"}, {"path": "/user", "op": "exists"}]
    shown = secrets.masked_conditions(said)
    assert "hunter2" not in str(shown) and shown[1] == said[1] and said[0]["value"] == "hunter2"
