"""Sessions of a workspace by the day they began: what accepted ones cost, and with which models others failed."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

MOST = 20_000
"""Sessions that are read for one picture, the latest ones: 0.1 s."""
# In the words of the index ``session_by_verdict``.
STARTED = "coalesce(s.started_at, '0001-01-02 00:00:00+00:00'::timestamptz)"
OF_AGENT = """(%(agent)s = '' OR s.agent_id IN (
    SELECT id FROM sessions_app_agent WHERE workspace_id = %(workspace)s AND %(agent)s IN (id::text, slug, name)))"""
IN_PERIOD = f"s.workspace_id = %(workspace)s AND {STARTED} >= %(since)s AND {STARTED} < %(until)s AND {OF_AGENT}"
REVIEWED = f"""
SELECT day, count(*), count(*) FILTER (WHERE verdict = 'pass'), sum(spent) FROM (
    SELECT countersign_day(s.started_at) AS day, s.verdict, m.cost + m.data AS spent
    FROM sessions_app_session s JOIN sessions_app_sessionmeasures m ON m.session_id = s.id
    WHERE {IN_PERIOD} AND s.verdict IN ('pass', 'fail', 'unsure', 'mixed')
    ORDER BY {STARTED} DESC LIMIT {MOST}
) AS reviewed GROUP BY day ORDER BY day
"""
FAILING = f"""
SELECT day, model, count(*) FROM (
    SELECT countersign_day(s.started_at) AS day, s.model_names FROM sessions_app_session s
    WHERE {IN_PERIOD} AND s.error_count > 0 ORDER BY {STARTED} DESC LIMIT {MOST}
) AS failing CROSS JOIN LATERAL unnest(
    CASE WHEN model_names = '{{}}' THEN ARRAY[''] ELSE model_names END) AS model GROUP BY day, model ORDER BY day, model
"""


class Reviewed(NamedTuple):
    """Sessions of a day that have a verdict: how many, how many of them passed, and what all of them cost."""

    day: date
    sessions: int
    accepted: int
    spent: Decimal

    def with_those_of(self, other: Reviewed) -> Reviewed:
        """Those of two days together."""
        both = self.sessions + other.sessions, self.accepted + other.accepted, self.spent + other.spent
        return Reviewed(min(self.day, other.day), *both)


def reviewed(workspace_id: UUID, first: date, last: date, agent: str = "") -> list[Reviewed]:
    """The days on which reviewed sessions began; of one agent, by id, slug or name, where it is named."""
    return [Reviewed(*row) for row in _rows(REVIEWED, workspace_id, first, last, agent)]


def failing_by_model(workspace_id: UUID, first: date, last: date, agent: str = "") -> dict[str, dict[date, int]]:
    """Sessions with errors by model and day; "" where no model is stated. One with several models counts for each."""
    found: defaultdict[str, dict[date, int]] = defaultdict(dict)
    for day, model, count in _rows(FAILING, workspace_id, first, last, agent):
        found[model][day] = count
    return dict(found)


def _rows(query: str, workspace_id: UUID, first: date, last: date, agent: str) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {
        "workspace": workspace_id, "agent": agent, "since": datetime.combine(first, time(), UTC),
        "until": datetime.combine(last + timedelta(days=1), time(), UTC),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
