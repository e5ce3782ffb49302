"""Messages to the workers. Tasks are named, not imported: they stand above the services and call these."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import connection, transaction

from . import fair_queue
from .fair_queue import Line

RUN_TURN = "sessions_app.tasks.run_turn"
RUN_TRIGGERED_TURN = "sessions_app.tasks.run_triggered_turn"
INDEX_SESSION = "sessions_app.tasks.index_session"
CLOSE_SESSION = "sessions_app.tasks.close_session"
READ_SLACK = "sessions_app.tasks.read_slack"
TELL_OF_APPROVAL = "sessions_app.tasks.tell_of_approval"
TELL_OF_BUDGET = "sessions_app.tasks.tell_of_budget"
SEND_NOTICE = "sessions_app.tasks.send_notice"
POST_MESSAGE = "sessions_app.tasks.post_message"


RUN_NEXT = "sessions_app.tasks.run_next"
"""Takes what is next in a queue."""


def enqueue(task: str, row_id: UUID, line: Line | None = None, *, by_sweep: bool = False) -> None:
    """Queue a task for a row, once the transaction that changed the row is committed.

    The row says what is to be done, not the message: a broker that is away is logged, and a sweep enqueues again.
    In a ``line`` it is taken when it is the turn of its workspace and person; without, in the order of messages.
    """
    if line is None:
        transaction.on_commit(lambda: current_app.send_task(task, args=[str(row_id)]), robust=True)
        return
    queue = queue_of(task, big=line.big)
    fair_queue.join(task, row_id, queue, line, by_sweep=by_sweep)
    _ring(queue)


def wake(task: str, line: Line) -> None:
    """Have a worker look at the line of a person, one of whose turns has ended: they may have been passed over."""
    queue = queue_of(task, big=line.big)
    if fair_queue.is_anything_of(queue, line):
        _ring(queue)


def _ring(queue: str) -> None:
    """Have a worker take what is next in a queue."""
    transaction.on_commit(lambda: current_app.send_task(RUN_NEXT, args=[queue], queue=queue), robust=True)


def queue_of(task: str, *, big: bool = False) -> str:
    """The queue that a task waits in."""
    if big:
        return str(settings.BIG_QUEUE)
    return str(settings.CELERY_TASK_ROUTES.get(task, {}).get("queue", settings.CELERY_TASK_DEFAULT_QUEUE))


FIRST_WAIT, DOUBLINGS = 15, 5
"""Seconds until a row that was enqueued again is enqueued once more, if no worker takes it; they double, to 8 min."""
REQUEUE = """
INSERT INTO sessions_app_requeue AS kept (task, row_id, since, at, times)
SELECT %(task)s, row_id, since, clock_timestamp(), 0
FROM unnest(%(rows)s::uuid[], %(since)s::timestamptz[]) AS lost (row_id, since) ORDER BY row_id
ON CONFLICT (task, row_id) DO UPDATE
SET at = excluded.at, since = excluded.since,
    times = CASE WHEN kept.at < excluded.since THEN 0 ELSE least(kept.times + 1, %(doublings)s) END
WHERE kept.at < excluded.since
    OR kept.at + %(wait)s * power(2, kept.times) * interval '1 second' < clock_timestamp()
RETURNING row_id
"""
FORGET = "DELETE FROM sessions_app_requeue WHERE at < now() - interval '1 hour'"


@transaction.atomic
def requeue(task: str, lost: Mapping[UUID, datetime], lines: Mapping[UUID, Line] | None = None) -> int:
    """Enqueue a task again for rows that lost their message or worker at the given times; for how many.

    A row that was enqueued again already, and has been taken by nobody since, waits 15, 30, 60 ... 480 seconds: its
    message most likely stands behind others, and a backlog must not grow by its own sweep. Of all that wait in a queue
    while workers take from it, none has lost its message for sure: one more is sent for them, in case that one has.
    """
    with connection.cursor() as cursor:
        if not lost:
            cursor.execute(FORGET)
            fair_queue.forget()
            return 0
        in_turn = fair_queue.in_turn(task, lost)
        for queue in sorted(set(in_turn.values())):
            _ring(queue)
        lost = {row_id: since for row_id, since in lost.items() if row_id not in in_turn}
        values: dict[str, Any] = {"task": task, "rows": list(lost), "since": list(lost.values())}
        cursor.execute(REQUEUE, values | {"wait": FIRST_WAIT, "doublings": DOUBLINGS})
        again = [row_id for (row_id,) in cursor.fetchall()]
    for row_id in sorted(again):  # two sweeps at once lock them in one order
        enqueue(task, row_id, (lines or {}).get(row_id), by_sweep=True)
    return len(again)
