"""Sessions of a workspace by the day they began, from kept numbers of agents."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from sessions_app.models.usage import EVER


class Began(NamedTuple):
    """How many sessions began on a day, and how many of them have at least one error."""

    day: date
    sessions: int
    failing: int


COUNTS = """
SELECT day, sum(sessions)::bigint, sum(failing)::bigint FROM (
    SELECT agent_id, day, sessions, failing FROM sessions_app_agentday
    WHERE workspace_id = %(workspace)s AND day BETWEEN %(first)s AND %(last)s
    UNION ALL
    SELECT agent_id, day, sessions, failing FROM sessions_app_agentdaychange
    WHERE workspace_id = %(workspace)s AND day BETWEEN %(first)s AND %(last)s
) AS counted
WHERE day <> %(ever)s AND (%(agent)s = '' OR agent_id IN (
    SELECT id FROM sessions_app_agent WHERE workspace_id = %(workspace)s AND %(agent)s IN (id::text, slug, name)))
GROUP BY day HAVING sum(sessions) > 0 ORDER BY day
"""


def began(workspace_id: UUID, first: date, last: date, agent: str = "") -> list[Began]:
    """The days of a period on which sessions began; of one agent, by id, slug or name, where it is named."""
    values: dict[str, Any] = {"workspace": workspace_id, "first": first, "last": last, "agent": agent, "ever": EVER}
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, values)
        return [Began(*row) for row in cursor.fetchall()]
