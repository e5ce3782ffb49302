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
from sessions_app.services.money import budgets
from sessions_app.services.sessions import Archived
from sessions_app.services.turns import in_flight, messages
from sessions_app.services.turns.resume import resume
from tests.policy.build import argument, rule
from tests.services.policies.build import in_force

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)
DECIDER = decisions.Decider(BY, Role.REVIEWER, "desk")


def decide(session: Session, verdict: str, **more) -> Approval:
    one = session.approvals.get(status="pending")
    return decisions.decide(one, DECIDER, decisions.Decision(verdict, one.version, one.digest, sure=True, **more))


def test_a_message_is_answered_and_the_session_is_idle_again(scripted_session):
    assert say(scripted_session, "Hello there") == messages.Submitted(1, queued=False)
    assert Session.objects.get(pk=scripted_session.pk).status == "running"
    work(scripted_session)
    assert scripted_session.status == "idle"
    assert told(scripted_session) == [("user_message", "Hello there"), ("agent_message", "You said: Hello there")]
    assert not TurnInFlight.objects.exists()


def test_the_turn_is_booked_once_with_its_tokens_and_cost(scripted_session):
    say(scripted_session, "Hello there")
    work(scripted_session)
    used = TurnUsage.objects.get(session=scripted_session)
    assert (used.turn, used.input_tokens, used.output_tokens, used.price_source) == (1, 12, 5, "runtime")
    assert used.cost == scripted_session.cost_recorded > 0
    assert used.runtime_ms >= 300


def test_messages_wait_behind_the_turn_and_are_answered_in_order(scripted_session):
    say(scripted_session, "one")
    assert say(scripted_session, "two") == messages.Submitted(None, queued=True)
    say(scripted_session, "three")
    assert told(scripted_session) == [("user_message", "one")]
    work(scripted_session)
    assert scripted_session.status == "running"
    work(work(scripted_session))
    assert scripted_session.status == "idle"
    assert [text for kind, text in told(scripted_session) if kind == "user_message"] == ["one", "two", "three"]
    assert [event.turn for event in Event.objects.filter(session=scripted_session).order_by("seq")] == [
        1,
        1,
        2,
        2,
        3,
        3,
    ]


def test_a_queued_message_can_be_taken_back(scripted_session):
    say(scripted_session, "one")
    say(scripted_session, "two")
    waiting = QueuedMessage.objects.get()
    assert messages.take_back(scripted_session.pk, waiting.pk)
    assert not messages.take_back(scripted_session.pk, waiting.pk)
    assert work(scripted_session).status == "idle"


def test_turn_enqueued_twice_runs_once(scripted_session):
    say(scripted_session, "one")
    work(work(scripted_session))
    assert len(told(scripted_session)) == 2


