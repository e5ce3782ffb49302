"""A fire is one run and at most one session, whatever happens."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import OperationalError

from sessions_app.models import Agent, Budget, Event, QueuedMessage, Session, TriggerRun, TurnInFlight, Wallet
from sessions_app.queries import triggers as queries
from sessions_app.services import agents, sessions, workspaces
from sessions_app.services.triggers import trigger_runs
from sessions_app.services.turns import messages

from .conftest import INES, TEXT


def fire(agent, key="k1", text=TEXT, **more) -> TriggerRun:
    return trigger_runs.fire(agent, trigger_runs.Fire("schedule", key, "Morning report", text, **more))


def test_a_fire_begins_a_session_with_its_first_message(scripted_agent):
    run = fire(scripted_agent, title="Report")
    session = Session.objects.get()
    assert (run.status, run.session, run.name, run.agent) == ("started", session, "Morning report", scripted_agent)
    assert (session.origin, session.title, session.status) == ("schedule", "Report", "running")
    message = Event.objects.get(session=session)
    assert (message.kind, message.text, message.actor_kind, message.actor_name) == (
        "user_message", TEXT, "trigger", "Morning report",
    )  # fmt: skip
    assert TurnInFlight.objects.get().session == session
    assert queries.that_started(session.pk) == run


def test_the_same_fire_again_is_the_same_run(scripted_agent):
    assert fire(scripted_agent) == fire(scripted_agent)
    assert fire(scripted_agent, "k2") != fire(scripted_agent)
    assert Session.objects.count() == 2


def test_two_workspaces_may_have_the_same_key(scripted_agent):
    other = agents.create(workspaces.create_workspace("elsewhere").id, "Reporter", by=INES, runtime="scripted")
    assert fire(scripted_agent) != fire(other)


def test_an_agent_that_runs_elsewhere_gets_the_message_in_its_log(workspace):
    run = fire(agents.get_or_create_agent(workspace.id, "Elsewhere"))
    assert (run.status, Event.objects.get(session=run.session).text) == ("started", TEXT)
    assert not TurnInFlight.objects.exists()


def refused(run: TriggerRun, status: str) -> str:
    """Why a run started nothing; neither a session nor a message is left of it."""
    assert (run.status, run.session) == (status, None)
    assert not Session.objects.exists() and not QueuedMessage.objects.exists()
    return TriggerRun.objects.get(pk=run.pk).error


@pytest.mark.parametrize("runtime", ["scripted", "external"])
def test_a_paused_agent_begins_nothing(workspace, runtime):
    paused = agents.create(workspace.id, "Sleeper", by=INES, runtime=runtime, status="paused")
    assert refused(fire(paused), "skipped") == "Sleeper is paused; an admin can resume it"


def test_an_archived_agent_is_a_failure_that_somebody_has_to_see_to(workspace):
    gone = agents.create(workspace.id, "Gone", by=INES, status="archived")
    assert "choose another agent" in refused(fire(gone), "failed")


def test_a_budget_that_is_used_up_begins_nothing(scripted_agent):
    Budget.objects.create(workspace=scripted_agent.workspace, agent=scripted_agent, period="day", amount=Decimal(0))
    assert "the budget of Parrot is used up" in refused(fire(scripted_agent), "failed")


def test_an_empty_wallet_begins_nothing(scripted_agent):
    Wallet.objects.update_or_create(workspace=scripted_agent.workspace, kind="ai", defaults={"limited": True})
    assert "wallet" in refused(fire(scripted_agent), "failed")


def test_a_message_that_is_too_long_begins_nothing(scripted_agent):
    run = fire(scripted_agent, text="x" * (messages.MAX_MESSAGE + 1))
    assert "at most 1,000,000 characters" in refused(run, "failed")
    assert len(TriggerRun.objects.get().input_text) == trigger_runs.KEPT_INPUT


def test_message_characters_that_postgres_cannot_hold_are_replaced(scripted_agent):
    run = fire(scripted_agent, text="a\0b\ud800c")
    assert Event.objects.get(session=run.session).text == "a\ufffdb\ufffdc"


def test_unexpected_error_fails_the_run_without_its_message(scripted_agent, monkeypatch, caplog):
    monkeypatch.setattr(sessions, "create", lambda *_, **__: 1 / 0)
    assert "a fault of ours: ZeroDivisionError" in refused(fire(scripted_agent), "failed")
    assert "division by zero" in caplog.text


def test_unavailable_database_leaves_no_run_so_that_the_trigger_fires_again(scripted_agent, monkeypatch):
    def away(*_, **__):
        raise OperationalError("gone")

    with monkeypatch.context() as patched, pytest.raises(OperationalError):
        patched.setattr(sessions, "create", away)
        fire(scripted_agent)
    assert not TriggerRun.objects.exists()
    assert fire(scripted_agent).status == "started"


def test_pausing_the_agent_later_changes_no_run(scripted_agent):
    run = fire(scripted_agent)
    Agent.objects.update(status="paused")
    assert fire(scripted_agent) == run
