"""Cut streams, refusals that pass, lost answers and workers that die: no event is lost, doubled, or sent twice."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from sessions_app.models import Session, TurnInFlight
from sessions_app.runtimes import run, worker
from sessions_app.runtimes.managed import client, follow
from sessions_app.services.turns import messages as turn_messages
from tests.fakes.managed_agents import Fault
from tests.fakes.managed_agents_steps import Calls, Cut, Emit, Pause, Say, Use

from .conftest import BY, say, told, work
from .managed import decide, is_whole, messages, of_kind

pytestmark = pytest.mark.django_db(transaction=True)


class Killed(BaseException):
    """What SIGKILL is to a worker: nothing catches it."""


def die_at(monkeypatch, owner, name: str, number: int, *, after: bool) -> None:
    """The process ends at the n-th call, before or after it is carried out. The next worker lives."""
    real, seen = getattr(owner, name), []

    def dying(self, *args, **more):
        seen.append(name)
        if len(seen) == number and not after:
            raise Killed
        done = real(self, *args, **more)
        if len(seen) == number and after:
            raise Killed
        return done

    monkeypatch.setattr(owner, name, dying)


def work_until_it_lives(session: Session) -> int:
    """Workers take over from each other; the number that died."""
    deaths = 0
    while True:
        try:
            work(session)
            return deaths
        except Killed:
            deaths += 1
            TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))


@pytest.mark.parametrize(
    ("owner", "name", "number", "after"),
    [
        (client.Port, "create_agent", 1, True),
        (client.Port, "create_session", 1, False),
        (client.Port, "create_session", 1, True),
        (client.Port, "send", 1, False),
        (client.Port, "send", 1, True),
        (run.TurnRun, "append", 1, False),
        (run.TurnRun, "append", 1, True),
        (run.TurnRun, "append", 2, False),
        (run.TurnRun, "append", 2, True),
        (run.TurnRun, "append", 3, True),
        (follow.Follower, "listen", 3, True),
    ],
)
def test_a_worker_that_dies_loses_and_doubles_nothing(managed, fake, monkeypatch, owner, name, number, after):
    look = Calls([Use("bash", {"command": "ls"})])
    fake.world.scripts.append([look, Say("Two files.", pause=0.1), Pause(0.5), Say("Bye.")])
    say(managed, "Look")
    die_at(monkeypatch, owner, name, number, after=after)
    assert work_until_it_lives(managed) == 1
    assert (managed.status, messages(managed)) == ("idle", ["Look", "Two files.", "Bye."])
    assert [event["type"] for event in fake.session.sent] == ["user.message"]
    assert len(fake.world.sessions) == 1
    assert is_whole(managed, fake.session)
    assert (managed.input_tokens, str(managed.cost_recorded)) == (300, "0.0300000000")


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_over_an_answer_gives_it_once(managed, fake, monkeypatch, after):
    fake.world.scripts.append([Calls([Use("refund", server="billing", permission="ask")]), Say("Done.")])
    say(managed, "Refund")
    work(managed)
    decide(managed, "approve")
    die_at(monkeypatch, client.Port, "send", 1, after=after)
    assert work_until_it_lives(managed) == 1
    assert [event["type"] for event in fake.session.sent] == ["user.message", "user.tool_confirmation"]
    assert (managed.status, managed.approvals.get().delivery) == ("idle", "delivered")
    assert is_whole(managed, fake.session)


@pytest.mark.parametrize("half", [False, True])
def test_a_stream_that_breaks_is_opened_again_and_what_was_missed_is_listed(managed, fake, half):
    fake.world.scripts.append([Say("One", pause=0.1), Cut(half=half), Say("Two"), Pause(0.6), Say("Three")])
    say(managed, "Count")
    work(managed)
    assert messages(managed) == ["Count", "One", "Two", "Three"]
    assert is_whole(managed, fake.session)
    assert sum("stream" in request for request in fake.requests) == 2


def test_a_stream_that_breaks_over_and_over_ends_in_a_retry_and_not_in_a_loop(managed, fake, monkeypatch):
    monkeypatch.setattr(follow, "MOST_CUTS", 1)
    monkeypatch.setattr("sessions_app.runtimes.managed.loop.RETRY_SECONDS", 0.1)
    fake.world.scripts.append([Cut(), Pause(1.0), Cut(), Pause(1.0), Say("Still here")])
    say(managed, "Hello")
    work(managed)
    assert messages(managed)[-1] == "Still here"


def test_frames_without_an_event_line_are_read(managed, fake):
    fake.switches.drop_event_line = True
    fake.world.scripts.append([Say("Heard?")])
    say(managed, "Hello")
    work(managed)
    assert messages(managed)[-1] == "Heard?"
    assert is_whole(managed, fake.session)


@pytest.mark.parametrize(
    ("status", "kind", "match"),
    [
        (429, "rate_limit_error", "POST /v1/agents"),
        (529, "overloaded_error", "/events/stream"),
        (503, "api_error", "GET /v1/sessions"),
        (429, "rate_limit_error", "POST /v1/sessions/"),
        (529, "overloaded_error", "POST /v1/sessions/"),
        (500, "api_error", "POST /v1/sessions"),
    ],
)
def test_transient_errors_are_retried_after_the_stated_delay(managed, fake, monkeypatch, status, kind, match):
    monkeypatch.setattr("sessions_app.runtimes.managed.loop.RETRY_SECONDS", 30)
    fake.faults.append(Fault(match, status, kind, "come back", {"retry-after": "0.2"}))
    say(managed, "Hello")
    work(managed)
    assert (managed.status, messages(managed)) == ("idle", ["Hello", "Done."])
    waits = [event.text for event in of_kind(managed, "status") if event.data.get("status") == "retrying"]
    assert waits == [f"Anthropic: {status} come back; next try in 0 s"]
    assert [event["type"] for event in fake.session.sent] == ["user.message"]


def test_a_message_that_arrived_though_it_timed_out_is_not_sent_twice(managed, fake, monkeypatch):
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.4)
    monkeypatch.setattr("sessions_app.runtimes.managed.loop.RETRY_SECONDS", 0.1)
    say(managed, "Hello")
    work(managed)
    fake.faults.append(Fault("POST /v1/sessions/", 504, "timeout_error", "late", after=True, hang=2.0))
    say(managed, "Hello")
    work(managed)
    assert [event["type"] for event in fake.session.sent] == ["user.message"] * 2
    assert messages(managed) == ["Hello", "Done."] * 2
    assert is_whole(managed, fake.session)


def test_a_runtime_that_stays_away_ends_the_turn_and_a_person_can_try_again(managed, fake, monkeypatch):
    fake.faults += [Fault("POST /v1/sessions/", 529, "overloaded_error", "Overloaded", {"retry-after": "0"})] * 6
    say(managed, "Hello")
    work(managed)
    assert told(managed)[-1][1].startswith("given up after") and "529 Overloaded" in told(managed)[-1][1]
    assert turn_messages.retry(managed.pk, by=BY)
    work(managed)
    assert messages(managed) == ["Hello", "Done."]
    assert len(fake.session.sent) == 1


def test_trying_again_sends_the_message_again_when_the_runtime_is_done_with_it(managed, fake):
    for _ in range(2):
        say(managed, "Hello") if managed.status == "idle" and not managed.last_turn else turn_messages.retry(
            managed.pk, by=BY
        )
        work(managed)
    assert [event["type"] for event in fake.session.sent] == ["user.message"] * 2
    assert messages(managed) == ["Hello", "Done.", "Done."]
    assert managed.last_turn == 1


def test_trying_again_takes_up_what_went_on_meanwhile(managed, fake, monkeypatch):
    """The worker gave up, the runtime did not."""
    fake.world.scripts.append([Say("Thinking.", pause=0.1), Pause(0.5), Say("Found it.")])
    say(managed, "Find it")
    with monkeypatch.context() as patch:
        patch.setattr(follow.Follower, "listen", lambda *_: 1 / 0)
        work(managed)
    assert (managed.status, managed.error_count) == ("idle", 1)
    time.sleep(1.2)
    turn_messages.retry(managed.pk, by=BY)
    work(managed)
    assert messages(managed) == ["Find it", "Thinking.", "Found it."]
    assert len(fake.session.sent) == 1


def test_an_interrupt_is_heard_while_the_agent_works_and_the_next_message_does_not_meet_it(managed, fake):
    fake.switches.interrupt_lag = 0.4
    fake.world.scripts += [[Calls([Use("bash")]), Pause(30)], [Say("I listen.")]]
    say(managed, "Work")
    running = threading.Thread(target=worker.run, args=(managed.pk,))
    running.start()
    _until(lambda: of_kind(managed, "tool_result"))
    begun = time.monotonic()
    say(managed, "Stop that", interrupting=True)
    running.join(60)
    assert time.monotonic() - begun < 25  # the agent works for 30
    assert [text for kind, text in told(managed) if kind == "status"] == ["interrupt requested", "interrupted"]
    work(managed)
    assert (managed.status, messages(managed)) == ("idle", ["Work", "Stop that", "I listen."])
    assert is_whole(managed, fake.session)


def test_an_interrupt_reaches_the_runtime_also_while_we_wait_for_it(managed, fake):
    fake.world.scripts.append([Pause(30)])
    say(managed, "Work")
    running = threading.Thread(target=worker.run, args=(managed.pk,))
    running.start()
    _until(lambda: of_kind(managed, "system"))
    fake.faults += [Fault("/events", 529, "overloaded_error", "Overloaded", {"retry-after": "60"})]
    fake.do(lambda: fake.session.cut_streams(half=False))
    _until(lambda: any(e.data.get("status") == "retrying" for e in of_kind(managed, "status")))
    managed.refresh_from_db()
    turn_messages.interrupt(managed.pk, by=BY)
    running.join(60)
    assert [event["type"] for event in fake.session.sent] == ["user.message", "user.interrupt"]
    assert fake.session.status == "idle"


def test_no_database_connection_is_held_while_nothing_happens(managed, fake, monkeypatch):
    held: list[bool] = []
    real = client.Stream.next

    def looking(self, seconds):
        if seconds:
            held.append(connections["default"].connection is not None)
        return real(self, seconds)

    monkeypatch.setattr(client.Stream, "next", looking)
    fake.world.scripts.append([Pause(0.8), Say("Awake")])
    say(managed, "Hello")
    work(managed)
    assert held and not any(held)


def test_a_turn_that_another_worker_took_writes_nothing_more(managed, fake):
    fake.world.scripts.append([Pause(1.0), Say("Late")])
    say(managed, "Hello")
    running = threading.Thread(target=worker.run, args=(managed.pk,))
    running.start()
    _until(lambda: of_kind(managed, "system"))
    TurnInFlight.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    work(managed)
    running.join(60)
    assert (managed.status, messages(managed)) == ("idle", ["Hello", "Late"])
    assert is_whole(managed, fake.session)


def test_hostile_events_do_not_stop_the_turn(managed, fake):
    deep: dict = {}
    for _ in range(200):
        deep = {"a": deep}
    fake.world.scripts.append([
        Emit("agent.message", {"content": [{"type": "text", "text": "a\x00b\ud800"}, None, 5]}),
        Emit("agent.tool_use", {"name": 5, "input": deep}), Emit("agent.tool_result", {"tool_use_id": None}),
        Emit("session.usage", {"usage": {"list_cost": {"amount": "NaN"}}}), Emit("session.error", {"error": "no"}),
        Emit("span.model_request_end", {"model_usage": {"input_tokens": -5, "output_tokens": "many"}}),
        Emit("session.thread_created", {"session_thread_id": ["x"]}), Emit(
            "agent.thinking", {"id": {"no": "id"}, "processed_at": "yesterday"}
        ),
        Say("Unharmed."),
    ])  # fmt: skip
    say(managed, "Hello")
    work(managed)
    assert "Unharmed." in messages(managed)


def test_a_session_that_was_deleted_there_says_so(managed, fake):
    say(managed, "Hello")
    work(managed)
    fake.do(fake.session.delete)
    say(managed, "Again")
    work(managed)
    assert "Continue this one as a new session" in told(managed)[-1][1]


def _until(true, seconds: float = 8.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
