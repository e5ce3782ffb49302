"""What Managed Agents ask is decided here, and the decision is taken back there, once and truthfully."""

from __future__ import annotations

import threading

import pytest

from sessions_app.models import Approval, TurnInFlight
from sessions_app.runtimes import worker
from sessions_app.runtimes.managed import upkeep
from sessions_app.services import sessions
from sessions_app.services.turns import messages as turn_messages
from tests.fakes.managed_agents import Fault
from tests.fakes.managed_agents_steps import Calls, Say, SubAgent, Use
from tests.services.policies.build import in_force

from .conftest import BY, say, told, work
from .managed import decide, is_whole, messages, of_kind

pytestmark = pytest.mark.django_db(transaction=True)
REFUND = {"order": 1182, "amount_cents": 4200}


def refund(**more) -> Calls:
    return Calls([Use("create_refund", REFUND, server="billing", permission="ask", result="refunded", **more)])


def ask(**more) -> Calls:
    return Calls([Use("escalate_to_human", {"question": "Above policy?"}, custom=True, **more)])


@pytest.fixture
def asking(managed, fake):
    """A session whose refund waits for a person."""
    fake.world.scripts.append([refund(), Say("Done.")])
    say(managed, "Refund order 1182")
    return work(managed)


def sent(fake) -> list[dict]:
    return [event for event in fake.session.sent if event["type"] not in ("user.message", "user.interrupt")]


def test_a_call_that_asks_waits_for_a_person(asking, fake):
    assert (asking.status, asking.pending_approvals) == ("running", 1)
    approval = asking.approvals.get()
    assert (approval.tool_name, approval.tool_server, approval.arguments) == ("create_refund", "billing", REFUND)
    assert approval.client_id == next(iter(fake.session.parked))
    assert TurnInFlight.objects.get().worker is None


def test_an_approved_call_runs(asking, fake):
    decide(asking, "approve")
    work(asking)
    assert (asking.status, messages(asking)[-1]) == ("idle", "Done.")
    assert [(event["type"], event["result"]) for event in sent(fake)] == [("user.tool_confirmation", "allow")]
    approval = asking.approvals.get()
    assert (approval.delivery, approval.execution) == ("delivered", "succeeded")
    assert is_whole(asking, fake.session)


def test_a_denied_call_does_not_and_the_agent_is_told_why(asking, fake):
    decide(asking, "deny", reason="Not on a Sunday")
    work(asking)
    assert sent(fake)[0]["deny_message"] == "Not on a Sunday"
    (result,) = of_kind(asking, "tool_result")
    assert (result.tool_status, result.text) == ("denied", "denied by user: Not on a Sunday")
    assert asking.approvals.get().execution == "none"


def test_an_edited_call_is_denied_with_the_call_to_make_instead(asking, fake):
    decide(asking, "approve", arguments={"order": 1182, "amount_cents": 1200})
    work(asking)
    answer = sent(fake)[0]
    assert answer["result"] == "deny"
    assert (
        'Call create_refund again, with exactly these arguments: {"order":1182,"amount_cents":1200}'
        in (answer["deny_message"])
    )


def test_the_call_that_a_person_wrote_runs_without_asking_again_and_once(managed, fake):
    """It is told why; the same call a second time asks, and so does one that differs."""
    calls = [Use("bash", {"n": n}, permission="ask") for n in (7, 1, 1, True)]
    fake.world.scripts.append([Calls([call]) for call in calls])
    say(managed, "Go")
    work(managed)
    decide(managed, "approve", arguments={"n": 1})
    work(managed)
    statuses = managed.approvals.order_by("id").values_list("status", "arguments")
    assert [*statuses] == [("approved_edited", {"n": 7}), ("auto_allowed", {"n": 1}), ("pending", {"n": 1})]
    allowed = managed.approvals.get(status="auto_allowed")
    assert str(managed.approvals.get(status="approved_edited").pk) in allowed.rule
    assert allowed.decision["reason"] == "Ines approved the call with exactly these arguments"
    assert [one["result"] for one in sent(fake)] == ["deny", "allow"]
    decide(managed, "approve", arguments={"n": 1, "m": 2})
    work(managed)
    assert managed.approvals.get(status="pending").arguments == {"n": True}


def test_the_call_that_a_person_wrote_is_held_to_the_rules_as_they_are_when_it_is_made(managed, fake):
    fake.world.scripts.append([Calls([Use("bash", {"n": n}, permission="ask")]) for n in (7, 1)])
    say(managed, "Go")
    work(managed)
    decide(managed, "approve", arguments={"n": 1})
    match = {"tool": "bash", "arguments": [{"path": "/n", "op": "=", "value": 1}]}
    in_force(managed.workspace, {"name": "No ones", "match": match, "effect": "deny", "reason": "Not any more."})
    work(managed)
    assert [one["result"] for one in sent(fake)] == ["deny", "deny"]
    assert sent(fake)[1]["deny_message"] == "Not any more."
    assert managed.approvals.latest("id").status == "auto_denied"


