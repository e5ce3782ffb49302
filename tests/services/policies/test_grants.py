"""A grant lets through what a person meant, as often as they said, and not one call more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Event, Grant, Member, Role, Session
from sessions_app.policy.faults import Invalid
from sessions_app.queries.policies import state_of_grant
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals.authority import Decider, NotAllowed
from sessions_app.services.people import members
from sessions_app.services.policies import grants
from sessions_app.services.policies.grants import Wish
from tests.policy.build import argument, rule

from ..build import at_once
from .build import ask, in_force

pytestmark = pytest.mark.django_db
INES = Decider(audit.Actor("member", "", "Ines"), Role.REVIEWER, "web")
SMALL = argument("/amount", "<", 100)


def allow(approval: Approval, by: Decider = INES, **wish) -> Grant:
    return grants.make_from(approval, Wish("it is always right", **wish), decider=by)


def status(session: Session, tool: str = "pay", arguments: object = None, **about) -> str:
    return ask(session, tool, arguments, **about).status


def test_the_same_call_again_passes_and_the_approval_says_by_which_grant(workspace, session):
    grant = allow(ask(session, arguments={"amount": 5}))
    again = Approval.objects.get(pk=ask(session, arguments={"amount": 5.0}).pk)
    assert (again.status, again.decides_by, again.grant) == ("auto_allowed", "grant", grant)
    assert (again.decision["by"], again.decision["by_kind"]) == ("grant of Ines", "grant")
    assert Event.objects.filter(session=session).latest("seq").actor_kind == "system"
    grant.refresh_from_db()
    assert (grant.uses, grant.uses_left) == (1, None)
    assert status(session, arguments={"amount": 5, "to": "me"}) == "pending", "exactly those arguments"
    assert status(session, "pay_all", {"amount": 5}) == "pending"
    assert status(session, arguments={"amount": 5}, server="bank") == "pending"
    actions = AuditEntry.objects.filter(workspace=workspace, subject_kind="grant").values_list("action", flat=True)
    assert list(actions) == ["grant.made"]


def test_it_is_for_its_session_or_for_every_session_of_its_agent(session, scripted_agent):
    other = sessions.create(session.agent, by=audit.COMMAND)
    allow(ask(session))
    assert (status(session), status(other)) == ("auto_allowed", "pending")
    allow(ask(session, "read"), whole_agent=True)
    assert status(other, "read") == "auto_allowed"
    assert status(sessions.create(scripted_agent, by=audit.COMMAND), "read") == "pending"


def test_predicates(session):
    allow(ask(session, arguments={"amount": 5}), arguments=SMALL)
    assert status(session, arguments={"amount": 99.99}) == "auto_allowed"
    for amount in (100, "many", None, True):
        assert status(session, arguments={"amount": amount}) == "pending"
    assert status(session, arguments={}) == "pending"


def test_it_ends_by_use_time_and_revocation(session):
    grant = allow(ask(session), uses=2)
    assert [status(session) for _ in range(3)] == ["auto_allowed", "auto_allowed", "pending"]
    grant.refresh_from_db()
    assert (grant.uses, grant.uses_left, state_of_grant(grant)) == (2, 0, "used up")
    grant = allow(ask(session), lasts=timedelta(seconds=60))
    Grant.objects.filter(pk=grant.pk).update(expires_at=timezone.now())
    assert status(session) == "pending"
    grant = allow(ask(session))
    grants.revoke(grant, by=INES.actor, reason="no more")
    assert status(session) == "pending"
    assert (state_of_grant(grant), grant.end_reason, grant.ended_by) == ("ended", "no more", "Ines")
    with pytest.raises(grants.NotInForce):
        grants.revoke(grant, by=INES.actor)


@pytest.mark.django_db(transaction=True)
def test_fifty_calls_at_once_have_five_uses(workspace, agent):
    places = [sessions.create(agent, by=audit.COMMAND) for _ in range(50)]
    grant = allow(ask(places[0]), uses=5, whole_agent=True)
    statuses = [approval.status for approval in at_once(*[lambda place=place: ask(place) for place in places])]
    assert (statuses.count("auto_allowed"), statuses.count("pending")) == (5, 45)
    grant.refresh_from_db()
    assert (grant.uses, grant.uses_left, grant.let_through.count()) == (5, 0, 5)


def test_another_version_of_the_agent_voids_it(session):
    grant = allow(ask(session))
    agents.change(session.agent, {"instructions": "Pay everybody."}, by=audit.COMMAND)
    grant.refresh_from_db()
    assert (grant.ended_at is not None, grant.end_reason) == (True, "the agent has version 2 now")
    later = sessions.create(type(session.agent).objects.get(pk=session.agent_id), by=audit.COMMAND)
    assert status(Session.objects.get(pk=session.pk)) == status(later) == "pending"


def test_another_schema_or_server_of_the_tool_voids_it(session):
    grant = allow(ask(session, fingerprint="a" * 64))
    assert status(session, fingerprint="a" * 64) == "auto_allowed"
    assert status(session) == "pending", "an asker that does not say which tool it is"
    assert status(session, fingerprint="b" * 64) == "pending"
    grant.refresh_from_db()
    assert grant.end_reason == "the tool or its server is another one now"
    assert status(session, fingerprint="a" * 64) == "pending"


@pytest.mark.parametrize(
    "ask_of",
    [{"risk": "high"}, {"risk": "critical"}, {"decisions": ["approve", "deny"]}, {"approvals": 2},
     {"not_initiator": True}, {"typed_confirmation": True}],
)  # fmt: skip
def test_what_is_dangerous_or_wants_more_than_one_click_is_decided_each_time(workspace, session, ask_of):
    before = allow(ask(session), whole_agent=True)
    in_force(workspace, rule("ask", ask=ask_of))
    approval = ask(session)
    assert approval.status == "pending", "a grant of before does not get around the rule"
    with pytest.raises(grants.NotOffered):
        allow(approval)
    before.refresh_from_db()
    assert before.uses == 0


def test_neither_risk_nor_questions_are_allowed_for_ever(session):
    with pytest.raises(grants.NotOffered, match="its risk is high"):
        allow(ask(session, risk="high"))
    with pytest.raises(grants.NotOffered):
        allow(ask(session, "escalate_to_human"))


def test_what_destroys_is_neither_granted_nor_let_through_by_a_grant_for_any_arguments(session):
    with pytest.raises(grants.NotOffered, match="destroys something"):
        allow(ask(session, "Bash", {"command": "rm -rf build"}))
    with pytest.raises(grants.NotOffered, match="deletes"):
        admin = Decider(audit.Actor("member", "", "Ada"), Role.ADMIN, "web")
        grants.make(grants.Target(session.agent, "delete_bucket"), Wish("because"), decider=admin)
    grant = allow(ask(session, "Bash", {"command": "ls"}), arguments=[])
    assert status(session, "Bash", {"command": "ls -l"}) == "auto_allowed"
    assert status(session, "Bash", {"command": "sudo rm -rf /srv"}) == "pending"
    grant.refresh_from_db()
    assert grant.uses == 1


def test_a_rule_that_denies_is_stronger_than_any_grant(workspace, session):
    allow(ask(session))
    in_force(workspace, rule("deny"))
    assert status(session) == "auto_denied"


def test_who_may_not_decide_may_not_grant(workspace, session):
    in_force(workspace, rule("ask", ask={"eligible": {"roles": ["admin"]}}))
    with pytest.raises(NotAllowed):
        allow(ask(session))
    with pytest.raises(NotAllowed):
        allow(ask(session), by=Decider(audit.Actor("member", "", "Vic"), Role.VIEWER, "web"))
    with pytest.raises(NotAllowed):
        grants.make(grants.Target(session.agent, "pay"), Wish("because"), decider=INES)


def test_a_grant_of_somebody_whom_the_rules_do_not_name_any_more_is_not_used(workspace, session):
    allow(ask(session))
    assert status(session) == "auto_allowed"
    in_force(workspace, rule("ask", ask={"eligible": {"roles": ["admin"]}}))
    assert status(session) == "pending"


def test_grants_of_who_leaves_end(workspace, session, django_user_model):
    user = django_user_model.objects.create_user("ines@example.org", first_name="Ines")
    member = Member.objects.create(workspace=workspace, user=user, role=Role.REVIEWER)
    by = Decider(audit.Actor("member", str(member.pk), "Ines"), Role.REVIEWER, "web", member.pk)
    grant = allow(ask(session), by=by)
    members.change_role(member, Role.ADMIN, by=audit.COMMAND)
    assert status(session) == "auto_allowed"
    Member.objects.filter(pk=member.pk).update(role=Role.REVIEWER)
    members.remove_member(Member.objects.get(pk=member.pk), by=audit.COMMAND)
    grant.refresh_from_db()
    assert grant.end_reason == "Ines may not decide here any more"
    assert status(session) == "pending"


@pytest.mark.parametrize(
    "wish",
    [{"arguments": [{"path": "amount", "op": "<", "value": 1}]}, {"arguments": argument("/a", "regex", "(")},
     {"uses": 0}, {"lasts": timedelta(days=31)}, {"lasts": timedelta(0)}],
)  # fmt: skip
def test_what_is_wrong_with_a_grant_is_said(session, wish):
    with pytest.raises(Invalid):
        allow(ask(session), **wish)
    with pytest.raises(Invalid, match="say why"):
        grants.make_from(ask(session), Wish("  "), decider=INES)
    assert not Grant.objects.exists()
