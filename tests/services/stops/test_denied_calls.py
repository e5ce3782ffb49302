"""Under a stop no call is allowed: not those that wait, not new ones, and none by a decision that comes too late."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Grant
from sessions_app.queries import chains
from sessions_app.services import audit, workspaces
from sessions_app.services.agents import NotActive, get_or_create_agent
from sessions_app.services.approvals import endings, requests
from sessions_app.services.approvals.decisions import Conflict
from sessions_app.services.policies import versions
from sessions_app.services.stops import carrying_out
from sessions_app.services.turns import messages

from ...services.build import log
from ..approvals.test_decisions import AGENT, ask, decide, pending
from .build import WHY, lift, stop

pytestmark = pytest.mark.django_db
Status = Approval.Status


def test_calls_that_wait_are_denied_by_the_stop(session):
    approval = ask(session)
    made = stop(session.agent)
    approval.refresh_from_db()
    assert (approval.status, approval.decides_by, pending(session)) == (Status.DENIED, "stop", 0)
    by = {name: approval.decision[name] for name in ("verdict", "by", "by_kind", "by_id")}
    assert by == {"verdict": "deny", "by": "stop by Olga", "by_kind": "stop", "by_id": str(made.pk)}
    assert WHY in approval.decision["reason"] and "Do not repeat" in approval.decision["reason"]
    entry = AuditEntry.objects.get(action="approval.stopped")
    assert (entry.actor_kind, entry.actor_name, entry.details["status"]) == ("stop", "stop by Olga", "denied")
    assert [event.kind for event in log(session)] == ["approval", "status", "approval"]


def test_a_new_question_is_denied_at_once_and_kept(session):
    made = stop(session.agent)
    approval = ask(session, client_id="c1")
    assert (approval.status, approval.decides_by) == (Status.AUTO_DENIED, "stop")
    assert approval.decision["by_id"] == str(made.pk) and pending(session) == 0
    lift(made)
    assert ask(session, client_id="c1").status == Status.AUTO_DENIED  # the same question has the same answer
    assert ask(session, client_id="c2").status == Status.PENDING


def test_an_agent_that_asks_without_a_session_is_denied_too(agent):
    stop(agent)
    approval = requests.request_in_own_session(agent.workspace_id, agent.name, requests.Question("x", {}), by=AGENT)
    assert approval.status == Status.AUTO_DENIED


def test_an_approval_after_the_stop_is_a_conflict_that_names_it(session):
    approval = ask(session)
    stop(session.agent)
    with pytest.raises(Conflict, match="stop by Olga decided this already: denied") as conflict:
        decide(approval)
    assert conflict.value.approval.decision["by_kind"] == "stop"


def test_a_decision_that_comes_before_the_stop_is_carried_out_allows_nothing(session, monkeypatch):
    """As when the process dies right after the row of the stop was written."""
    approval = ask(session)
    monkeypatch.setattr(carrying_out, "carry_out", lambda stop, seconds: 0)
    made = stop(session.agent)
    assert made.carried_out_at is None
    assert ask(session).status == Status.AUTO_DENIED
    with pytest.raises(Conflict, match="stop by Olga"):
        decide(approval)
    assert Approval.objects.get(pk=approval.pk).status == Status.DENIED


def test_a_stop_that_was_left_half_done_is_finished_by_the_sweep(session, agent, monkeypatch):
    approvals = [ask(session), ask(messages.start_session(agent, "", by=AGENT, origin="api"))]
    with monkeypatch.context() as killed:
        killed.setattr(carrying_out, "_end_in", lambda session_id, stop: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stop(agent)
    assert [one.status for one in Approval.objects.order_by("id")] == [Status.PENDING] * 2
    assert carrying_out.sweep() == 2
    assert [one.status for one in Approval.objects.order_by("id")] == [Status.DENIED] * 2
    made = Approval.objects.get(pk=approvals[0].pk).decision["by_id"]
    assert carrying_out.sweep() == 0
    assert AuditEntry.objects.filter(action="stop.made", subject_id=made).count() == 1


def test_a_stop_of_which_the_audit_log_was_not_told_is_told_by_the_sweep(agent, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(carrying_out, "carry_out", lambda stop, seconds: 0)
        stop(agent)
    assert not AuditEntry.objects.filter(action="stop.made").exists()
    carrying_out.sweep()
    carrying_out.sweep()
    assert AuditEntry.objects.get(action="stop.made").actor_name == "Olga"


def test_an_approval_that_the_agent_was_not_told_of_is_taken_back(session):
    told, not_told, edited = ask(session), ask(session), ask(session)
    decide(told), decide(not_told), decide(edited, arguments={"amount": 1})
    endings.mark_delivered(Approval.objects.get(pk=told.pk))
    stop(session.agent)
    for approval in (told, not_told, edited):
        approval.refresh_from_db()
    assert (told.status, told.delivery) == (Status.APPROVED, "delivered")  # it may have run: told apart
    assert (not_told.status, edited.status) == (Status.DENIED, Status.DENIED)
    assert not_told.decision["instead_of"]["by"] == "Ines" and not_told.votes.get().verdict == "approve"
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_calls_of_another_agent_and_another_workspace_wait_as_before(session, scripted_agent):
    elsewhere = get_or_create_agent(workspaces.create_workspace("elsewhere").pk, "Refund agent")
    others = [ask(messages.start_session(other, "", by=AGENT, origin="api")) for other in (scripted_agent, elsewhere)]
    stop(session.agent)
    assert [Approval.objects.get(pk=one.pk).status for one in others] == [Status.PENDING] * 2
    assert ask(others[1].session).status == Status.PENDING
    stop(session.agent, everybody=True)
    assert [Approval.objects.get(pk=one.pk).status for one in others] == [Status.DENIED, Status.PENDING]


def test_no_session_and_no_message_begins_during_a_stop(session, scripted_agent):
    made = stop(session.agent, everybody=True)
    for begin in (
        lambda: messages.start_session(scripted_agent, "Go", by=AGENT, origin="api"),
        lambda: messages.start_session(session.agent, "", by=AGENT, origin="api"),
        lambda: messages.submit(session.pk, "Go", by=AGENT),
    ):
        with pytest.raises(NotActive, match="stopped by Olga, until somebody lifts it: it refunds"):
            begin()
    assert not scripted_agent.sessions.exists()
    lift(made)
    messages.start_session(scripted_agent, "Go", by=AGENT, origin="api")


def test_neither_a_rule_that_allows_nor_a_grant_helps_and_no_grant_is_used_up(session):
    rules = [{"name": "reading", "match": {"tool": "read"}, "effect": "allow"}]
    versions.publish(versions.save_draft(session.workspace_id, rules, by=audit.COMMAND), by=audit.COMMAND)
    grant = Grant.objects.create(
        workspace_id=session.workspace_id, agent=session.agent, tool_name="refund", agent_version=1, made_by="Ines",
        expires_at=timezone.now() + timedelta(days=1), uses_left=3,
    )  # fmt: skip

    def answers() -> list[str]:
        read = requests.request(session, requests.Question("read", {}), by=AGENT)
        return [ask(session).status, read.status]

    assert answers() == [Status.AUTO_ALLOWED] * 2
    made = stop(session.agent)
    assert answers() == [Status.AUTO_DENIED] * 2
    grant.refresh_from_db()
    assert (grant.uses, grant.uses_left) == (1, 2)
    lift(made)
    assert answers() == [Status.AUTO_ALLOWED] * 2