def test_a_question_is_answered(managed, fake):
    fake.world.scripts.append([ask(), Say("Thank you.")])
    say(managed, "Refund")
    work(managed)
    assert managed.approvals.get().context == "Above policy?"
    decide(managed, "answer", answer="Yes, once")
    work(managed)
    (answer,) = sent(fake)
    assert (answer["type"], answer["content"][0]["text"]) == ("user.custom_tool_result", "Yes, once")
    (result,) = of_kind(managed, "tool_result")
    assert (result.tool_name, result.text, result.tool_status) == ("escalate_to_human", "Yes, once", "ok")
    assert managed.approvals.get().delivery == "delivered"


def test_a_question_that_is_refused_is_an_error_so_that_the_agent_stops(managed, fake):
    fake.world.scripts.append([ask(), Say("Well then.")])
    say(managed, "Refund")
    work(managed)
    decide(managed, "deny", reason="Nobody knows")
    work(managed)
    assert sent(fake)[0]["is_error"] is True
    assert (managed.status, messages(managed)[-1]) == ("idle", "Well then.")


def test_a_custom_tool_that_the_policy_denies_asks_nobody(managed, fake):
    managed.agent.policy = {"tools": {"print_label": "deny"}}
    managed.agent.save()
    fake.world.scripts.append([Calls([Use("print_label", custom=True)]), Say("No label.")])
    say(managed, "Print")
    work(managed)
    assert (managed.status, Approval.objects.get().status) == ("idle", "auto_denied")
    assert sent(fake)[0]["is_error"] is True


def test_of_two_calls_each_is_answered_as_it_is_decided(managed, fake):
    fake.world.scripts.append([Calls([refund().uses[0], ask().uses[0]]), Say("Both done.")])
    say(managed, "Refund")
    work(managed)
    decide(managed, "approve", tool="create_refund")
    work(managed)
    assert (managed.status, managed.pending_approvals) == ("running", 1)
    assert len(sent(fake)) == 1
    decide(managed, "answer", tool="escalate_to_human", answer="Yes")
    work(managed)
    assert (managed.status, messages(managed)[-1]) == ("idle", "Both done.")
    assert [event["type"] for event in sent(fake)] == ["user.tool_confirmation", "user.custom_tool_result"]


def test_the_ask_of_a_sub_agent_is_answered_like_any_other(managed, fake):
    use = Use("drop", {"table": "orders"}, server="billing", permission="ask")
    fake.world.scripts.append([SubAgent("Cleaner", "Clean up", "Cleaned", asks=use), Say("All clean.")])
    say(managed, "Clean")
    work(managed)
    assert of_kind(managed, "tool_call")[0].actor_name == "Cleaner"
    decide(managed, "approve")
    work(managed)
    assert (managed.status, messages(managed)[-1]) == ("idle", "All clean.")


def test_a_call_that_arrives_behind_the_idle_event_is_looked_for(managed, fake):
    fake.switches.tool_use_after_idle = 0.3
    fake.world.scripts.append([refund(), Say("Done.")])
    say(managed, "Refund")
    work(managed)
    assert managed.approvals.get().arguments == REFUND


def test_a_call_that_never_arrives_can_only_be_denied(managed, fake):
    fake.switches.tool_use_after_idle = 3.0
    fake.world.scripts.append([refund(), Say("Done.")])
    say(managed, "Refund")
    work(managed)
    assert managed.approvals.get().tool_name == "call that was not shown"
    decide(managed, "approve")
    threading.Event().wait(2.5)  # until the call is there, so that the runtime takes an answer at all
    work(managed)
    assert sent(fake)[0]["result"] == "deny"
    assert managed.status == "idle"


def test_a_runtime_that_does_not_say_what_it_waits_for_is_asked_for_what_is_open(managed, fake):
    fake.switches.empty_event_ids = True
    fake.world.scripts.append([refund(), Say("Done.")])
    say(managed, "Refund")
    work(managed)
    decide(managed, "approve")
    work(managed)
    assert (managed.status, messages(managed)[-1]) == ("idle", "Done.")