def test_two_workers_do_not_do_the_same_turn(scripted_session):
    say(scripted_session, "one")
    both = [threading.Thread(target=worker.run, args=(scripted_session.pk,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(told(scripted_session)) == 2


def test_a_call_waits_for_a_person_and_goes_on_when_approved(scripted_session):
    say(scripted_session, '/tool shop/refund {"order": 4711}\nDone')
    work(scripted_session)
    assert (scripted_session.status, scripted_session.pending_approvals) == ("running", 1)
    decide(scripted_session, "approve")
    work(scripted_session)
    assert scripted_session.status == "idle"
    kinds = [kind for kind, _ in told(scripted_session)]
    assert kinds == ["user_message", "tool_call", "approval", "approval", "tool_result", "agent_message"]
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert (result.tool_status, result.text) == ("ok", '{"tool":"refund","received":{"order":4711}}')
    assert scripted_session.approvals.get().execution == "succeeded"


def test_edited_arguments_are_the_ones_that_run(scripted_session):
    say(scripted_session, '/tool refund {"order": 4711}')
    work(scripted_session)
    decide(scripted_session, "approve", arguments={"order": 4712})
    work(scripted_session)
    assert '"order":4712' in Event.objects.get(session=scripted_session, kind="tool_result").text


def test_a_denied_call_is_not_run_and_the_agent_is_told_why(scripted_session):
    say(scripted_session, "/tool refund")
    work(scripted_session)
    decide(scripted_session, "deny", reason="Not on a Sunday")
    work(scripted_session)
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert (result.tool_status, result.text) == ("denied", "Not on a Sunday")


def test_answer_of_a_person_is_the_tool_result(scripted_session):
    say(scripted_session, "/ask Which order?")
    work(scripted_session)
    assert scripted_session.approvals.get().context == "Which order?"
    decide(scripted_session, "answer", answer="4711")
    work(scripted_session)
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert (result.tool_status, result.text, result.data["answered_by"]) == ("ok", "4711", "Ines")


def test_the_policy_decides_what_asks(make_session):
    policy = {"default": "allow", "tools": {"rm": "deny", "shop/refund": "ask"}}
    session = make_session("Strict", policy=policy)
    say(session, "/tool ls\n/tool rm\n/tool shop/refund")
    work(session)
    results = {e.tool_name: e.tool_status for e in Event.objects.filter(session=session, kind="tool_result")}
    assert results == {"ls": "ok", "rm": "denied"}
    answered = {approval.tool_name: approval.status for approval in session.approvals.all()}
    assert answered == {"rm": "auto_denied", "refund": "pending"}, "what is plainly allowed leaves no row"


def test_a_rule_of_the_workspace_has_the_last_word_on_a_call_that_runs_here(make_session):
    session = make_session("Trusting", policy={"default": "allow"})
    paying = argument("/amount", ">", 100)
    in_force(session.workspace, rule("deny", "too much", tool="pay", arguments=paying) | {"reason": "Ask the bank."})
    say(session, '/tool pay {"amount": 500}\n/tool pay {"amount": 5}\n/tool ls')
    work(session)
    results = Event.objects.filter(session=session, kind="tool_result").order_by("seq")
    assert [(e.tool_name, e.tool_status) for e in results] == [("pay", "denied"), ("pay", "ok"), ("ls", "ok")]
    assert results[0].text == "Ask the bank."
    denied = session.approvals.get()
    assert (denied.status, denied.rule, denied.delivery) == ("auto_denied", "too much", "delivered")


def test_a_rule_that_is_made_while_a_call_waits_does_not_answer_it(make_session):
    session = make_session("Patient")
    say(session, "/tool pay")
    work(session)
    in_force(session.workspace, rule("allow"))
    resume(session.pk)
    work(session)
    assert session.approvals.get().status == "pending"
    assert not Event.objects.filter(session=session, kind="tool_result").exists()


def test_an_interrupted_turn_stops_and_says_so(scripted_session):
    say(scripted_session, "/wait 30\nNever said")
    running = threading.Thread(target=worker.run, args=(scripted_session.pk,))
    running.start()
    messages.interrupt(scripted_session.pk, by=BY)
    running.join(60)
    scripted_session.refresh_from_db()
    assert scripted_session.status == "idle"
    assert [text for _, text in told(scripted_session)] == [
        "/wait 30\nNever said",
        "interrupt requested",
        "interrupted",
    ]


def test_interrupting_a_turn_that_waits_withdraws_the_question(scripted_session):
    say(scripted_session, "/tool refund")
    work(scripted_session)
    messages.interrupt(scripted_session.pk, by=BY)
    work(scripted_session)
    assert (scripted_session.status, scripted_session.approvals.get().status) == ("idle", "cancelled")
    assert told(scripted_session)[-1] == ("status", "interrupted")


def test_interrupt_and_send_is_read_next(scripted_session):
    say(scripted_session, "/tool refund")
    work(scripted_session)
    assert say(scripted_session, "Never mind", interrupting=True).queued
    work(work(scripted_session))
    assert told(scripted_session)[-1] == ("agent_message", "You said: Never mind")


def test_interrupt_and_send_is_read_before_what_waits(scripted_session):
    for text in ("/tool refund", "older", "oldest but one"):
        say(scripted_session, text)
    work(scripted_session)
    say(scripted_session, "First of all", interrupting=True)
    queued = turn_state.turn_state_of(scripted_session).queued
    assert [message.text for message in queued] == ["First of all", "older", "oldest but one"]
    work(work(work(work(scripted_session))))
    said = [text for kind, text in told(scripted_session) if kind == "agent_message"]
    assert said == ["You said: First of all", "You said: older", "You said: oldest but one"]


def test_interrupting_an_agent_at_rest_says_once_that_it_came_too_late(scripted_session):
    say(scripted_session, "Hello")
    before = told(work(scripted_session))
    for _ in range(2):
        messages.interrupt(scripted_session.pk, by=BY)
    late = ("status", "the interrupt came too late: no turn is in flight")
    assert told(work(scripted_session)) == [*before, late]


def test_a_turn_that_ended_before_its_interrupt_was_seen_says_so(scripted_session):
    say(scripted_session, "Hello")
    flight = in_flight.claim(scripted_session.pk)
    messages.interrupt(scripted_session.pk, by=BY)
    assert in_flight.finish(flight, 0, [])
    texts = [text for kind, text in told(scripted_session) if kind == "status"]
    assert texts == ["interrupt requested", "the interrupt came too late: it had ended by itself"]


def test_a_failure_is_in_the_log_and_the_turn_can_be_retried(scripted_session, monkeypatch):
    say(scripted_session, "/fail out of paper")
    work(scripted_session)
    assert (scripted_session.status, scripted_session.error_count) == ("idle", 1)
    assert told(scripted_session)[-1] == ("error", "out of paper")
    assert messages.retry(scripted_session.pk, by=BY)
    work(scripted_session)
    assert [kind for kind, _ in told(scripted_session)] == ["user_message", "error", "status", "error"]
    assert TurnUsage.objects.filter(session=scripted_session).count() == 1


def test_a_fault_of_the_runtime_is_told_and_ends_the_turn(scripted_session, monkeypatch):
    monkeypatch.setattr(scripted, "advance", lambda turn: 1 / 0)
    say(scripted_session, "Hello")
    work(scripted_session)
    assert scripted_session.status == "idle"
    assert told(scripted_session)[-1] == ("error", "the runtime failed: ZeroDivisionError: division by zero")


def test_a_turn_that_lost_its_worker_is_found_and_ends_once(scripted_session):
    say(scripted_session, "Hello\n/tool ls\nBye")
    lost = in_flight.claim(scripted_session.pk)
    dead = run.TurnRun(lost)
    scripted._say(dead, f"scripted:{dead.turn}:0", "Hello", "")  # and then its process is killed
    assert in_flight.claim(scripted_session.pk) is None
    assert in_flight.sweep() == 0
    TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert in_flight.sweep() == 1
    work(scripted_session)
    with pytest.raises(run.LeaseLost):
        dead.append(dead.event("note", "late", "I am still here"))
    assert [text for kind, text in told(scripted_session) if kind == "agent_message"] == ["You said: Hello"]
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


def test_a_decision_in_the_moment_a_turn_goes_to_rest_is_not_lost(scripted_session):
    say(scripted_session, "/tool refund")
    flight = in_flight.claim(scripted_session.pk)
    turn = run.TurnRun(flight)
    scripted._call(turn, f"scripted:{turn.turn}:0", "refund", "")
    turn.request_approval(Event.objects.get(session=scripted_session, kind="tool_call"))
    decide(scripted_session, "approve")  # before the worker lets go
    in_flight.park(flight, 5)
    assert TurnInFlight.objects.get().rung_at is not None


def test_a_paused_agent_begins_no_turns(scripted_session):
    agents.change(scripted_session.agent, {"status": "paused"}, by=BY)
    with pytest.raises(messages.NotActive, match="Parrot is paused"):
        say(scripted_session, "Hello")


def test_queued_messages_wait_while_the_agent_is_paused(scripted_session):
    say(scripted_session, "one")
    say(scripted_session, "two")
    agents.change(scripted_session.agent, {"status": "paused"}, by=BY)
    work(scripted_session)
    assert scripted_session.status == "idle"
    assert QueuedMessage.objects.count() == 1
    assert told(scripted_session)[-1] == ("status", "Parrot is paused: the next message waits")


def test_archiving_ends_the_turn(scripted_session):
    say(scripted_session, "/tool refund")
    work(scripted_session)
    sessions.archive(scripted_session, by=BY)
    work(scripted_session)
    assert scripted_session.status == "archived"
    assert not TurnInFlight.objects.exists()
    with pytest.raises(Archived):
        say(scripted_session, "Hello?")


def test_a_message_of_10_mb_is_refused_in_a_sentence(scripted_session):
    with pytest.raises(messages.TooLong, match="1,000,000 characters, this one has 10,000,000"):
        say(scripted_session, "x" * 10_000_000)


def test_an_external_agent_reads_the_log_and_no_turn_begins(make_session):
    session = make_session("Elsewhere", runtime="external")
    assert say(session, "Hello").seq == 1
    assert not TurnInFlight.objects.exists()
    assert Session.objects.get(pk=session.pk).status == "idle"


def test_text_is_shown_as_it_is_written(scripted_session, django_capture_on_commit_callbacks):
    say(scripted_session, "one two three four five six")
    flight = in_flight.claim(scripted_session.pk)
    turn = run.TurnRun(flight)
    turn.stream_text("one ", "r1")
    turn.stream_text("two", "r1")
    row = TurnInFlight.objects.get()
    assert (row.said, row.said_request) == ("one two", "r1")
    turn.stream_text("again", "r2")
    assert TurnInFlight.objects.get().said == "again"


def test_steps_of_a_turn_are_audited(scripted_session):
    say(scripted_session, "Hello")
    messages.interrupt(scripted_session.pk, by=BY)
    assert audit.AuditEntry.objects.filter(action="session.interrupted").exists()


@pytest.mark.parametrize("order", [2, True, "1"])
def test_a_call_that_is_not_the_approved_one_is_not_made(scripted_session, order):
    """Whoever could write the row after the decision cannot have another call made of it."""
    say(scripted_session, '/tool refund {"order": 1}\nDone')
    work(scripted_session)
    approved = decide(scripted_session, "approve")
    Approval.objects.update(decision=approved.decision | {"arguments": {"order": order}})
    work(scripted_session)
    result = Event.objects.get(session=scripted_session, kind="tool_result")
    assert (result.tool_status, "not the call that was approved" in result.text) == ("denied", True)
    assert Approval.objects.get().execution == "refused"


def test_an_approved_call_without_money_is_refused_and_says_so(scripted_session, monkeypatch):
    say(scripted_session, '/tool refund {"order": 1}\nDone')
    work(scripted_session)
    decide(scripted_session, "approve")

    def spent(*_):
        raise budgets.Spent("the budget of this day is used up")

    monkeypatch.setattr(budgets, "check_call", spent)
    work(scripted_session)
    approval = Approval.objects.get()
    assert (approval.status, approval.delivery, approval.execution) == ("approved", "delivered", "refused")
