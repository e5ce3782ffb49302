"""Tasks in line: workers take them in turns between the workspaces, and within one between the people who asked.

A message of the broker only says that something waits in a queue. The worker that it wakes takes the row whose
workspace was served longest ago, of it the person who was, and of theirs the oldest. What is taken is no longer in
line: a worker that dies then leaves its own row (import, turn, ...) to the sweep of its kind, as a lost message does.

A turn that runs is not cut short for another. So of the workers for turns one person may have three quarters: who has
as many at work is passed over until one of them ends or waits (``is_at_most``, ``wake`` of the task queue).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from sessions_app.models import QueuedTask

from .audit import Actor


@dataclass(frozen=True, slots=True)
class Line:
    """Where a task waits: with those of one person of a workspace, and apart from short ones where it is big."""

    workspace_id: UUID
    person: str = ""
    big: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """A task that the caller has to run now."""

    task: str
    row_id: UUID


def person(actor: Actor) -> str:
    """Name of an actor's place in line; the display names of two people may be the same."""
    return f"{actor.kind}:{actor.id}"


JOIN = """
INSERT INTO sessions_app_queuedtask AS waiting (task, row_id, queue, workspace_id, person, since)
VALUES (%(task)s, %(row_id)s, %(queue)s, %(workspace)s, %(person)s, clock_timestamp())
ON CONFLICT (task, row_id)
"""
# A row that waits already keeps its place, but is touched: a worker that takes it at this moment would else look at
# what it is about before this transaction has committed what changed.
TOUCH = "DO UPDATE SET queue = excluded.queue"
# A sweep changes nothing that a worker looks at. It touches many, and would meet in another order who touches some.
LEAVE = "DO NOTHING"
# A turn whose worker has been silent for longer is nobody's: the sweep enqueues it, and it must find its way back.
AT_WORK = """
(SELECT count(*) FROM sessions_app_turninflight AS turn JOIN sessions_app_session AS held ON held.id = turn.session_id
 WHERE turn.requester = {person} AND held.workspace_id = {workspace} AND turn.worker IS NOT NULL
   AND turn.heartbeat_at > clock_timestamp() - interval '15 seconds')
"""
OWN_TURNS = "SELECT pg_advisory_xact_lock(hashtext('turns at work'), hashtext(%s))"
# Of those who have something in line one index probe each finds the next, however long their lines are. SKIP LOCKED
# leaves rows to others that take at the same moment; the order of ``fairest`` is kept, because its rows are the outer
# ones of a nested loop. What is deleted is named by two scalars: a join with a table that was empty when PostgreSQL
# last looked reads it from end to end. One statement, so that nobody who is frozen here keeps a lock.
TAKE = f"""
WITH RECURSIVE line AS (
    (SELECT workspace_id, person FROM sessions_app_queuedtask WHERE queue = %(queue)s
     ORDER BY workspace_id, person LIMIT 1)
    UNION ALL
    SELECT following.workspace_id, following.person FROM line CROSS JOIN LATERAL (
        SELECT workspace_id, person FROM sessions_app_queuedtask AS next
        WHERE queue = %(queue)s AND (next.workspace_id, next.person) > (line.workspace_id, line.person)
        ORDER BY workspace_id, person LIMIT 1) AS following
), served AS MATERIALIZED (
    SELECT workspace_id, max(at) AS at FROM sessions_app_lasttaken
    WHERE queue = %(queue)s AND workspace_id IN (SELECT workspace_id FROM line) GROUP BY workspace_id
), fairest AS MATERIALIZED (
    SELECT line.workspace_id, line.person FROM line
    LEFT JOIN served USING (workspace_id)
    LEFT JOIN sessions_app_lasttaken AS own
        ON own.queue = %(queue)s AND own.workspace_id = line.workspace_id AND own.person = line.person
    WHERE %(most)s = 0 OR line.person = ''
        OR {AT_WORK.format(person="line.person", workspace="line.workspace_id")} < %(most)s
    ORDER BY served.at NULLS FIRST, own.at NULLS FIRST, line.workspace_id, line.person
), chosen AS MATERIALIZED (
    SELECT first.task, first.row_id FROM fairest CROSS JOIN LATERAL (
        SELECT task, row_id FROM sessions_app_queuedtask AS waiting
        WHERE queue = %(queue)s AND waiting.workspace_id = fairest.workspace_id AND waiting.person = fairest.person
        ORDER BY since, row_id LIMIT 1 FOR UPDATE SKIP LOCKED) AS first
    LIMIT 1
), taken AS (
    DELETE FROM sessions_app_queuedtask AS waiting
    WHERE waiting.task = (SELECT task FROM chosen) AND waiting.row_id = (SELECT row_id FROM chosen)
    RETURNING waiting.task, waiting.row_id, waiting.workspace_id, waiting.person
), noted AS (
    INSERT INTO sessions_app_lasttaken AS last (queue, workspace_id, person, at)
    SELECT %(queue)s, workspace_id, person, clock_timestamp() FROM taken
    ON CONFLICT (queue, workspace_id, person) DO UPDATE SET at = greatest(last.at, excluded.at)
)
SELECT task, row_id FROM taken
"""
IN_TURN = """
SELECT row_id, queue FROM sessions_app_queuedtask AS waiting
WHERE task = %(task)s AND row_id = ANY(%(rows)s)
  AND EXISTS (SELECT FROM sessions_app_lasttaken AS last
              WHERE last.queue = waiting.queue AND last.at > clock_timestamp() - interval '15 seconds')
"""
FORGET = "DELETE FROM sessions_app_lasttaken WHERE at < now() - interval '1 hour'"