def test_call_refused_by_the_runtime_policy_is_logged_and_nobody_is_asked(managed, fake):
    judged = {"type": "auto", "evaluated_permission": {"type": "deny", "reason_code": "high_risk"}}
    unknown = {"type": "auto", "evaluated_permission": {"type": "ask", "reason_code": "brand_new"}}
    uses = [Use("bash", permission="deny", evaluation=judged), Use("edit", permission="deny"),
            Use("write", permission="ask", evaluation=unknown)]  # fmt: skip
    fake.world.scripts.append([Calls(uses), Say("Hm.")])
    say(managed, "Do it")
    work(managed)
    assert managed.approvals.get().tool_name == "write"
    decide(managed, "approve")
    work(managed)
    refused = [e.data["reason"] for e in of_kind(managed, "approval") if e.data.get("by") == "policy"]
    assert refused == ["high_risk", "the tool is not enabled"]
    assert [e.tool_status for e in of_kind(managed, "tool_result")] == ["denied", "denied", "ok"]


def test_an_answer_given_elsewhere_settles_the_approval_here(asking, fake):
    answer = {"type": "user.tool_confirmation", "tool_use_id": next(iter(fake.session.parked)), "result": "allow"}
    fake.do(lambda: fake.session.receive({"events": [answer]}))
    assert upkeep.look_again() == 1
    work(asking)
    approval = asking.approvals.get()
    assert (approval.status, approval.delivery) == ("settled_elsewhere", "delivered")
    assert approval.decision["reason"] == "answered at the runtime: allow"
    assert (asking.status, asking.pending_approvals, messages(asking)[-1]) == ("idle", 0, "Done.")


def test_looking_again_while_nothing_happened_writes_nothing(asking, fake):
    before = told(asking)
    assert upkeep.look_again() == 1
    work(asking)
    assert (told(asking), asking.status) == (before, "running")


def test_a_decision_that_comes_after_another_one_elsewhere_says_so(asking, fake):
    answer = {"type": "user.tool_confirmation", "tool_use_id": next(iter(fake.session.parked)), "result": "allow"}
    fake.do(lambda: fake.session.receive({"events": [answer]}))
    decide(asking, "deny", reason="No")
    work(asking)
    approval = asking.approvals.get()
    assert (approval.status, approval.delivery) == ("denied", "elsewhere")
    assert len(sent(fake)) == 1
    assert asking.status == "idle"


def test_an_answer_that_arrived_though_it_timed_out_is_not_sent_twice(asking, fake):
    decide(asking, "approve")
    fake.faults.append(Fault("POST /v1/sessions/", 504, "timeout_error", "timed out", after=True))
    work(asking)
    assert len(sent(fake)) == 1
    assert (asking.status, asking.approvals.get().delivery) == ("idle", "delivered")


def test_an_answer_that_did_not_arrive_is_sent_again(asking, fake):
    decide(asking, "approve")
    fake.faults.append(Fault("POST /v1/sessions/", 529, "overloaded_error", "Overloaded", {"retry-after": "0.1"}))
    work(asking)
    assert len(sent(fake)) == 1
    assert (asking.status, messages(asking)[-1]) == ("idle", "Done.")


def test_an_answer_to_what_was_interrupted_elsewhere_is_not_repeated_for_ever(asking, fake):
    fake.do(lambda: fake.session.receive({"events": [{"type": "user.interrupt"}]}))
    decide(asking, "approve")
    work(asking)
    assert asking.status == "idle"
    assert sent(fake) == []


@pytest.mark.parametrize("what", ["interrupted", "deleted"])
def test_a_question_that_the_runtime_has_dropped_is_not_asked_here_for_ever(asking, fake, what):
    stop = {"events": [{"type": "user.interrupt"}]}
    fake.do((lambda: fake.session.receive(stop)) if what == "interrupted" else fake.session.delete)
    upkeep.look_again()
    work(asking)
    assert (asking.status, asking.pending_approvals) == ("idle", 0)
    assert asking.approvals.get().status == "settled_elsewhere"


def test_the_next_message_waits_for_the_unparking(asking, fake):
    fake.switches.unpark_lag = 0.5
    turn_messages.interrupt(asking.pk, by=BY)
    say(asking, "Never mind")
    work(work(asking))
    assert (asking.status, messages(asking)) == ("idle", ["Refund order 1182", "Never mind", "Done."])


def test_a_message_that_is_refused_because_the_session_waits_asks_for_the_answers_first(managed, fake):
    """The asks are of a turn that somebody began elsewhere."""
    say(managed, "Hello")
    work(managed)
    fake.world.scripts += [[refund(), Say("Refunded.")], [Say("Hello again.")]]
    message = {"type": "user.message", "content": [{"type": "text", "text": "Refund, says the console"}]}
    fake.do(lambda: fake.session.receive({"events": [message]}))
    say(managed, "Hello?")
    work(managed)
    assert (managed.status, managed.pending_approvals) == ("running", 1)
    decide(managed, "approve")
    work(managed)
    assert messages(managed)[-2:] == ["Refunded.", "Hello again."]
    assert managed.status == "idle"


