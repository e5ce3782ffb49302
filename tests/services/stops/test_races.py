"""A stop and an agent at the same moment: what began before is ended, and nothing begins after."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from sessions_app.models import Approval, Role, Stop, TurnInFlight
from sessions_app.services import audit, sessions
from sessions_app.services.agents import NotActive
from sessions_app.services.approvals.decisions import Conflict
from sessions_app.services.stops import carrying_out, doors, stops
from sessions_app.services.turns import messages

from ..approvals.test_decisions import AGENT, ask, decide
from ..build import at_once
from .build import stop

pytestmark = pytest.mark.django_db(transaction=True)


def faults(results) -> list[Exception]:
    return [one for one in results if isinstance(one, Exception) and not isinstance(one, (NotActive, Conflict))]


def test_nothing_waits_when_a_stop_and_questions_come_at_once(agent):
    open_sessions = [sessions.create(agent, by=AGENT) for _ in range(8)]
    for round_ in range(3):
        results = at_once(
            *(lambda s=s, name=f"r{round_}": ask(s, client_id=name) for s in open_sessions), lambda: stop(agent)
        )
        assert faults(results) == []
        assert not Approval.objects.filter(status="pending").exists()
        stops.lift(results[-1], by=audit.COMMAND, role=Role.ADMIN)
    assert list(audit.broken_rows(agent.workspace_id)) == []


def test_no_turn_runs_on_when_a_stop_and_messages_come_at_once(scripted_agent):
    open_sessions = [sessions.create(scripted_agent, by=AGENT) for _ in range(6)]
    results = at_once(
        *(lambda s=s: messages.submit(s.pk, "Go", by=AGENT) for s in open_sessions),
        lambda: stop(scripted_agent),
        lambda: messages.start_session(scripted_agent, "Go", by=AGENT, origin="api"),
    )
    assert faults(results) == []
    assert not TurnInFlight.objects.filter(interrupted_at=None).exists()


def test_a_decision_and_a_stop_at_once_have_one_outcome(session):
    for _ in range(6):
        approval = ask(session)
        results = at_once(lambda a=approval: decide(a), lambda: stop(session.agent))
        assert faults(results) == []
        assert Approval.objects.get(pk=approval.pk).status == "denied"  # approved before and not told, or never
        stops.lift(results[1], by=audit.COMMAND, role=Role.ADMIN)


def test_a_process_that_hangs_at_a_door_does_not_keep_anybody_from_stopping(agent, session, monkeypatch):
    monkeypatch.setattr(stops, "LOCK_TIMEOUT", "200ms")

    def hangs_while_it_is_stopped():
        with transaction.atomic():
            assert doors.stop_of(agent) is None
            [made] = at_once(lambda: stop(agent))
            assert isinstance(made, Stop)
            return ask(session)  # it had looked before the stop, and asks again: it is told

    assert hangs_while_it_is_stopped().status == "auto_denied"


def test_what_slips_through_a_door_is_ended_by_the_sweep(session, monkeypatch):
    stop(session.agent)
    with monkeypatch.context() as late:
        late.setattr(doors, "stop_in", lambda workspace_id, agent_id: None)
        slipped = ask(session)
    assert slipped.status == "pending"
    assert carrying_out.sweep() == 1
    slipped.refresh_from_db()
    assert slipped.status == "denied" or slipped.status == "auto_denied"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)
