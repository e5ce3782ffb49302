"""Stops: who may make and lift them, what they say, and how they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Role, Stop, StoppedSession
from sessions_app.queries import stops as queries
from sessions_app.services import audit, workspaces
from sessions_app.services.stops import carrying_out, stops

from ...services.build import log
from ..approvals.test_decisions import ask
from .build import OLGA, WHY, lift, stop

pytestmark = pytest.mark.django_db


def test_a_stop_says_who_why_and_until_when(agent):
    until = timezone.now() + timedelta(hours=2)
    made = stop(agent, until=until)
    assert queries.sentence(made) == f"Refund agent is stopped by Olga, until {until:%Y-%m-%d %H:%M} UTC: {WHY}"
    assert made.carried_out_at and made.audited_at and queries.holds(made)
    entry = AuditEntry.objects.get(action="stop.made")
    assert (entry.actor_name, entry.subject_id) == ("Olga", str(made.pk))
    assert entry.details == {"agent": "Refund agent", "reason": WHY, "until": until.isoformat()}


def test_a_stop_of_everybody_holds_each_agent_and_no_other_workspace(agent, scripted_agent):
    made = stop(agent, everybody=True)
    assert queries.of_agent(agent.workspace_id, scripted_agent.pk) == made
    assert "every agent of this workspace is stopped by Olga, until somebody lifts it" in queries.sentence(made)
    elsewhere = workspaces.create_workspace("elsewhere")
    assert queries.of_agent(elsewhere.pk, agent.pk) is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT])
def test_viewers_and_agents_may_neither_stop_nor_lift(agent, role):
    with pytest.raises(stops.NotAllowed):
        stop(agent, role=role)
    assert not Stop.objects.exists()
    with pytest.raises(stops.NotAllowed):
        lift(stop(agent), role=role)


def test_a_reviewer_lifts_their_own_stop_and_an_admin_any(agent):
    made = stop(agent)
    other = audit.Actor("member", "omar", "Omar")
    with pytest.raises(stops.NotAllowed, match="only an admin, or Olga"):
        lift(made, by=other)
    lift(made, reason="it was a false alarm")
    made.refresh_from_db()
    assert (made.lifted_by, made.lift_reason, queries.holds(made)) == ("Olga", "it was a false alarm", False)
    lift(stop(agent), by=other, role=Role.ADMIN)
    assert AuditEntry.objects.filter(action="stop.lifted").count() == 2


def test_a_name_is_not_who_made_it(agent):
    """Somebody else who is called Olga lifts nothing."""
    with pytest.raises(stops.NotAllowed):
        lift(stop(agent), by=audit.Actor("member", "another", "Olga"))


def test_a_stop_from_the_command_line_is_lifted_by_admins_alone(agent):
    made = stop(agent, by=audit.COMMAND, role=Role.ADMIN)
    with pytest.raises(stops.NotAllowed):
        lift(made, by=audit.COMMAND, role=Role.REVIEWER)


def test_a_stop_is_lifted_once(agent):
    made = lift(stop(agent))
    with pytest.raises(stops.NotInForce, match="was lifted by Olga"):
        lift(made)


@pytest.mark.parametrize(("fields", "field"), [
    ({"reason": "  "}, "reason"), ({"reason": "x" * 2_001}, "reason"),
    ({"until": timedelta(seconds=-1)}, "until"), ({"until": timedelta(days=400)}, "until"),
])  # fmt: skip
def test_a_stop_without_a_reason_or_with_an_odd_end_is_refused_by_name(agent, fields, field):
    if "until" in fields:
        fields = {"until": timezone.now() + fields["until"]}
    with pytest.raises(stops.Refused) as refused:
        stop(agent, **fields)
    assert refused.value.field == field


def test_a_stop_whose_time_is_over_ends_by_itself_and_says_so(session):
    approval = ask(session)
    made = stop(session.agent, until=timezone.now() + timedelta(hours=1))
    Stop.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert queries.of_agent(session.workspace_id, session.agent_id) is None  # before any sweep
    carrying_out.sweep()
    carrying_out.sweep()
    made.refresh_from_db()
    assert (made.lifted_by, made.lifted_at) == ("Countersign", made.until)
    assert [event.data["status"] for event in log(session) if event.kind == "status"] == ["stopped", "stop_lifted"]
    assert log(session)[-1].text == "the time of the stop is over"
    assert AuditEntry.objects.filter(action="stop.expired", subject_id=str(made.pk)).count() == 1
    approval.refresh_from_db()
    assert approval.status == "denied"  # what was ended stays ended


def test_what_a_stop_ended_is_kept_by_session(session):
    ask(session)
    ask(session)
    made = stop(session.agent)
    kept = StoppedSession.objects.get()
    assert (kept.stop, kept.session_id, kept.denied, kept.turn_interrupted) == (made, session.pk, 2, False)


def test_of_two_stops_either_holds(agent):
    first, second = stop(agent, until=timezone.now() + timedelta(hours=1)), stop(agent, everybody=True)
    assert queries.of_agent(agent.workspace_id, agent.pk) == second
    lift(second)
    assert queries.of_agent(agent.workspace_id, agent.pk) == first


def test_the_chain_of_the_audit_log_holds(session):
    ask(session)
    lift(stop(session.agent), by=OLGA)
    assert list(audit.broken_rows(session.workspace_id)) == []
