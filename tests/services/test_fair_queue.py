"""Tasks in line: taken in turns between workspaces and people, once each, whoever takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from sessions_app import tasks
from sessions_app.models import LastTaken, QueuedTask
from sessions_app.queries import waiting
from sessions_app.queries.waiting import Place
from sessions_app.services import fair_queue, task_queue
from sessions_app.services.audit import Actor
from sessions_app.services.fair_queue import Line
from tests.database_roles import as_owner
from vcon_app import tasks as record_tasks

from .build import at_once

pytestmark = pytest.mark.django_db(transaction=True)
QUEUE = "countersign"
TASK = "some.task"
HERE, THERE = UUID(int=1), UUID(int=2)
"""Two workspaces."""


@pytest.fixture(autouse=True)
def nobody_in_line(transactional_db) -> None:
    QueuedTask.objects.all().delete()
    LastTaken.objects.all().delete()


def upload(number: int, workspace: UUID, person: str = "member:a", queue: str = QUEUE) -> list[UUID]:
    """So many tasks of one person, enqueued one after the other; their rows."""
    began = timezone.now()
    rows = [
        QueuedTask(
            task=TASK, row_id=uuid4(), queue=queue, workspace_id=workspace, person=person,
            since=began + timedelta(microseconds=nth),
        )
        for nth in range(number)
    ]  # fmt: skip
    return [row.row_id for row in QueuedTask.objects.bulk_create(rows)]


def taken(number: int, queue: str = QUEUE) -> list[UUID | None]:
    found = [fair_queue.take(queue) for _ in range(number)]
    return [task and task.row_id for task in found]


def test_one_file_of_another_workspace_is_taken_second_however_many_came_before_it():
    many = upload(500, HERE)
    assert taken(1) == many[:1]
    [one] = upload(1, THERE)
    assert taken(3) == [one, *many[1:3]]


def test_two_workspaces_take_turns_and_the_oldest_of_each_goes_first():
    here, there = upload(4, HERE), upload(2, THERE)
    assert taken(7) == [here[0], there[0], here[1], there[1], here[2], here[3], None]


def test_the_people_of_a_workspace_take_turns_and_are_one_workspace_among_others():
    ana, ben, key = (upload(3, HERE, person) for person in ("member:a", "member:b", "api_key:a"))
    other = upload(3, THERE)
    found = taken(12)
    assert set(found) == {*ana, *ben, *key, *other}
    assert [row for row in found if row in other] == [found[number] for number in (1, 3, 5)]
    mine = [row for row in found if row not in other]
    assert all(len({*mine[at : at + 3]} & {*line}) == 1 for at in (0, 3, 6) for line in (ana, ben, key))
    assert [row for row in mine if row in ana] == ana


def test_who_sends_one_file_after_the_other_does_not_overtake_who_waits():
    """Whoever's line is empty in between is still known as just served."""
    many, found = upload(3, HERE), []
    for _ in range(3):
        single = upload(1, THERE)
        found += [row in single for row in taken(2)]
    assert len(found) == 6 and found.count(True) == 3
    assert all(sum(found[at : at + 2]) == 1 for at in (0, 2, 4))
    assert taken(1) == [None] and not QueuedTask.objects.filter(row_id__in=many).exists()


def test_who_was_served_an_hour_ago_is_as_new():
    upload(1, HERE)
    taken(1)
    LastTaken.objects.update(at=timezone.now() - timedelta(minutes=61))
    fair_queue.forget()
    assert not LastTaken.objects.exists()


def test_queues_do_not_see_each_other():
    small, big = upload(1, HERE), upload(2, HERE, queue="countersign_big")
    assert taken(2) == [small[0], None]
    assert taken(3, "countersign_big") == [*big, None]


def test_a_big_file_and_a_small_one_wait_in_two_queues():
    for name, is_big in (("small", False), ("big", True)):
        task_queue.enqueue("vcon_app.tasks.run_import", uuid4(), Line(HERE, name, is_big))
    assert {row.person: row.queue for row in QueuedTask.objects.all()} == {
        "small": "countersign", "big": "countersign_big",
    }  # fmt: skip


def test_many_workers_at_once_take_each_row_once():
    rows = {*upload(60, HERE), *upload(40, THERE), *upload(20, HERE, "member:b")}
    found = [row for rows in at_once(*(lambda: taken(30) for _ in range(5))) for row in rows if row]
    assert Counter(found) == Counter(rows)


@pytest.fixture
def another_worker():
    """A connection of somebody else's, in a transaction that is rolled back at the end."""
    settings = connection.settings_dict
    place = {"dbname": settings["NAME"], "host": settings["HOST"], "port": settings["PORT"], "user": settings["USER"]}
    with psycopg.connect(make_conninfo(**{k: v for k, v in place.items() if v}, password=settings["PASSWORD"])) as held:
        yield held
        held.rollback()


