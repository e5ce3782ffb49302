"""People tell others of what waits, with the reason; a rule's step is repeated as often as it says."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.models import Approval, AuditEntry, EscalationStep, Member, Role
from sessions_app.policy.faults import Invalid as InvalidRule
from sessions_app.policy.reading import read_rules
from sessions_app.services import audit
from sessions_app.services.approvals import handling
from sessions_app.services.approvals.decisions import Conflict, Decider, Invalid, NotAllowed
from sessions_app.services.escalations import steps

from ..approvals.test_decisions import ask, decide
from ..build import log
from .test_steps import HOUR, later, mails, person, rule, step

pytestmark = pytest.mark.django_db


def decider(member: Member) -> Decider:
    actor = audit.Actor("member", str(member.pk), str(member))
    return Decider(actor, Role(member.role), "web", member_id=member.pk)


def stated(**repeat) -> list[dict]:
    escalation = [step(HOUR, "role:admin") | {"repeat": repeat}]
    return [{"name": "Money", "match": {}, "effect": "ask", "ask": {"escalation": escalation}}]


def test_admins_are_told_at_once_and_it_stays_pending(session, workspace):
    rosa = person(workspace, "Rosa")
    person(workspace, "Ada", Role.ADMIN)
    approval = ask(session)
    handling.escalate(approval, decider(rosa), ["role:admin"], reason="I do not know\nthis customer")
    taken = EscalationStep.objects.get()
    assert (taken.taken_by, taken.reason, taken.told, taken.fired_at is not None) == (
        "Rosa", "I do not know this customer", ["Ada"], True,
    )  # fmt: skip
    assert mails() == {("Ada", 1)}
    now = Approval.objects.get()
    assert (now.status, now.version) == ("pending", 1)
    assert "Rosa told Ada that refund waits: I do not know this customer" in log(session)[-1].text
    entry = AuditEntry.objects.get(action="approval.escalated")
    assert (entry.actor_name, entry.details["reason"]) == ("Rosa", "I do not know this customer")


def test_it_comes_behind_the_steps_of_the_rule_which_fire_all_the_same(session, workspace):
    rosa = person(workspace, "Rosa")
    person(workspace, "Ada", Role.ADMIN)
    rule(workspace.pk, step(HOUR, "role:admin"))
    approval = ask(session)
    handling.escalate(approval, decider(rosa), ["role:admin", "role:admin"], reason="Now")
    assert steps.fire_due() == 0
    later(approval, HOUR)
    assert steps.fire_due() == 1
    assert mails() == {("Ada", 1), ("Ada", 2)}


@pytest.mark.parametrize(
    "targets", [[], ["everybody"], ["role:viewer"], ["member:nobody@example.org"], ["role:admin"] * 21]
)
def test_whom_it_cannot_reach_is_said_and_nothing_is_kept(session, workspace, targets):
    rosa, approval = person(workspace, "Rosa"), ask(session)
    with pytest.raises(Invalid) as refused:
        handling.escalate(approval, decider(rosa), targets, reason="Now")
    assert refused.value.field == "to" and not EscalationStep.objects.exists()


def test_it_needs_a_reason_a_reviewer_and_something_that_waits(session, workspace):
    rosa, vito, approval = person(workspace, "Rosa"), person(workspace, "Vito", Role.VIEWER), ask(session)
    with pytest.raises(Invalid):
        handling.escalate(approval, decider(rosa), ["role:reviewer"], reason="  ")
    with pytest.raises(NotAllowed):
        handling.escalate(approval, decider(vito), ["role:reviewer"], reason="Now")
    decide(approval)
    with pytest.raises(Conflict):
        handling.escalate(approval, decider(rosa), ["role:reviewer"], reason="Now")


def test_a_step_is_repeated_as_often_as_the_rule_says(session, workspace):
    person(workspace, "Ada", Role.ADMIN)
    rule(
        workspace.pk,
        step(HOUR, "role:admin") | {"repeat": {"every": 600, "times": 2}},
        step(HOUR + 60, "role:reviewer"),
    )
    approval = ask(session)
    found = EscalationStep.objects.order_by("position")
    assert [(one.due_at - approval.requested_at, one.targets) for one in found] == [
        (timedelta(seconds=at), [whom])
        for at, whom in (
            (HOUR, "role:admin"), (HOUR + 60, "role:reviewer"), (HOUR + 600, "role:admin"), (HOUR + 1200, "role:admin"),
        )
    ]  # fmt: skip
    later(approval, 2 * HOUR)
    assert (steps.fire_due(), steps.fire_due()) == (4, 0)
    assert mails() == {("Ada", number) for number in (1, 2, 3, 4)}


@pytest.mark.parametrize("repeat", [
    {}, {"every": 600}, {"times": 2}, {"every": 30, "times": 2}, {"every": 600, "times": 0},
    {"every": 600, "times": 21}, {"every": 20 * 86400, "times": 2}, {"every": True, "times": 1},
    {"every": 600, "times": 2, "for": 3},
])  # fmt: skip
def test_a_repetition_that_makes_no_sense_is_refused(repeat):
    with pytest.raises(InvalidRule, match="Money"):
        read_rules(stated(**repeat))
    assert read_rules(stated(every=60, times=20))
