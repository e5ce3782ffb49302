"""Triggers that nobody attends say what becomes of a call that a person would have to decide."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Agent, Approval, AuditEntry, Role, Session, TriggerRun
from sessions_app.services import agents, audit
from sessions_app.services.approvals import requests
from sessions_app.services.people import members
from sessions_app.services.policies import versions
from sessions_app.services.triggers import Refused, schedules, unattended, webhook_endpoints
from sessions_app.services.turns import messages

from .conftest import INES
from .test_webhooks import post

pytestmark = pytest.mark.django_db
AGENT = audit.Actor("agent", "a", "Parrot")


def fired(schedule) -> TriggerRun:
    return schedules.run_now(schedule, by=INES)


def ask(session: Session, tool: str = "refund") -> Approval:
    return requests.request(session, requests.Question(tool, {}), by=AGENT)


def allow_everything(agent, **more):
    agents.change(agent, {"policy": {"default": "allow"} | more}, by=INES)
    agent.refresh_from_db()


def rules(agent, *stated):
    versions.publish(versions.save_draft(agent.workspace_id, list(stated), by=INES), by=INES)


def test_by_default_a_call_waits_for_a_person(make_schedule):
    run = fired(make_schedule())
    assert ask(run.session).status == "pending"


def test_deny_denies_at_once_and_says_why(make_schedule):
    run = fired(make_schedule(when_asking="deny"))
    approval = ask(run.session)
    assert (approval.status, approval.decides_by) == ("auto_denied", "system")
    assert (approval.decision["by"], approval.decision["by_kind"]) == ("schedule Morning report", "trigger")
    assert "Nobody attends this session" in approval.decision["reason"]
    assert ask(run.session, "escalate_to_human").status == "auto_denied"
    assert Session.objects.get().pending_approvals == 0
    assert AuditEntry.objects.filter(action="approval.denied").count() == 2


def test_a_webhook_denies_too_and_another_session_of_the_agent_waits(make_endpoint, scripted_agent):
    endpoint, _ = make_endpoint("none", when_asking="deny")
    post(Client(), endpoint, {"order": 1})
    assert ask(TriggerRun.objects.get().session).decision["by"] == "webhook orders"
    chat = messages.start_session(scripted_agent, "Go", by=INES, origin="chat")
    assert ask(chat).status == "pending"


def test_who_goes_on_with_the_session_is_asked(make_schedule):
    """A person's message began the turn that asks, so somebody attends it."""
    session = fired(make_schedule(when_asking="deny")).session
    messages.interrupt(session.pk, by=INES)
    session.in_flight.delete()
    Session.objects.update(status="idle")
    messages.submit(session.pk, "And now?", by=INES)
    assert ask(session).status == "pending"


def test_what_the_rules_allow_is_allowed_all_the_same(make_schedule, scripted_agent):
    allow_everything(scripted_agent)
    assert ask(fired(make_schedule(when_asking="deny")).session).status == "auto_allowed"


def test_refuse_begins_nothing_while_the_agent_could_ask(make_schedule, scripted_agent):
    schedule = make_schedule(when_asking="refuse")
    run = fired(schedule)
    assert (run.status, run.session) == ("skipped", None)
    assert run.error == "Parrot could ask a person (no rule matches), and this trigger begins nothing then"
    allow_everything(scripted_agent)
    schedule.refresh_from_db()
    run = fired(schedule)
    assert run.status == "started"
    assert ask(run.session, "escalate_to_human").status == "auto_denied"  # nobody attends it
    rules(scripted_agent, {"name": "Money", "match": {"tool": "refund"}, "effect": "ask"})
    run = fired(schedule)
    assert run.status == "skipped" and '"Money" of policy 1' in run.error


@pytest.mark.parametrize(("policy", "stated", "asks"), [
    ({}, [], ["no rule matches"]),
    ({"default": "ask"}, [], ["default"]),
    ({"default": "deny"}, [], []),
    ({"default": "allow", "tools": {"refund": "ask"}}, [], ["tools: refund"]),
    ({"default": "allow", "rules": [{"name": "r", "match": {}, "effect": "ask"}]}, [], ["r"]),
    ({"default": "perhaps"}, [], ["default"]),
    ({}, [{"name": "all", "match": {}, "effect": "allow"}], []),
    ({}, [{"name": "all", "match": {"tool": "x"}, "effect": "allow"}], ["no rule matches"]),
    ({"default": "allow"}, [{"name": "other", "match": {"agents": ["other-*"]}, "effect": "ask"}], []),
    ({"default": "allow"}, [{"name": "mine", "match": {"agents": ["parr*"]}, "effect": "ask"}], ["mine"]),
    ({"default": "allow"}, [{"name": "chat", "match": {"triggers": ["chat"]}, "effect": "ask"}], []),
    ({"default": "allow"}, [{"name": "clock", "match": {"triggers": ["schedule"]}, "effect": "ask"}], ["clock"]),
])  # fmt: skip
def test_what_could_ask_is_found_in_the_agents_and_the_workspaces_rules(scripted_agent, policy, stated, asks):
    Agent.objects.filter(pk=scripted_agent.pk).update(policy=policy)  # also what is refused today, and was not always
    scripted_agent.refresh_from_db()
    if stated:
        rules(scripted_agent, *stated)
    found = unattended.Rules(scripted_agent.workspace_id).what_asks(scripted_agent, "schedule")
    assert [verdict.name for verdict in found] == asks


def test_a_trigger_whose_questions_nobody_may_answer_is_warned_of(scripted_agent):
    def warnings(when_asking="wait"):
        return unattended.Rules(scripted_agent.workspace_id).warnings(scripted_agent, "schedule", when_asking)

    assert "nobody in this workspace may decide that" in warnings()[0]
    assert "it begins nothing" in warnings("refuse")[0]
    assert warnings("deny") == []
    members.add_member(scripted_agent.workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)
    assert warnings() == []
    eligible = {"eligible": {"roles": ["admin"]}}
    allow_everything(scripted_agent)
    rules(scripted_agent, {"name": "Money", "match": {}, "effect": "ask", "ask": eligible})
    assert '"Money" of policy 1' in warnings()[0]


def test_another_word_is_refused_by_name(make_schedule, make_endpoint):
    with pytest.raises(Refused) as refused:
        make_schedule(when_asking="perhaps")
    assert refused.value.field == "when_asking"
    endpoint, _ = make_endpoint("none")
    with pytest.raises(Refused):
        webhook_endpoints.change(endpoint, {"when_asking": "perhaps"}, by=INES)


def test_what_was_chosen_later_holds_for_a_session_that_began_before(make_schedule):
    schedule = make_schedule()
    session = fired(schedule).session
    schedules.change(schedule, {"when_asking": "deny"}, by=INES)
    assert ask(session).status == "auto_denied"