def test_a_row_that_another_worker_is_just_taking_is_passed_over(another_worker):
    """Its workspace's next one goes instead, and where there is none the next workspace's."""
    [only], there = upload(1, HERE), upload(2, THERE)
    another_worker.execute("SELECT FROM sessions_app_queuedtask WHERE row_id = %s FOR UPDATE", [only])
    assert taken(3) == [*there, None]
    another_worker.rollback()
    assert taken(2) == [only, None]


def test_what_is_enqueued_again_while_it_waits_keeps_its_place_and_its_person():
    first, second = upload(2, HERE)
    task_queue.enqueue(TASK, first, Line(HERE, ""))
    assert QueuedTask.objects.count() == 2
    assert taken(3) == [first, second, None]


def test_nobody_takes_a_row_of_which_somebody_is_just_writing_something_new():
    """A turn that is rung again: its worker would look at the session before the decision is in it."""
    [row] = upload(1, HERE)
    with transaction.atomic():
        task_queue.enqueue(TASK, row, Line(HERE, "member:a"))
        assert at_once(lambda: fair_queue.take(QUEUE)) == [None]
    assert taken(1) == [row]


def test_a_sweep_waits_for_nobody_who_writes_to_what_is_in_line(another_worker):
    """It touches many rows, and somebody who decides touches some: in two orders each would wait for the other."""
    rows = upload(3, HERE)
    another_worker.execute("SELECT FROM sessions_app_queuedtask WHERE row_id = %s FOR UPDATE", [rows[1]])
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout TO '5s'")
    try:
        lost = dict.fromkeys(rows, timezone.now() - timedelta(minutes=1))
        assert task_queue.requeue(TASK, lost, dict.fromkeys(rows, Line(HERE))) == 3
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    another_worker.rollback()
    assert taken(3) == rows


def test_what_is_rolled_back_is_not_in_line():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        task_queue.enqueue(TASK, uuid4(), Line(HERE))
        raise ZeroDivisionError
    assert taken(1) == [None]


def test_a_message_that_finds_nothing_in_line_does_nothing():
    tasks.run_next(QUEUE)
    assert not LastTaken.objects.exists()


def test_a_task_whose_row_is_gone_is_taken_and_harmless():
    """An import, a session or a workspace that was erased while it waited."""
    for task in (record_tasks.run_import.name, record_tasks.run_export.name, task_queue.RUN_TURN):
        task_queue.enqueue(task, uuid4(), Line(uuid4()))
        tasks.run_next(task_queue.queue_of(task))
    assert not QueuedTask.objects.exists()


def scanned(plan: dict[str, Any]) -> float:
    """Rows that all scans of tables in a plan gave or threw away."""
    scans = [node for node in nodes(plan) if "Relation Name" in node and "Scan" in node["Node Type"]]
    return sum((scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"] for scan in scans)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan and all that is below it, from above."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


@pytest.mark.parametrize("analyzed", [True, False])
def test_taking_reads_a_few_rows_of_a_long_line(analyzed):
    """Also before PostgreSQL has looked how long it is."""
    with as_owner() as cursor:
        cursor.execute("VACUUM (ANALYZE) sessions_app_queuedtask, sessions_app_lasttaken")
    upload(3_000, HERE)
    upload(3_000, THERE, "member:b")
    with connection.cursor() as cursor:
        if analyzed:
            cursor.execute("ANALYZE sessions_app_queuedtask")
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + fair_queue.TAKE, {"queue": QUEUE, "most": 0})
        (found,) = cursor.fetchone()
    assert scanned(found[0]["Plan"]) < 20


def test_what_is_taken_is_found_in_the_index_even_where_statistics_say_that_nobody_waits():
    """As after a night: the table was looked at while it was empty, and then a whole folder came."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_queuedtask")
        upload(3_000, HERE)
        cursor.execute("EXPLAIN (FORMAT JSON) " + fair_queue.TAKE, {"queue": QUEUE, "most": 0})
        (found,) = cursor.fetchone()
    deleted = next(part for part in nodes(found[0]["Plan"]) if part["Node Type"] == "ModifyTable")
    assert "row_id = (InitPlan" in deleted["Plans"][-1]["Index Cond"]


def test_a_place_counts_what_the_same_person_has_before_it():
    mine, theirs = upload(3, HERE), upload(2, HERE, "member:b")
    upload(9, THERE)
    assert waiting.places(HERE, [mine[0], mine[2], theirs[1], uuid4()]) == {
        mine[0]: Place(0), mine[2]: Place(2), theirs[1]: Place(1),
    }  # fmt: skip


def test_places_of_another_workspace_are_not_told():
    rows = upload(3, THERE)
    assert waiting.places(HERE, rows) == {}


def test_a_place_far_back_is_said_to_be_at_least_so_far():
    rows = upload(waiting.LONGEST + 2, HERE)
    assert waiting.places(HERE, rows[-3:]) == {
        rows[-3]: Place(waiting.LONGEST - 1),
        rows[-2]: Place(waiting.LONGEST, is_exact=False),
        rows[-1]: Place(waiting.LONGEST, is_exact=False),
    }


def test_two_people_of_one_name_are_two():
    assert fair_queue.person(Actor("member", "1", "Ana")) != fair_queue.person(Actor("member", "2", "Ana"))
