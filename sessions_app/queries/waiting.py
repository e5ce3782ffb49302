"""Places in line of tasks that wait for a worker (``services.fair_queue``)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

LOOKED_AT = 1_500
"""Rows of lines that are read for one page at most."""
LONGEST = 500
"""Rows of one line."""

FOUND = """
SELECT row_id, queue, person FROM sessions_app_queuedtask
WHERE workspace_id = %(workspace)s AND row_id = ANY(%(rows)s)
"""
NUMBERED = """
SELECT numbered.row_id, numbered.before FROM unnest(%(queues)s::text[], %(people)s::text[]) AS line (queue, person)
CROSS JOIN LATERAL (
    SELECT head.row_id, row_number() OVER (ORDER BY head.since, head.row_id) - 1 AS before FROM (
        SELECT row_id, since FROM sessions_app_queuedtask AS waiting
        WHERE waiting.queue = line.queue AND waiting.workspace_id = %(workspace)s AND waiting.person = line.person
        ORDER BY since, row_id LIMIT %(most)s) AS head) AS numbered
WHERE numbered.row_id = ANY(%(rows)s)
"""


@dataclass(frozen=True, slots=True)
class Place:
    """How many tasks of the same person are taken before this one; other people's are taken in between."""

    before: int
    is_exact: bool = True
    """False where it is only known that there are at least so many."""


def places(workspace_id: UUID, rows: Collection[UUID]) -> dict[UUID, Place]:
    """Places of a workspace's rows: two queries, however many there are. A row that is not in line has none."""
    values: dict[str, Any] = {"workspace": workspace_id, "rows": list(rows)}
    with connection.cursor() as cursor:
        cursor.execute(FOUND, values)
        found = {row_id: (queue, person) for row_id, queue, person in cursor.fetchall()}
        if not found:
            return {}
        lines = sorted(set(found.values()))
        most = min(LONGEST, LOOKED_AT // len(lines))
        queues, people = ([line[part] for line in lines] for part in (0, 1))
        cursor.execute(NUMBERED, values | {"queues": queues, "people": people, "most": most})
        numbered = {row_id: Place(before) for row_id, before in cursor.fetchall()}
    return dict.fromkeys(found, Place(most, is_exact=False)) | numbered