def test_interrupting_withdraws_the_question_there(asking, fake):
    fake.switches.interrupt_lag = 0.5
    turn_messages.interrupt(asking.pk, by=BY)
    work(asking)
    assert asking.status == "idle"
    assert (fake.session.status, fake.session.parked) == ("idle", {})
    approval = asking.approvals.get()
    assert (approval.status, approval.delivery) == ("cancelled", "delivered")
    assert of_kind(asking, "tool_result")[0].tool_status == "cancelled"
    assert told(asking)[-1] == ("status", "interrupted")


def test_an_expired_question_is_a_denial(asking, fake):
    Approval.objects.update(expires_at=asking.created_at)
    from sessions_app.services.approvals import endings

    assert endings.expire_due() == 1
    work(asking)
    assert sent(fake)[0]["result"] == "deny"
    assert "No reviewer answered in time" in sent(fake)[0]["deny_message"]


def test_a_session_archived_here_is_archived_there(asking, fake):
    fake.switches.post_idle_lag = 0.5
    sessions.archive(asking, by=BY)
    work(asking)
    assert worker.close(asking.pk)
    assert fake.session.archived_at
    assert told(asking)[-1] == ("status", "archived at the runtime")
    assert upkeep.look_again() == 0


def test_archiving_there_is_tried_again_when_it_fails(asking, fake):
    sessions.archive(asking, by=BY)
    work(asking)
    fake.faults.append(Fault("/archive", 503, "api_error", "not now"))
    assert not worker.close(asking.pk)
    assert upkeep.look_again() == 1
    assert worker.close(asking.pk)


def test_a_function_of_ours_runs_here_and_its_result_goes_there(make_session, fake, monkeypatch):
    ran: list[str] = []

    def weigh(parcel: str) -> str:
        """Weighs a parcel."""
        ran.append(parcel)
        return f"{parcel}: 3 kg"

    monkeypatch.setattr("sessions_app.runtimes.tools.python_tools._function", lambda name: weigh)
    session = make_session(
        "Packer", runtime="managed", model="claude-opus-5-5", policy={"default": "allow"},
        tools=[{"type": "python", "name": "weigh"}],
    )  # fmt: skip
    fake.world.scripts.append([Calls([Use("weigh", {"parcel": "P1"}, custom=True)]), Say("Three kilos.")])
    say(session, "Weigh P1")
    work(session)
    assert fake.session.agent["tools"][0]["description"] == "Weighs a parcel."
    assert (ran, sent(fake)[0]["content"][0]["text"]) == (["P1"], "P1: 3 kg")
    assert [event.text for event in of_kind(session, "tool_result")] == ["P1: 3 kg"]
    assert (session.status, messages(session)[-1]) == ("idle", "Three kilos.")


def test_arguments_that_a_person_changed_are_those_that_run_and_the_agent_is_told(make_session, fake, monkeypatch):
    monkeypatch.setattr("sessions_app.runtimes.tools.python_tools._function", lambda name: lambda parcel: parcel)
    session = make_session(
        "Packer", runtime="managed", model="claude-opus-5-5", tools=[{"type": "python", "name": "weigh"}]
    )
    fake.world.scripts.append([Calls([Use("weigh", {"parcel": "P1"}, custom=True)])])
    say(session, "Weigh P1")
    work(session)
    decide(session, "approve", arguments={"parcel": "P2"})
    work(session)
    assert sent(fake)[0]["content"][0]["text"] == 'A reviewer changed the arguments to {"parcel":"P2"}.\nP2'


def test_archiving_rings_for_the_runtime_and_nobody_waits_for_it(asking, fake, monkeypatch):
    enqueued: list[str] = []
    monkeypatch.setattr("sessions_app.services.task_queue.enqueue", lambda task, *_: enqueued.append(task))
    requests = len(fake.requests)
    sessions.archive(asking, by=BY)
    assert "sessions_app.tasks.close_session" in enqueued
    assert len(fake.requests) == requests


def test_a_function_that_says_nothing_has_a_result_there(make_session, fake, monkeypatch):
    """The API refuses an empty text, and the session would wait for ever."""
    monkeypatch.setattr("sessions_app.runtimes.tools.python_tools._function", lambda name: lambda: "")
    session = make_session(
        "Packer", runtime="managed", model="claude-opus-5-5", policy={"default": "allow"},
        tools=[{"type": "python", "name": "tidy"}],
    )  # fmt: skip
    fake.world.scripts.append([Calls([Use("tidy", custom=True)]), Say("Tidied up.")])
    say(session, "Tidy up")
    work(session)
    assert [one["content"] for one in sent(fake)] == [[{"type": "text", "text": "(no output)"}]]
    assert messages(session) == ["Tidy up", "Tidied up."]
