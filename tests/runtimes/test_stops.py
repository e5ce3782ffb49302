"""A stop and the turns of agents that run here: interrupted, not begun, not resumed, and no tool is called."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.database.postgres import wait_until
from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Event, QueuedMessage, Role, StoppedSession, TurnInFlight
from sessions_app.runtimes import scripted
from sessions_app.services import agents, sessions
from sessions_app.services.agents import NotActive
from sessions_app.services.log import events, links
from sessions_app.services.stops import carrying_out, stops
from sessions_app.services.turns import in_flight, messages

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)
SENTENCE = "Parrot is stopped by Ines, until somebody lifts it: enough"


def stop(session):
    return stops.make(session.workspace, by=BY, role=Role.ADMIN, reason="enough", agent=session.agent)


def statuses(session) -> list[str]:
    return [event.data["status"] for event in Event.objects.filter(session=session, kind="status").order_by("seq")]


def not_carried_out(monkeypatch, session):
    """A stop whose process died when its row was written."""
    with monkeypatch.context() as killed:
        killed.setattr(carrying_out, "carry_out", lambda stop, seconds: 0)
        return stop(session)


def test_a_turn_in_flight_is_interrupted(scripted_session):
    say(scripted_session, "/wait 30\nDone")
    working = threading.Thread(target=work, args=(scripted_session,))
    working.start()
    while not TurnInFlight.objects.exclude(worker=None).exists():
        pass
    stop(scripted_session)
    working.join(60)
    assert not working.is_alive() and not TurnInFlight.objects.exists()
    assert ("agent_message", "You said: Done") not in told(scripted_session)
    assert statuses(scripted_session) == ["stopped", "interrupted"]
    assert StoppedSession.objects.get().turn_interrupted


def test_a_worker_that_writes_while_a_stop_is_carried_out_waits_for_it(scripted_session):
    """Both need the session and its turn: taken in one order, neither waits for the other for ever."""
    say(scripted_session, "Hello")
    flight = in_flight.claim(scripted_session.pk)
    written = threading.Thread(target=append_as_worker, args=(flight,))
    with transaction.atomic():
        sessions.lock(scripted_session.pk)
        written.start()
        assert wait_until(somebody_waits_for_a_lock, 60)
        assert TurnInFlight.objects.update(interrupted_at=timezone.now()) == 1
    written.join(60)
    assert told(scripted_session)[-1] == ("agent_message", "still here")


def append_as_worker(flight):
    try:
        with in_flight.owned(flight):
            new = EventDraft("agent_message", "late", text="still here", at=timezone.now(), actor_kind="agent")
            events.append(flight.session_id, [new], origin=links.RUNTIME)
    finally:
        connection.close()


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)")
        return cursor.fetchone()[0]


def test_a_turn_that_waits_for_a_person_ends_without_its_call(scripted_session):
    say(scripted_session, '/tool refund {"order": 1}\nDone')
    work(scripted_session)
    stop(scripted_session)
    work(scripted_session)
    assert scripted_session.status == "idle"
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert result.tool_status == "cancelled" and scripted_session.approvals.get().status == "denied"


def test_messages_that_wait_are_held_back_until_somebody_sends_them(scripted_session):
    say(scripted_session, "/wait 30")
    say(scripted_session, "and then this")
    made = stop(scripted_session)
    work(scripted_session)
    assert scripted_session.status == "idle" and QueuedMessage.objects.count() == 1
    assert told(scripted_session)[-1] == ("status", f"the next message waits: {SENTENCE}")
    for begin in (
        lambda: messages.send_waiting(scripted_session.pk),
        lambda: messages.retry(scripted_session.pk, by=BY),
        lambda: say(scripted_session, "more"),
    ):
        with pytest.raises(NotActive, match="stopped by Ines"):
            begin()
    stops.lift(made, by=BY, role=Role.ADMIN)
    assert messages.send_waiting(scripted_session.pk)
    work(scripted_session)
    assert told(scripted_session)[-1] == ("agent_message", "You said: and then this")


def test_a_turn_that_a_sweep_enqueues_again_does_nothing(scripted_session, monkeypatch):
    """Its worker died, and the process that made the stop too."""
    say(scripted_session, "/tool refund {}\nDone")
    lost = timezone.now() - timedelta(minutes=1)
    TurnInFlight.objects.update(rung_at=lost)
    not_carried_out(monkeypatch, scripted_session)
    assert in_flight.sweep() == 1
    work(scripted_session)
    assert [kind for kind, _ in told(scripted_session)] == ["user_message", "status", "status"]
    assert statuses(scripted_session) == ["stopped", "interrupted"] and not scripted_session.approvals.exists()


def test_no_tool_is_called_between_the_stop_and_its_carrying_out(scripted_session, monkeypatch):
    """The policy allows it, the turn runs, and the interruption was not written yet."""
    agents.change(scripted_session.agent, {"policy": {"default": "allow"}}, by=BY)
    scripted_session.agent.refresh_from_db()
    scripted_session.agent_version = scripted_session.agent.version
    scripted_session.save(update_fields=["agent_version"])
    called = []
    monkeypatch.setattr(scripted, "_execute", lambda call, arguments: called.append(call))
    say(scripted_session, "/think\n/wait 2\n/tool refund {}")
    working = threading.Thread(target=work, args=(scripted_session,))
    working.start()
    while not Event.objects.filter(session=scripted_session, kind="reasoning").exists():
        pass
    not_carried_out(monkeypatch, scripted_session)
    working.join(60)
    assert called == []
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert (result.tool_status, result.data["by"]) == ("denied", "stop") and SENTENCE in result.text


def test_a_call_that_is_being_made_is_told_apart(scripted_session):
    agents.change(scripted_session.agent, {"policy": {"default": "allow"}}, by=BY)
    say(scripted_session, "/tool refund {}")
    flight = TurnInFlight.objects.get()
    call = EventDraft("tool_call", "c", tool=ToolDraft(call_id="c1", name="refund", arguments={}))
    events.append(scripted_session.pk, [call], origin=links.RUNTIME)
    flight.state = {"executing": "c1"}
    flight.save()
    stop(scripted_session)
    assert StoppedSession.objects.get().executing == "refund"
    assert statuses(scripted_session) == ["stopped", "ran_before_stop"]
    assert told(scripted_session)[-1][1] == "the call of refund had begun before the stop and was not undone"
