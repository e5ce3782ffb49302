"""One turn at a time: a message begins it, others wait behind it, and whatever happens it ends once."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Event, QueuedMessage, Role, Session, TurnInFlight, TurnUsage
from sessions_app.queries.sessions import turn_state
from sessions_app.runtimes import run, scripted, worker
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals import decisions
from sessions_app.services.sessions import Archived
from sessions_app.services.turns import in_flight, messages

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)
DECIDER = decisions.Decider(BY, Role.REVIEWER, "desk")


def decide(session: Session, verdict: str, **more) -> Approval:
    one = session.approvals.get(status="pending")
    return decisions.decide(one, DECIDER, decisions.Decision(verdict, version=one.version, digest=one.digest, **more))


def test_a_message_is_answered_and_the_session_is_idle_again(session):
    assert say(session, "Hello there") == messages.Submitted(1, queued=False)
    assert Session.objects.get(pk=session.pk).status == "running"
    work(session)
    assert session.status == "idle"
    assert told(session) == [("user_message", "Hello there"), ("agent_message", "You said: Hello there")]
    assert not TurnInFlight.objects.exists()


def test_the_turn_is_booked_once_with_its_tokens_and_cost(session):
    say(session, "Hello there")
    work(session)
    used = TurnUsage.objects.get(session=session)
    assert (used.turn, used.input_tokens, used.output_tokens, used.price_source) == (1, 12, 5, "runtime")
    assert used.cost == session.cost_recorded > 0
    assert used.runtime_ms >= 300


def test_messages_wait_behind_the_turn_and_are_answered_in_order(session):
    say(session, "one")
    assert say(session, "two") == messages.Submitted(None, queued=True)
    say(session, "three")
    assert told(session) == [("user_message", "one")]
    work(session)
    assert session.status == "running"
    work(work(session))
    assert session.status == "idle"
    assert [text for kind, text in told(session) if kind == "user_message"] == ["one", "two", "three"]
    assert [event.turn for event in Event.objects.filter(session=session).order_by("seq")] == [1, 1, 2, 2, 3, 3]


def test_a_queued_message_can_be_taken_back(session):
    say(session, "one")
    say(session, "two")
    waiting = QueuedMessage.objects.get()
    assert messages.take_back(session.pk, waiting.pk)
    assert not messages.take_back(session.pk, waiting.pk)
    assert work(session).status == "idle"


def test_a_second_ring_does_nothing(session):
    say(session, "one")
    work(work(session))
    assert len(told(session)) == 2


def test_two_workers_do_not_do_the_same_turn(session):
    say(session, "one")
    both = [threading.Thread(target=worker.run, args=(session.pk,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(told(session)) == 2


def test_a_call_waits_for_a_person_and_goes_on_when_approved(session):
    say(session, '/tool shop/refund {"order": 4711}\nDone')
    work(session)
    assert (session.status, session.pending_approvals) == ("running", 1)
    decide(session, "approve")
    work(session)
    assert session.status == "idle"
    kinds = [kind for kind, _ in told(session)]
    assert kinds == ["user_message", "tool_call", "approval", "approval", "tool_result", "agent_message"]
    result = Event.objects.get(session=session, kind="tool_result")
    assert (result.tool_status, result.text) == ("ok", '{"tool":"refund","received":{"order":4711}}')
    assert session.approvals.get().execution == "succeeded"


def test_edited_arguments_are_the_ones_that_run(session):
    say(session, '/tool refund {"order": 4711}')
    work(session)
    decide(session, "approve", arguments={"order": 4712})
    work(session)
    assert '"order":4712' in Event.objects.get(session=session, kind="tool_result").text


def test_a_denied_call_is_not_run_and_the_agent_is_told_why(session):
    say(session, "/tool refund")
    work(session)
    decide(session, "deny", reason="Not on a Sunday")
    work(session)
    result = Event.objects.get(session=session, kind="tool_result")
    assert (result.tool_status, result.text) == ("denied", "Not on a Sunday")


def test_an_answer_is_the_result(session):
    say(session, "/ask Which order?")
    work(session)
    assert session.approvals.get().context == "Which order?"
    decide(session, "answer", answer="4711")
    work(session)
    result = Event.objects.get(session=session, kind="tool_result")
    assert (result.tool_status, result.text, result.data["answered_by"]) == ("ok", "4711", "Ines")


def test_the_policy_decides_what_asks(make_session):
    policy = {"default": "allow", "tools": {"rm": "deny", "shop/refund": "ask"}}
    session = make_session("Strict", policy=policy)
    say(session, "/tool ls\n/tool rm\n/tool shop/refund")
    work(session)
    results = {e.tool_name: e.tool_status for e in Event.objects.filter(session=session, kind="tool_result")}
    assert results == {"ls": "ok", "rm": "denied"}
    assert session.approvals.get().tool_name == "refund"


def test_an_interrupted_turn_stops_and_says_so(session):
    say(session, "/wait 30\nNever said")
    running = threading.Thread(target=worker.run, args=(session.pk,))
    running.start()
    messages.interrupt(session.pk, by=BY)
    running.join(10)
    session.refresh_from_db()
    assert session.status == "idle"
    assert [text for _, text in told(session)] == ["/wait 30\nNever said", "interrupt requested", "interrupted"]


def test_interrupting_a_turn_that_waits_withdraws_the_question(session):
    say(session, "/tool refund")
    work(session)
    messages.interrupt(session.pk, by=BY)
    work(session)
    assert (session.status, session.approvals.get().status) == ("idle", "cancelled")
    assert told(session)[-1] == ("status", "interrupted")


def test_interrupt_and_send_is_read_next(session):
    say(session, "/tool refund")
    work(session)
    assert say(session, "Never mind", interrupting=True).queued
    work(work(session))
    assert told(session)[-1] == ("agent_message", "You said: Never mind")


def test_interrupt_and_send_is_read_before_what_waits(session):
    for text in ("/tool refund", "older", "oldest but one"):
        say(session, text)
    work(session)
    say(session, "First of all", interrupting=True)
    assert [message.text for message in turn_state.of(session).queued] == ["First of all", "older", "oldest but one"]
    work(work(work(work(session))))
    said = [text for kind, text in told(session) if kind == "agent_message"]
    assert said == ["You said: First of all", "You said: older", "You said: oldest but one"]


def test_interrupting_an_agent_at_rest_does_nothing(session):
    say(session, "Hello")
    before = told(work(session))
    messages.interrupt(session.pk, by=BY)
    assert told(work(session)) == before


def test_a_failure_is_in_the_log_and_the_turn_can_be_retried(session, monkeypatch):
    say(session, "/fail out of paper")
    work(session)
    assert (session.status, session.error_count) == ("idle", 1)
    assert told(session)[-1] == ("error", "out of paper")
    assert messages.retry(session.pk, by=BY)
    work(session)
    assert [kind for kind, _ in told(session)] == ["user_message", "error", "status", "error"]
    assert TurnUsage.objects.filter(session=session).count() == 1


def test_a_fault_of_the_runtime_is_told_and_ends_the_turn(session, monkeypatch):
    monkeypatch.setattr(scripted, "advance", lambda turn: 1 / 0)
    say(session, "Hello")
    work(session)
    assert session.status == "idle"
    assert told(session)[-1] == ("error", "the runtime failed: ZeroDivisionError: division by zero")


def test_a_turn_that_lost_its_worker_is_found_and_ends_once(session):
    say(session, "Hello\n/tool ls\nBye")
    lost = in_flight.claim(session.pk)
    dead = run.TurnRun(lost)
    scripted._say(dead, f"scripted:{dead.turn}:0", "Hello", "")  # and then its process is killed
    assert in_flight.claim(session.pk) is None
    assert in_flight.sweep() == 0
    TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert in_flight.sweep() == 1
    work(session)
    with pytest.raises(run.LeaseLost):
        dead.append(dead.event("note", "late", "I am still here"))
    assert [text for kind, text in told(session) if kind == "agent_message"] == ["You said: Hello"]
    assert not in_flight.finish(lost, 0)


def test_a_call_whose_worker_died_is_not_made_twice(make_session):
    session = make_session("Bold", policy={"default": "allow"})
    say(session, "/tool refund\nDone")
    lost = run.TurnRun(in_flight.claim(session.pk))
    scripted._call(lost, f"scripted:{lost.turn}:0", "refund", "")
    lost.save_state(executing=Event.objects.get(session=session, kind="tool_call").call_id)  # killed here
    TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    work(session)
    result = Event.objects.get(session=session, kind="tool_result")
    assert (result.tool_status, result.data["unknown_outcome"]) == ("error", True)
    assert session.status == "idle"


def test_a_decision_in_the_moment_a_turn_goes_to_rest_is_not_lost(session):
    say(session, "/tool refund")
    flight = in_flight.claim(session.pk)
    turn = run.TurnRun(flight)
    scripted._call(turn, f"scripted:{turn.turn}:0", "refund", "")
    turn.ask(Event.objects.get(session=session, kind="tool_call"))
    decide(session, "approve")  # before the worker lets go
    in_flight.park(flight, 5)
    assert TurnInFlight.objects.get().rung_at is not None


def test_a_paused_agent_begins_no_turns(session):
    agents.change(session.agent, {"status": "paused"}, by=BY)
    with pytest.raises(messages.NotActive, match="Parrot is paused"):
        say(session, "Hello")


def test_what_was_queued_waits_while_the_agent_is_paused(session):
    say(session, "one")
    say(session, "two")
    agents.change(session.agent, {"status": "paused"}, by=BY)
    work(session)
    assert session.status == "idle"
    assert QueuedMessage.objects.count() == 1
    assert told(session)[-1] == ("status", "Parrot is paused: the next message waits")


def test_archiving_ends_the_turn(session):
    say(session, "/tool refund")
    work(session)
    sessions.archive(session, by=BY)
    work(session)
    assert session.status == "archived"
    assert not TurnInFlight.objects.exists()
    with pytest.raises(Archived):
        say(session, "Hello?")


def test_a_message_of_10_mb_is_refused_in_a_sentence(session):
    with pytest.raises(messages.TooLong, match="1,000,000 characters, this one has 10,000,000"):
        say(session, "x" * 10_000_000)


def test_an_external_agent_reads_the_log_and_no_turn_begins(make_session):
    session = make_session("Elsewhere", runtime="external")
    assert say(session, "Hello").seq == 1
    assert not TurnInFlight.objects.exists()
    assert Session.objects.get(pk=session.pk).status == "idle"


def test_text_is_shown_as_it_is_written(session, django_capture_on_commit_callbacks):
    say(session, "one two three four five six")
    flight = in_flight.claim(session.pk)
    turn = run.TurnRun(flight)
    turn.say("one ", "r1")
    turn.say("two", "r1")
    row = TurnInFlight.objects.get()
    assert (row.said, row.said_request) == ("one two", "r1")
    turn.say("again", "r2")
    assert TurnInFlight.objects.get().said == "again"


def test_what_happens_is_audited(session):
    say(session, "Hello")
    messages.interrupt(session.pk, by=BY)
    assert audit.AuditEntry.objects.filter(action="session.interrupted").exists()
