"""A task that a sweep enqueues again: at once, then ever more seldom, and each kind in a queue of its own."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.utils import timezone

from config import broker
from sessions_app.models import LastTaken, QueuedTask, Requeue, TurnInFlight
from sessions_app.services import audit, fair_queue, task_queue
from sessions_app.services.triggers import trigger_runs
from sessions_app.services.turns import in_flight, messages, resume

BY = audit.Actor("member", "m", "Ines")
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_queues(transactional_db) -> None:
    with connection.cursor() as cursor:
        for queue in broker.QUEUES:
            cursor.execute(f"DELETE FROM pgmq.q_{queue}")


def waiting() -> dict[str, Counter]:
    """Messages by queue and task."""
    found: dict[str, Counter] = {}
    with connection.cursor() as cursor:
        for queue in broker.QUEUES:
            cursor.execute(f"SELECT message->'headers'->>'task' FROM pgmq.q_{queue}")
            found[queue] = Counter(task.rpartition(".")[2] for (task,) in cursor.fetchall())
    return found


def in_line() -> dict[str, Counter]:
    """Tasks that wait, by queue."""
    found: dict[str, Counter] = {}
    for row in QueuedTask.objects.all():
        found.setdefault(row.queue, Counter())[row.task.rpartition(".")[2]] += 1
    return found


def pass_seconds(seconds: float) -> None:
    Requeue.objects.update(at=timezone.now() - timedelta(seconds=seconds))


def requeue(row: UUID, lost_seconds_ago: float = 60) -> int:
    since = timezone.now() - timedelta(seconds=lost_seconds_ago)
    return task_queue.requeue(task_queue.RUN_TURN, {row: since})


def test_a_row_that_nobody_takes_is_enqueued_ever_more_seldom():
    row, sent = uuid4(), []
    for seconds in (0, 5, 16, 16, 31, 31, 61):
        if seconds:
            pass_seconds(seconds)
        sent.append(requeue(row, lost_seconds_ago=10_000))
    assert sent == [1, 0, 1, 0, 1, 0, 1]
    assert waiting()["countersign_people"] == {"run_turn": 4}


def test_the_wait_ends_at_eight_minutes():
    row = uuid4()
    requeue(row, 10_000)
    Requeue.objects.update(times=30)
    pass_seconds(481)
    Requeue.objects.update(times=task_queue.DOUBLINGS)
    assert requeue(row, 10_000) == 1
    assert Requeue.objects.get().times == task_queue.DOUBLINGS


def test_a_row_that_a_worker_took_and_lost_again_is_enqueued_at_once():
    row = uuid4()
    assert requeue(row) == 1
    pass_seconds(2)
    assert requeue(row, lost_seconds_ago=1) == 1
    assert Requeue.objects.get().times == 0


def test_a_backlog_of_turns_does_not_grow_by_its_sweep(scripted_agent):
    """Each sweep enqueued every turn that waited once more: 794 turns had 6,240 messages."""
    for number in range(5):
        messages.start_session(scripted_agent, f"Hello {number}", by=BY, origin="api")
    TurnInFlight.objects.update(rung_at=timezone.now() - timedelta(minutes=2))
    assert [in_flight.sweep() for _ in range(8)] == [5, 0, 0, 0, 0, 0, 0, 0]
    assert waiting()["countersign_people"] == {"run_next": 10}
    assert QueuedTask.objects.count() == 5


def test_while_workers_take_from_a_queue_one_message_is_sent_for_all_that_wait_in_it(scripted_agent):
    """Of 500 files at once each that waited for 15 s had a second message: a third more of CPU, a fifth of WAL."""
    for number in range(5):
        messages.start_session(scripted_agent, f"Hello {number}", by=BY, origin="api")
    assert fair_queue.take(broker.PEOPLE)
    TurnInFlight.objects.update(rung_at=timezone.now() - timedelta(minutes=2))
    assert in_flight.sweep() == 1  # of the worker that took one and died
    assert waiting()["countersign_people"] == {"run_next": 5 + 1 + 1}
    LastTaken.objects.update(at=timezone.now() - timedelta(seconds=16))
    assert in_flight.sweep() == 4
    assert waiting()["countersign_people"] == {"run_next": 7 + 4}


def test_what_webhooks_begin_never_stands_before_people(scripted_agent):
    fires = [trigger_runs.Fire("webhook", f"hook-{number}", "Alarms", "Look") for number in range(30)]
    for fire in fires:
        trigger_runs.fire(scripted_agent, fire)
    messages.start_session(scripted_agent, "Hello", by=BY, origin="chat")
    trigger_runs.fire(scripted_agent, trigger_runs.Fire("schedule", "at nine", "Report", "Write"))
    assert waiting() == {
        "countersign": {}, "countersign_big": {}, "countersign_turns": {"run_next": 30},
        "countersign_people": {"run_next": 2},
    }  # fmt: skip
    assert in_line() == {"countersign_turns": {"run_triggered_turn": 30}, "countersign_people": {"run_turn": 2}}


def test_what_a_person_says_in_a_session_of_a_webhook_is_a_persons_turn(scripted_agent):
    session = trigger_runs.fire(scripted_agent, trigger_runs.Fire("webhook", "one", "Alarms", "Look")).session
    in_flight.finish(in_flight.claim(session.pk), 0)
    messages.submit(session.pk, "And now?", by=BY)
    assert not TurnInFlight.objects.get().triggered
    assert in_line()["countersign_people"] == {"run_turn": 1}


def test_a_message_for_a_turn_that_is_taken_costs_one_query(scripted_agent, django_assert_num_queries):
    session = messages.start_session(scripted_agent, "Hello", by=BY, origin="chat")
    in_flight.claim(session.pk)
    with django_assert_num_queries(1):
        assert in_flight.claim(session.pk) is None


def test_who_starts_many_turns_does_not_hold_those_of_others(scripted_agent):
    """In turns between people of a workspace, and again when a decision resumes a turn."""
    for number in range(20):
        messages.start_session(scripted_agent, f"Hello {number}", by=BY, origin="api")
    one = messages.start_session(scripted_agent, "Hello", by=audit.Actor("member", "b", "Ben"), origin="chat")
    assert one.pk in [fair_queue.take("countersign_people").row_id for _ in range(2)]
    in_flight.park(in_flight.claim(one.pk), 0)
    resume.resume(one.pk)
    assert one.pk in [fair_queue.take("countersign_people").row_id for _ in range(2)]


def test_who_has_as_many_turns_at_work_as_one_may_have_is_passed_over(scripted_agent, settings):
    """Whoever is killed at a turn holds nobody up: it is not at work any more when its worker has been silent."""
    settings.MOST_TURNS_OF_ONE = {"countersign_people": 2}
    mine = [messages.start_session(scripted_agent, f"Hello {number}", by=BY, origin="api").pk for number in range(4)]
    taken = [fair_queue.take("countersign_people").row_id for _ in mine[:3]]  # at once: none has begun yet
    first, second = (in_flight.claim(pk) for pk in taken[:2])
    assert in_flight.claim(taken[2]) is None
    assert in_line()["countersign_people"] == {"run_turn": 2}, "what could not begin waits again"
    assert fair_queue.take("countersign_people") is None
    theirs = messages.start_session(scripted_agent, "Hi", by=audit.Actor("member", "b", "Ben"), origin="chat")
    assert fair_queue.take("countersign_people").row_id == theirs.pk
    assert in_flight.claim(theirs.pk)

    before = waiting()["countersign_people"]["run_next"]
    in_flight.finish(first, 0)
    assert waiting()["countersign_people"]["run_next"] == before + 1, "a worker is told to look"
    begun = fair_queue.take("countersign_people")
    assert in_flight.claim(begun.row_id)
    assert fair_queue.take("countersign_people") is None
    TurnInFlight.objects.filter(pk=second.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert fair_queue.take("countersign_people").row_id in mine


def test_the_end_of_a_turn_tells_a_worker_to_look_only_where_something_waits(scripted_agent):
    session = messages.start_session(scripted_agent, "Hello", by=BY, origin="chat")
    fair_queue.take("countersign_people")
    before = waiting()
    in_flight.finish(in_flight.claim(session.pk), 0)
    assert waiting() == before


def test_a_turn_that_lost_its_worker_waits_in_the_line_of_its_person(scripted_agent):
    session = messages.start_session(scripted_agent, "Hello", by=BY, origin="api")
    fair_queue.take("countersign_people")
    TurnInFlight.objects.update(rung_at=timezone.now() - timedelta(minutes=2))
    assert in_flight.sweep() == 1
    row = QueuedTask.objects.get()
    assert (row.row_id, row.person, row.workspace_id) == (session.pk, "member:m", session.workspace_id)
