"""A decision and a grant in one: made when the decision takes effect, or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Grant, Member
from sessions_app.queries import chains
from sessions_app.services import agents, audit
from sessions_app.services.approvals import effects, taking_back
from sessions_app.services.approvals.decisions import Conflict, Invalid
from sessions_app.services.oversight import planting
from sessions_app.services.people import members
from sessions_app.services.policies import grants
from sessions_app.services.policies.wishes import Wish

from .test_decisions import ask
from .test_votes import ask_of, vote

pytestmark = pytest.mark.django_db
ALWAYS = Wish("It is always right", lasts=timedelta(hours=1))


def as_it_is(approval) -> Approval:
    return Approval.objects.get(pk=approval.pk)


def take_effect(approval) -> Approval:
    Approval.objects.filter(pk=approval.pk).update(deliver_at=timezone.now())
    assert effects.settle(approval.pk)
    return as_it_is(approval)


def test_it_approves_and_lets_the_same_call_pass_from_then_on(session, person):
    decided = vote(ask(session), person("Ines"), grant=ALWAYS)
    grant = Grant.objects.get()
    assert (decided.status, decided.decision["grant"], grant.made_of) == ("approved", str(grant.pk), decided.pk)
    assert (grant.made_by, grant.reason, grant.session, grant.arguments) == (
        "Ines", "It is always right", session, [{"path": "", "op": "=", "value": {"amount": 40}}],
    )  # fmt: skip
    assert AuditEntry.objects.get(action="grant.made").details["approval"] == str(decided.pk)
    assert (ask(session).status, ask(session, {"amount": 41}).status) == ("auto_allowed", "pending")
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_one_that_is_taken_back_has_allowed_nothing(session, person, settings):
    settings.UNDO_SECONDS = 5
    approval, ines = ask(session), person("Ines")
    vote(approval, ines, grant=ALWAYS)
    assert not Grant.objects.exists() and ask(session).status == "pending"
    taking_back.withdraw(as_it_is(approval), ines)
    decided = take_effect(vote(approval, ines))
    assert (decided.status, "grant" in decided.decision, Grant.objects.count()) == ("approved", False, 0)


def test_it_is_made_by_whoever_finds_that_the_time_is_over(session, person, settings):
    settings.UNDO_SECONDS = 5
    approval = ask(session)
    vote(approval, person("Ines"), grant=ALWAYS)
    assert take_effect(approval).decision["grant"] == str(Grant.objects.get().pk)


@pytest.mark.parametrize("what", ["version", "leaves", "demoted"])
def test_what_changed_before_it_took_effect_leaves_the_approval_alone(session, person, settings, what):
    settings.UNDO_SECONDS = 5
    approval, ines = ask(session), person("Ines")
    vote(approval, ines, grant=ALWAYS)
    member = Member.objects.get(pk=ines.member_id)
    if what == "version":
        agents.change(session.agent, {"instructions": "Pay everybody"}, by=audit.COMMAND)
    elif what == "leaves":
        members.remove_member(member, by=audit.COMMAND)
    else:
        Member.objects.filter(pk=member.pk).update(role="viewer")
    decided = take_effect(approval)
    assert (decided.status, Grant.objects.count()) == ("approved", 0)
    said = {"version": "another version", "leaves": "not here any more", "demoted": "may not decide"}[what]
    assert said in decided.decision["no_grant"]


@pytest.mark.parametrize("terms", [{"risk": "high"}, {"decisions": ["approve"]}, {"not_initiator": True}])
def test_where_no_grant_can_be_made_nothing_is_decided(session, person, terms):
    approval = ask_of(session, 1, **terms)
    with pytest.raises(Invalid) as refused:
        vote(approval, person("Ines"), grant=ALWAYS, sure=True)
    assert refused.value.field == "grant" and as_it_is(approval).status == "pending"


@pytest.mark.parametrize("verdict, more", [
    ("deny", {}), ("answer", {"answer": "x"}), ("approve", {"arguments": {"amount": 1}}),
    ("approve", {"grant": Wish(" ")}), ("approve", {"grant": Wish("why", lasts=timedelta(days=31))}),
])  # fmt: skip
def test_what_makes_no_grant_is_refused(session, person, verdict, more):
    approval = ask(session)
    with pytest.raises(Invalid) as refused:
        vote(approval, person("Ines"), verdict, **({"grant": ALWAYS} | more))
    assert refused.value.field == "grant" and as_it_is(approval).status == "pending"


def test_the_same_decision_again_is_one_grant_and_another_is_a_conflict(session, person):
    approval, ines = ask(session), person("Ines")
    vote(approval, ines, grant=ALWAYS)
    assert vote(approval, ines, version=1, grant=ALWAYS).status == "approved"
    for other in (None, Wish("Something else")):
        with pytest.raises(Conflict):
            vote(approval, ines, version=1, grant=other)
    assert Grant.objects.count() == 1


def test_a_planted_call_grants_nothing(session, person):
    ada, ines = person("Ada", "admin"), person("Ines")
    question = planting.requests.Question("pay", {"amount": 1})
    planted = planting.plant(session.agent, question, by=Member.objects.get(pk=ada.member_id))
    decided = vote(planted, ines, grant=ALWAYS)
    assert (decided.decision["no_grant"], Grant.objects.count()) == ("it was a test call", 0)


def test_a_grant_that_was_made_of_a_planted_call_lets_nothing_pass_and_ends_with_it(session, person):
    ada, ines = person("Ada", "admin"), person("Ines")
    question = planting.requests.Question("refund", {"amount": 40})
    planted = planting.plant(session.agent, question, by=Member.objects.get(pk=ada.member_id))
    grant = grants.make_from(planted, Wish("why not", whole_agent=True), decider=ines)
    assert ask(session).status == "pending"
    vote(planted, ines, "deny")
    grant.refresh_from_db()
    assert grant.end_reason == "it was made of a test call"
