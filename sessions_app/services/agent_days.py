"""Kept numbers of agents by day: changes are taken into them; and all that is kept beside rows, made anew.

Triggers write the changes in the transaction of what they are of (``sessions_app.migrations._agent_days_0033``), and
every reading adds those that are left. So nothing here decides whether a number is right.
"""

from __future__ import annotations

from django.db import connection, transaction

from sessions_app.models import AgentDay, AgentDayChange

LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('agent days'), 0)"
REBUILD_LOCK = "SELECT pg_advisory_xact_lock(hashtext('agent days'), 0)"
MOST_CHANGES = 5_000
"""Of one transaction."""
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
    taken = 0
    while some := _fold_some():
        taken += some
        if some < MOST_CHANGES:
            break
    return taken


@transaction.atomic
def _fold_some() -> int:
    with connection.cursor() as cursor:
        cursor.execute(LOCK)  # two at once would wait for each other's days
        if cursor.fetchone() != (True,):
            return 0
        before = AgentDayChange.objects.order_by("id").values_list("id")[:MOST_CHANGES].count()
        if before:
            cursor.execute(FOLD, [MOST_CHANGES])
    return before


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
