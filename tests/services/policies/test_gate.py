"""Rules in force answer calls as they are asked, and everything that led to it stands on the approval."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Agent, Approval, AuditEntry, Event, Session
from sessions_app.queries import chains
from sessions_app.services import agents, audit, workspaces
from sessions_app.services.approvals import requests
from sessions_app.services.policies import versions
from tests.policy.build import argument, rule

from .build import ask, in_force

pytestmark = pytest.mark.django_db


def test_without_rules_everything_asks(session):
    approval = ask(session)
    assert (approval.status, approval.rule, approval.policy_version, approval.terms) == ("pending", None, None, {})


def test_a_rule_that_allows_answers_at_once(workspace, session):
    version = in_force(workspace, rule("allow", "small payments", arguments=argument("/amount", "<", 100)))
    approval = Approval.objects.get(pk=ask(session, arguments={"amount": 5}).pk)
    assert approval.status == "auto_allowed"
    assert (approval.decides_by, approval.rule, approval.policy_version) == ("policy", "small payments", version)
    assert approval.decision["by"] == "policy 1: small payments"
    assert approval.decision["by_kind"] == "policy"
    assert approval.event_seq == 1
    ending = Event.objects.filter(session=session).latest("seq")
    assert (ending.kind, ending.actor_kind, ending.actor_name) == ("approval", "system", "policy 1: small payments")
    session.refresh_from_db()
    assert session.pending_approvals == 0
    assert [entry.action for entry in AuditEntry.objects.filter(subject_id=str(approval.pk)).order_by("seq")] == [
        "approval.requested", "approval.allowed",
    ]  # fmt: skip
    assert list(chains.broken_decisions(workspace.id)) == []
    assert ask(session, arguments={"amount": 500}).status == "pending"


def test_a_rule_that_denies_tells_the_agent_why(workspace, session):
    in_force(workspace, rule("deny", "no payments") | {"reason": "Payments go through the bank."})
    approval = ask(session)
    assert (approval.status, approval.decision["reason"]) == ("auto_denied", "Payments go through the bank.")
    assert "no payments" in Event.objects.filter(session_id=session.pk).latest("seq").actor_name


def test_a_rule_that_asks_sets_the_terms(workspace, session):
    terms = {"approvals": 2, "risk": "medium", "expires_in": 60, "eligible": {"roles": ["admin"]}}
    in_force(workspace, rule("ask", ask=terms))
    approval = ask(session, risk="low", expires_in=600, client_id="one")
    assert (approval.status, approval.votes_needed, approval.risk) == ("pending", 2, "medium")
    assert (approval.expires_at - approval.requested_at).total_seconds() == 60
    assert approval.terms == terms | {"asked": {"risk": "low", "expires_in": 600}}
    again = ask(session, risk="low", expires_in=600, client_id="one")
    assert again.pk == approval.pk, "the same question, although the rules changed what became of it"


def test_an_agent_that_calls_a_risk_low_does_not_lower_it(workspace, session):
    in_force(workspace, rule("ask", ask={"risk": "low"}))
    assert ask(session, risk="critical").risk == "critical"


def test_a_question_to_a_person_is_never_answered_by_a_rule(workspace, session):
    in_force(workspace, rule("allow"))
    assert ask(session, "escalate_to_human", {"question": "?"}).status == "pending"
    assert ask(session, "sign", for_person=True).status == "pending"
    in_force(workspace, rule("deny"))
    assert ask(session, "escalate_to_human", {"question": "?"}).status == "pending"
    assert ask(session, "sign", for_person=True).status == "auto_denied"


def test_an_agents_own_rules_are_those_its_session_began_with(workspace, session):
    agents.change(
        session.agent, {"policy": {"rules": [rule("allow", tool="pay")]}}, by=audit.COMMAND, may_grant=True
    )  # fmt: skip
    assert ask(session).status == "pending"
    Session.objects.update(agent_version=2)
    approval = ask(Session.objects.get(pk=session.pk))
    assert approval.status == "auto_allowed"
    assert approval.decision["by"] == "rules of Refund agent, version 2: allow"
    assert approval.decision["by_id"] == str(session.agent_id)


def test_a_version_that_is_published_counts_from_the_next_call_on(workspace, session):
    in_force(workspace, rule("allow"))
    assert ask(session).status == "auto_allowed"
    in_force(workspace, rule("deny"))
    assert ask(session).status == "auto_denied"
    versions.roll_back(workspace.policy_versions.get(number=1), by=audit.COMMAND)
    assert ask(session).status == "auto_allowed"


def test_rules_of_one_workspace_say_nothing_in_another(workspace, session):
    other = workspaces.create_workspace("other", by=audit.COMMAND)
    in_force(other, rule("allow"))
    assert ask(session).status == "pending"


def test_a_rule_that_cannot_be_evaluated_is_named_on_the_card(workspace, session):
    in_force(workspace, rule("allow"), rule("deny", "large", arguments=argument("/amount", ">", 100)))
    approval = ask(session, arguments={"cents": 99_999})
    assert (approval.status, approval.rule) == ("pending", "large")
    assert approval.terms["faults"] == [
        "large: the argument /amount is missing, hidden or of another type than in the rule"
    ]


def test_what_the_shadow_would_have_said_is_kept(workspace, session):
    in_force(workspace, rule("allow"))
    draft = versions.save_draft(workspace.id, [rule("deny", "none")], by=audit.COMMAND)
    versions.put_in_shadow(workspace.id, draft, by=audit.COMMAND)
    approval = ask(session)
    assert approval.status == "auto_allowed"
    assert approval.shadow == {"policy_version": str(draft.pk), "effect": "deny", "rule": "none"}
    versions.publish(draft, by=audit.COMMAND)
    assert (ask(session).status, ask(session).shadow) == ("auto_denied", None)


def test_asking_costs_the_same_with_one_rule_and_with_many(workspace, session):
    def queries() -> int:
        ask(session)  # compiles the rules
        # In a session of its own: each eighth event merges rows of the search.
        another = Session.objects.create(workspace=workspace, agent=session.agent)
        with CaptureQueriesContext(connection) as caught:
            ask(another)
        return len(caught)

    in_force(workspace, rule("allow"))
    with_one = queries()
    in_force(
        workspace, *(rule("allow", f"rule {number}", tool=f"tool-{number}") for number in range(300)), rule("allow")
    )
    assert queries() == with_one


def test_a_question_that_is_repeated_is_judged_once(workspace, session):
    first = ask(session, client_id="one")
    in_force(workspace, rule("allow"))
    again = ask(session, client_id="one")
    assert (again.pk, again.status) == (first.pk, "pending")


def test_the_name_of_an_agent_is_matched_by_slug_or_name(workspace, session):
    assert Agent.objects.get().slug == "refund-agent"
    in_force(workspace, rule("allow", agents=["refund-*"]))
    assert ask(session).status == "auto_allowed"


def test_a_question_in_a_session_of_its_own_is_judged_too(workspace):
    in_force(workspace, rule("deny"))
    asked = requests.request_in_own_session(
        workspace.id, "New agent", requests.Question("pay", {}), by=audit.Actor("api_key", "", "robot")
    )
    assert asked.status == "auto_denied"
