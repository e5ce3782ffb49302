"""Tasks in line: workers take them in turns between the workspaces, and within one between the people who asked.

A message of the broker only says that something waits in a queue. The worker that it wakes takes the row whose
workspace was served longest ago, of it the person who was, and of theirs the oldest. What is taken is no longer in
line: a worker that dies then leaves its own row (import, turn, ...) to the sweep of its kind, as a lost message does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

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
# Of those who have something in line one index probe each finds the next, however long their lines are. SKIP LOCKED
# leaves rows to others that take at the same moment; the order of ``fairest`` is kept, because its rows are the outer
# ones of a nested loop. What is deleted is named by two scalars: a join with a table that was empty when PostgreSQL
# last looked reads it from end to end. One statement, so that nobody who is frozen here keeps a lock.
TAKE = """
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
        cursor.execute(TAKE, {"queue": queue})
        row = cursor.fetchone()
    return Taken(*row) if row else None


def forget() -> None:
    """Forget who was served more than an hour ago: they are served as if it had been never."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET)
