"""Approvals that do not go on by themselves are found, each with the reason, and none that does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from config import doctor
from sessions_app.models import Absence, ApiKey, Approval, EscalationStep, Role, Session
from sessions_app.queries import stuck
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.escalations import steps
from sessions_app.services.people import api_keys
from sessions_app.services.policies import versions

from ..approvals.test_decisions import ask, decide
from .test_steps import person

pytestmark = pytest.mark.django_db
TWO_HOURS = timedelta(hours=2)


def old(approval: Approval, ago=TWO_HOURS) -> Approval:
    Approval.objects.filter(pk=approval.pk).update(requested_at=timezone.now() - ago)
    return approval


def reasons(workspace) -> list[str]:
    return [one.why for one in stuck.stuck(workspace.pk)]


def test_what_somebody_may_decide_is_not_stuck_however_old(session, workspace):
    person(workspace, "Rosa")
    old(ask(session), timedelta(days=3))
    assert reasons(workspace) == []


def test_what_nobody_may_decide_is_stuck_after_an_hour(session, workspace):
    approval = ask(session)
    assert reasons(workspace) == []
    old(approval)
    assert reasons(workspace) == ["nobody in this workspace may decide it"]
    person(workspace, "Vito", Role.VIEWER)
    assert len(reasons(workspace)) == 1
    person(workspace, "Rosa")
    assert reasons(workspace) == []


def test_a_rule_that_names_who_is_not_there_is_found(session, workspace):
    rosa = person(workspace, "Rosa")
    for eligible in ({"members": ["gone@example.org"]}, {"roles": ["admin"]}):
        rules = [{"name": "Money", "match": {}, "effect": "ask", "ask": {"eligible": eligible}}]
        versions.publish(versions.save_draft(workspace.pk, rules, by=audit.COMMAND), by=audit.COMMAND)
        old(ask(session))
    assert len(reasons(workspace)) == 2
    Approval.objects.update(terms={"eligible": {"members": [rosa.user.email.upper()]}})
    assert reasons(workspace) == []


def test_who_asked_is_nobody_who_may_decide(session, workspace):
    rosa = person(workspace, "Rosa")
    by = audit.Actor("member", str(rosa.pk), "Rosa")
    old(requests.request(session, requests.Question("refund", {}), by=by))
    assert reasons(workspace) == ["nobody in this workspace may decide it"]
    person(workspace, "Omar")
    assert reasons(workspace) == []


def test_what_is_assigned_to_somebody_who_is_away_is_stuck_at_once(session, workspace):
    rosa = person(workspace, "Rosa")
    approval = ask(session)
    Approval.objects.filter(pk=approval.pk).update(assigned_to=rosa)
    assert reasons(workspace) == []
    now = timezone.now()
    Absence.objects.create(workspace=workspace, member=rosa, begins_at=now - TWO_HOURS, ends_at=now + TWO_HOURS)
    assert reasons(workspace) == ["it is assigned to Rosa, who is away"]


def test_a_decision_that_did_not_arrive_for_minutes_is_stuck(session, workspace):
    decided = decide(ask(session))
    Approval.objects.filter(pk=decided.pk).update(delivery="failed", delivery_error="connection refused")
    assert reasons(workspace) == []
    Approval.objects.update(decided_at=timezone.now() - timedelta(minutes=10))
    assert reasons(workspace) == ["it was decided, and the decision could not be delivered: connection refused"]
    Approval.objects.update(delivery="uncertain", delivery_error="")
    assert reasons(workspace) == ["it was decided, and the decision may or may not have been delivered"]
    Approval.objects.update(delivery="delivered")
    assert reasons(workspace) == []


def test_a_question_of_a_key_that_was_revoked_is_stuck(session, workspace):
    person(workspace, "Rosa")
    key, _ = api_keys.create_api_key(workspace, "bot", Role.AGENT, by=audit.COMMAND)
    by = audit.Actor("api_key", str(key.pk), "bot")
    old(requests.request(session, requests.Question("refund", {}), by=by))
    assert reasons(workspace) == []
    ApiKey.objects.update(revoked_at=timezone.now())
    assert reasons(workspace) == ["the key bot, which asked, was revoked or has expired"]


def test_a_question_of_an_agent_here_that_is_at_no_turn_is_stuck(scripted_agent, workspace):
    person(workspace, "Rosa")
    session = Session.objects.create(workspace=workspace, agent=scripted_agent)
    by = audit.Actor("agent", str(scripted_agent.pk), "Parrot")
    old(requests.request(session, requests.Question("refund", {}), by=by))
    assert reasons(workspace) == ["its agent is at no turn any more that could make the call"]


def test_what_more_people_have_to_approve_than_there_are_is_stuck(session, workspace):
    person(workspace, "Rosa")
    Approval.objects.filter(pk=old(ask(session)).pk).update(votes_needed=2)
    assert reasons(workspace) == ["2 people have to approve it, and 1 here may"]
    person(workspace, "Omar")
    assert reasons(workspace) == []


def test_an_escalation_that_is_late_or_reached_nobody_is_stuck(session, workspace):
    person(workspace, "Rosa")
    late = timezone.now() - timedelta(minutes=6)
    step = EscalationStep.objects.create(approval=ask(session), position=1, targets=["role:admin"], due_at=late)
    assert reasons(workspace) == ["more people were to be told minutes ago, and nobody was: no scheduler looks"]
    assert steps.fire_due() == 1
    assert reasons(workspace) == ["it was to be told to more people (role:admin), and none of them is here"]
    person(workspace, "Ada", Role.ADMIN)
    step.pk, step.position = None, 2
    step.save(force_insert=True)
    assert steps.fire_due() == 1 and reasons(workspace) == []


def test_the_doctor_has_a_notice_of_it_and_calls_it_no_fault(session, workspace):
    assert doctor.stuck_notice() is None
    for _ in range(2):
        old(ask(session))
    said = doctor.stuck_notice()
    assert said is not None and said.startswith(
        "stuck are 2 in default (the oldest: nobody in this workspace may decide it)"
    )


def test_queries_do_not_grow_with_what_waits(session, workspace, django_assert_max_num_queries):
    for _ in range(30):
        old(ask(session))
    with django_assert_max_num_queries(11):
        assert len(stuck.stuck(workspace.pk)) == 20
