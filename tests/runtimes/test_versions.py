"""A session runs to its end under the definition that it began with; what stops an agent holds at once."""

from __future__ import annotations

import pytest

from sessions_app.models import Agent, AgentVersion, TurnInFlight
from sessions_app.runtimes.run import TurnRun
from sessions_app.services import agents, sessions
from sessions_app.services.turns import in_flight, messages

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_change_of_the_definition_is_for_new_sessions(make_session):
    session = make_session("Careful", policy={"default": "ask"}, instructions="One")
    agents.change(session.agent, {"policy": {"default": "allow"}, "instructions": "Two", "name": "Bold"}, by=BY)
    say(session, "/tool refund")
    work(session)
    assert session.pending_approvals == 1
    newer = sessions.create(Agent.objects.get(pk=session.agent_id), by=BY)
    say(newer, "/tool refund")
    assert (newer.agent_version, work(newer).pending_approvals) == (2, 0)


def test_a_runtime_sees_the_version_of_the_session_under_the_name_of_today(make_session):
    session = make_session("Careful", instructions="One")
    agents.change(session.agent, {"instructions": "Two", "name": "Bold"}, by=BY)
    say(session, "Hello")
    turn = TurnRun(in_flight.claim(session.pk))
    assert (turn.agent.instructions, turn.agent.version, turn.agent.name) == ("One", 1, "Bold")


def test_a_version_that_is_not_kept_is_no_reason_to_stop(make_session):
    session = make_session("Careful", instructions="One")
    agents.change(session.agent, {"instructions": "Two"}, by=BY)
    AgentVersion.objects.filter(version=1).delete()
    say(session, "Hello")
    assert work(session).status == "idle"


def test_text_being_written_is_cleared_once_its_event_is_logged(scripted_session):
    say(scripted_session, "Hello")
    turn = TurnRun(in_flight.claim(scripted_session.pk))
    turn.stream_text("You said", "r1")
    assert TurnInFlight.objects.get().said == "You said"
    turn.append(turn.event("reasoning", "t", "Hm"))
    assert TurnInFlight.objects.get().said == "You said"
    turn.append(turn.event("agent_message", "m", "You said: Hello"))
    assert (TurnInFlight.objects.get().said, TurnInFlight.objects.get().said_request) == ("", "")
    turn.stream_text("More", "r2")
    assert TurnInFlight.objects.get().said == "More"


def test_a_held_back_message_goes_before_a_newer_one(scripted_session):
    say(scripted_session, "one")
    say(scripted_session, "two")
    agents.change(scripted_session.agent, {"status": "paused"}, by=BY)
    work(scripted_session)
    agents.change(scripted_session.agent, {"status": "active"}, by=BY)
    say(scripted_session, "three")
    work(work(scripted_session))
    assert [text for kind, text in told(scripted_session) if kind == "user_message"] == ["one", "two", "three"]
    assert not messages.send_waiting(scripted_session.pk)