def join(task: str, row_id: UUID, queue: str, line: Line, *, by_sweep: bool = False) -> None:
    """Put a task in line, where it is not yet, with the commit of the caller's transaction.

    Until then nobody takes it, unless it is enqueued by a sweep, with which nothing has changed.
    """
    values: dict[str, Any] = {
        "task": task, "row_id": row_id, "queue": queue, "workspace": line.workspace_id, "person": line.person,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(JOIN + (LEAVE if by_sweep else TOUCH), values)


def take(queue: str) -> Taken | None:
    """The task that is next in a queue: it is the caller's from now on. None when nothing waits there.

    Call outside of a transaction: who holds what was taken without a commit keeps its person's line waiting.
    """
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"queue": queue, "most": most_of_one(queue)})
        row = cursor.fetchone()
    return Taken(*row) if row else None


def in_turn(task: str, rows: Iterable[UUID]) -> dict[UUID, str]:
    """Which of some rows wait in a queue that workers took something from a moment ago, and the queue of each."""
    with connection.cursor() as cursor:
        cursor.execute(IN_TURN, {"task": task, "rows": list(rows)})
        return dict(cursor.fetchall())


def most_of_one(queue: str) -> int:
    """How many turns of one person workers of a queue are at, at most; 0: any number."""
    return int(settings.MOST_TURNS_OF_ONE.get(queue, 0))


def is_at_most(queue: str, line: Line) -> bool:
    """Whether a person has as many turns at work as one may have; it stays so until the end of the transaction.

    Many workers that take at once find each other's turns not begun: who begins one asks here, one after the other.
    """
    most = most_of_one(queue)
    if not most or not line.person:
        return False
    values: dict[str, Any] = {"person": line.person, "workspace": line.workspace_id}
    with connection.cursor() as cursor:
        cursor.execute(OWN_TURNS, [f"{line.workspace_id}:{line.person}"])
        cursor.execute("SELECT " + AT_WORK.format(person="%(person)s", workspace="%(workspace)s"), values)
        (count,) = cursor.fetchone()
    return bool(count >= most)


def is_anything_of(queue: str, line: Line) -> bool:
    """Whether something of a person waits in a queue."""
    own = QueuedTask.objects.filter(queue=queue, workspace_id=line.workspace_id, person=line.person)
    return own.exists()


def forget() -> None:
    """Forget who was served more than an hour ago: they are served as if it had been never."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
