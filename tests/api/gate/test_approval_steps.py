"""What is done with an approval besides deciding it, over HTTP; delivery and execution as facts of their own."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from sessions_app.models import ApiKey, Approval, AuditEntry, EscalationStep, Member, Role, Session
from sessions_app.services import audit
from sessions_app.services.approvals import delivery
from sessions_app.services.people import api_keys
from tests.api.client import ok, pointers, refused

from .test_approvals import ask, decide

SOON = timedelta(hours=1)
JSON = "application/json"


def step(client, approval, name, body=None):
    return client.post(f"approvals/{approval['id']}/{name}", body or {})


def as_it_is(api, approval):
    return ok(api.get(f"approvals/{approval['id']}"))


def actions(approval) -> list[str]:
    return list(AuditEntry.objects.filter(subject_id=approval["id"]).order_by("seq").values_list("action", flat=True))


def approved(api, admin, session, **more):
    asked = ask(api, session)
    return ok(decide(admin, asked, **more))


# --- execution ---


def test_the_executor_presents_the_digest_of_what_was_approved(api, admin, session):
    decided = approved(api, admin, session, arguments={"order": 4711, "amount": "20.00"})
    digest = decided["decision"]["digest"]
    assert digest not in ("", decided["digest"])
    running = ok(step(api, decided, "execution", {"digest": digest, "status": "running"}))
    assert (running["execution"], running["executed_at"]) == ("running", None)
    done = ok(step(api, decided, "execution", {"digest": digest, "status": "succeeded", "detail": "20.00 sent"}))
    assert done["execution"] == "succeeded" and done["executed_at"].endswith("Z")
    again = refused(step(api, decided, "execution", {"digest": digest, "status": "running"}), 409)
    assert "made already, and succeeded" in again["detail"]  # a program that is answered 200 would make it twice
    refused(step(api, decided, "execution", {"digest": digest, "status": "errored"}), 409)
    assert actions(decided)[-2:] == ["approval.executed", "approval.executed"]


def test_another_call_than_the_approved_one_is_refused_and_in_the_audit_log(api, admin, session):
    decided = approved(api, admin, session, arguments={"order": 4711, "amount": "20.00"})
    for digest in (decided["digest"], "0" * 64, ""):
        problem = refused(step(api, decided, "execution", {"digest": digest, "status": "running"}), 409)
        assert "this is not the call that was approved" in problem["detail"]
    entry = AuditEntry.objects.filter(action="approval.execution_refused").latest("seq")
    assert entry.details["executable_digest"] == decided["decision"]["digest"]
    assert as_it_is(api, decided)["execution"] == "none"


@pytest.mark.parametrize("verdict", [None, "deny"])
def test_a_call_that_is_not_approved_cannot_be_reported(api, admin, session, verdict):
    asked = ask(api, session)
    digest = Approval.objects.get().digest_of_call(asked["tool"]["arguments"])
    if verdict:
        ok(decide(admin, asked, verdict))
    refused(step(api, asked, "execution", {"digest": digest, "status": "succeeded"}), 409)


def test_only_the_asker_reports(api, admin, session):
    decided = approved(api, admin, session)
    body = {"digest": decided["decision"]["digest"], "status": "succeeded"}
    refused(step(admin, decided, "execution", body), 403)
    assert as_it_is(api, decided)["execution"] == "none"


# --- delivery ---


def test_a_decision_is_not_delivered_to_whoever_made_it(api, admin, viewer, session):
    decided = approved(api, admin, session)
    assert as_it_is(admin, decided)["delivery"] == "queued"
    told = as_it_is(api, decided)
    assert told["delivery"] == "delivered" and told["delivered_at"]


def test_asking_again_is_being_told(api, admin, session):
    asked = ask(api, session, client_id="c1")
    ok(decide(admin, asked))
    assert ask(api, session, client_id="c1")["delivery"] == "delivered"


@pytest.mark.parametrize("why", ["revoked", "expired", "archived", "silent"])
def test_where_nobody_will_fetch_a_decision_it_says_so(api, admin, workspace, session, why):
    decided = approved(api, admin, session)
    assert delivery.sweep() == 0
    Approval.objects.update(deliver_at=timezone.now() - timedelta(hours=25 if why == "silent" else 1))
    assert delivery.sweep() == (1 if why == "silent" else 0)
    if why == "archived":
        Session.objects.update(status=Session.Status.ARCHIVED)
    elif why != "silent":
        gone = {"revoked": {"revoked_at": timezone.now()}, "expired": {"expires_at": timezone.now()}}[why]
        ApiKey.objects.filter(name="reviewer key").update(**gone)
    delivery.sweep()
    assert as_it_is(admin, decided)["delivery"] == "nobody"
    if why in ("archived", "silent"):  # it came back after all
        assert as_it_is(api, decided)["delivery"] == "delivered"
        assert delivery.sweep() == 0


# --- claim, assign, snooze ---


@pytest.fixture
def member(workspace):
    """Makes a member, signed in by a browser session."""

    def make(name: str, role: Role = Role.REVIEWER) -> Member:
        user = get_user_model().objects.create_user(f"{name.lower()}@example.org", first_name=name)
        return Member.objects.create(workspace=workspace, user=user, role=role)

    return make


def test_assigning_and_snoozing_keep_it_pending(api, admin, session, member):
    asked, ines = ask(api, session), member("Ines")
    due = timezone.now() + SOON
    EscalationStep.objects.create(approval_id=asked["id"], position=1, due_at=due, targets=["role:admin"])
    assigned = ok(step(admin, asked, "assign", {"member": str(ines.pk), "note": "you know them"}))
    assert (assigned["assigned_to"], assigned["status"], assigned["version"]) == ("Ines", "pending", 1)
    until = timezone.now() + 2 * SOON
    snoozed = ok(step(admin, asked, "snooze", {"until": until.isoformat()}))
    assert (snoozed["status"], snoozed["version"]) == ("pending", 1) and snoozed["snoozed_until"]
    assert EscalationStep.objects.get().due_at > due + SOON
    assert ok(step(admin, asked, "snooze", {"until": None}))["snoozed_until"] is None
    assert abs(EscalationStep.objects.get().due_at - due) < timedelta(minutes=5)
    assert ok(step(admin, asked, "assign", {"member": None}))["assigned_to"] is None
    assert actions(asked)[1:] == [
        "approval.assigned", "approval.snoozed", "approval.unsnoozed", "approval.assigned",
    ]  # fmt: skip
    assert ok(decide(admin, asked))["status"] == "approved"


def test_what_cannot_be_assigned_or_snoozed_says_why(api, admin, viewer, session, member, other_workspace):
    asked = ask(api, session)
    stranger = Member.objects.create(
        workspace=other_workspace, user=get_user_model().objects.create_user("s@x.org"), role=Role.ADMIN
    )
    for nobody in (uuid4(), stranger.pk, member("Vera", Role.VIEWER).pk):
        assert pointers(refused(step(admin, asked, "assign", {"member": str(nobody)}), 422)) == {"/member"}
    for until in (timezone.now() - SOON, timezone.now() + 200 * SOON):
        assert pointers(refused(step(admin, asked, "snooze", {"until": until.isoformat()}), 422)) == {"/until"}
    refused(step(viewer, asked, "snooze", {"until": None}), 403)
    refused(step(admin, asked, "claim"), 403)
    ok(decide(admin, asked))
    refused(step(admin, asked, "snooze", {"until": None}), 409)
    refused(step(admin, asked, "withdraw"), 409)


def test_what_is_snoozed_expires_all_the_same(api, admin, session):
    asked = ask(api, session, expires_in=60)
    ok(step(admin, asked, "snooze", {"until": (timezone.now() + SOON).isoformat()}))
    Approval.objects.update(expires_at=timezone.now())
    assert as_it_is(api, asked)["status"] == "expired"


def test_a_claim_is_a_hint_with_an_end(api, admin, session, person_of):
    ines, omar = person_of("Ines"), person_of("Omar")
    asked = ask(api, session)
    path = f"/api/v1/approvals/{asked['id']}/claim"
    assert ok(ines.post(path, {}, content_type=JSON))["claimed_by"] == "Ines"
    assert "Ines is at it until" in refused(omar.post(path, {}, content_type=JSON), 409)["detail"]
    Approval.objects.update(claimed_until=timezone.now())
    assert ok(omar.post(path, {}, content_type=JSON))["claimed_by"] == "Omar"
    assert ok(ines.delete(path))["claimed_by"] == "Omar"
    assert ok(omar.delete(path))["claimed_by"] is None
    assert ok(decide(admin, asked))["status"] == "approved"


@pytest.fixture
def person_of(member, client):
    """A browser of a new member."""
    from django.test import Client

    def make(name: str) -> Client:
        browser = Client()
        browser.force_login(member(name).user)
        return browser

    return make


# --- taking back ---


def test_a_decision_of_a_person_is_pending_for_its_asker_until_it_takes_effect(api, session, person_of, settings):
    settings.UNDO_SECONDS = 5
    asked, ines, omar = ask(api, session), person_of("Ines"), person_of("Omar")
    body = {"verdict": "approve", "version": 1, "digest": asked["digest"]}
    path = f"/api/v1/approvals/{asked['id']}"
    decided = ok(ines.post(f"{path}/decision", body, content_type=JSON))
    assert (decided["status"], decided["decision"]) == ("pending", None) and decided["takes_effect_at"]
    assert as_it_is(api, asked)["status"] == "pending"
    problem = refused(omar.post(f"{path}/decision", body | {"verdict": "deny"}, content_type=JSON), 409)
    assert (problem["winner"]["by"], problem["winner"]["verdict"]) == ("Ines", "approve")
    refused(omar.post(f"{path}/withdraw", {}, content_type=JSON), 403)
    back = ok(ines.post(f"{path}/withdraw", {}, content_type=JSON))
    assert (back["takes_effect_at"], [vote["counts"] for vote in back["votes"]]) == (None, [False, False])
    ok(ines.post(f"{path}/decision", body | {"version": 3}, content_type=JSON))
    Approval.objects.update(deliver_at=timezone.now())
    told = as_it_is(api, asked)
    assert (told["status"], told["decision"]["by"], told["delivery"]) == ("approved", "Ines", "delivered")


def test_keys_of_one_person_are_one_vote_over_http(api, admin, session, workspace, member):
    asked, ines = ask(api, session), member("Ines")
    Approval.objects.update(votes_needed=2)
    by = audit.Actor("member", str(ines.pk), "Ines")
    secrets = [api_keys.create_api_key(workspace, f"k{n}", Role.REVIEWER, by=by)[1] for n in range(2)]
    for number, secret in enumerate(secrets, 1):
        now = as_it_is(admin, asked)
        assert ok(decide(type(api)(secret), now))["status"] == "pending"
        assert sum(vote["counts"] for vote in as_it_is(admin, asked)["votes"]) == 1
        assert len(as_it_is(admin, asked)["votes"]) == number
    assert ok(decide(admin, as_it_is(admin, asked)))["status"] == "approved"
