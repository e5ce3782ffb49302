"""Kept numbers of agents by day: changes are taken into them; and all that is kept beside rows, made anew.

Triggers write the changes in the transaction of what they are of (``sessions_app.migrations._agent_days_0033``), and
every reading adds those that are left. So nothing here decides whether a number is right.
"""

from __future__ import annotations

from django.db import connection, transaction

from sessions_app.models import AgentDay, AgentDayChange

from .money import folding

LOCK = "agent days"
REBUILD_LOCK = f"SELECT pg_advisory_xact_lock(hashtext('{LOCK}'), 0)"
LATE_CHANGES = 50_000
"""Changes are taken in every few seconds: when so many wait, nobody does it."""
COLUMNS = "workspace_id, agent_id, day, sessions, failing, spent"
FOLD = f"""
WITH taken AS (
    DELETE FROM sessions_app_agentdaychange
    WHERE id IN (SELECT id FROM sessions_app_agentdaychange ORDER BY id LIMIT %s) RETURNING *
)
INSERT INTO sessions_app_agentday AS o ({COLUMNS})
SELECT t.workspace_id, t.agent_id, d.day, sum(t.sessions), sum(t.failing), sum(t.spent)
FROM taken t CROSS JOIN LATERAL (VALUES (t.day), (DATE '0001-01-01')) AS d (day) GROUP BY 1, 2, 3
ON CONFLICT (workspace_id, day, agent_id) DO UPDATE
SET sessions = o.sessions + excluded.sessions, failing = o.failing + excluded.failing, spent = o.spent + excluded.spent
"""
COUNT = f"""
INSERT INTO sessions_app_agentdaychange ({COLUMNS})
SELECT workspace_id, agent_id, day, sum(sessions), sum(failing), sum(spent) FROM (
    SELECT workspace_id, agent_id, countersign_day(started_at) AS day, 1 AS sessions,
           (error_count > 0)::int AS failing, 0 AS spent FROM sessions_app_session
    UNION ALL
    SELECT workspace_id, agent_id, countersign_day(at), 0, 0, cost FROM sessions_app_turnusage WHERE cost <> 0
    UNION ALL
    SELECT workspace_id, agent_id, countersign_day(at), 0, 0, cost FROM sessions_app_callusage
    WHERE cost <> 0 AND status = 'ok'
) AS counted GROUP BY 1, 2, 3
"""


def fold() -> int:
    """Take what changed into what is kept; how many changes. Killed anywhere, nothing is lost or counted twice."""
    return folding.fold(AgentDayChange, FOLD, LOCK)


def late_notice() -> str | None:
    """What a person who looks after the desk should know of the numbers of agents."""
    if folding.is_late(AgentDayChange, LATE_CHANGES):
        return (
            f"over {LATE_CHANGES:,} changes of agents wait to be taken in: numbers are exact and read more; see parts"
        )
    return None


@transaction.atomic
def rebuild() -> None:
    """Count all sessions, turns and calls again."""
    with connection.cursor() as cursor:
        cursor.execute(REBUILD_LOCK)
        # Whoever has written a change is waited for, and nobody writes one meanwhile; what is read waits for nothing.
        cursor.execute("LOCK TABLE sessions_app_agentdaychange IN EXCLUSIVE MODE")
        AgentDay.objects.all().delete()
        AgentDayChange.objects.all().delete()
        cursor.execute(COUNT)
