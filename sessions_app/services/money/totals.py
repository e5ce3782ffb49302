"""Kept totals: changes are taken into them, and installations from before there were totals get theirs.

Turns are added up by triggers in the transaction that writes them (``sessions_app.migrations._usage_0029``), and leave
``UsageChange`` rows behind, which every reading adds to the totals. So nothing here decides whether a number is right,
only how many rows it is read from.
"""

from __future__ import annotations

import time
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from sessions_app.models import Session, UsageChange, UsageFillIn, UsageTotal
from sessions_app.models.usage import Measures

from .. import sessions
from ..log import turn_usage
from . import folding

LOCK = "usage totals"
FILL_IN_SECONDS = 3.0
"""Of one call, for sessions from before there were totals."""
LATE_SECONDS = 300
"""Changes are taken in every few seconds: when the oldest is older, nobody does it."""

COUNTED = ("sessions", "first_sessions", *(field.name for field in Measures._meta.local_fields))
PLACE = "workspace_id, kind, tag, agent, span, start, origin, key"
# A change goes into a total for its agent and one for all, for each of its tags and for any, for its day and its month.
FOLD = f"""
WITH taken AS (
    DELETE FROM sessions_app_usagechange
    WHERE id IN (SELECT id FROM sessions_app_usagechange ORDER BY id LIMIT %s) RETURNING *
), merged AS (
    SELECT workspace_id, kind, key, min(name) AS name, day, agent, origin, tags,
           {", ".join(f"sum({name}) AS {name}" for name in COUNTED)}
    FROM taken GROUP BY workspace_id, kind, key, day, agent, origin, tags
), spread AS (
    SELECT m.workspace_id, m.kind, countersign_usage_key(t.tag) AS tag, a.agent, s.span, s.start, m.origin, m.key,
           min(m.name) AS name, {", ".join(f"sum(m.{name}) AS {name}" for name in COUNTED)}
    FROM merged m
    CROSS JOIN LATERAL (SELECT NULL AS tag UNION SELECT unnest(m.tags)) AS t
    CROSS JOIN LATERAL (VALUES (''), (m.agent)) AS a (agent)
    CROSS JOIN LATERAL (VALUES ('day', m.day), ('month', date_trunc('month', m.day)::date)) AS s (span, start)
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
)
INSERT INTO sessions_app_usagetotal AS o ({PLACE}, name, {", ".join(COUNTED)})
SELECT {PLACE}, name, {", ".join(COUNTED)} FROM spread
ON CONFLICT ({PLACE}) DO UPDATE SET {", ".join(f"{name} = o.{name} + excluded.{name}" for name in COUNTED)}
"""
REBUILD_LOCK = f"SELECT pg_advisory_xact_lock(hashtext('{LOCK}'), 0)"
ALL_CHANGES = f"""
INSERT INTO sessions_app_usagechange (workspace_id, kind, key, name, day, agent, origin, tags, made_at,
                                      {", ".join(COUNTED)})
SELECT workspace_id, kind, key, min(name), day, agent, origin, tags, now(),
       count(*), count(*) FILTER (WHERE first_day = day), {", ".join(f"sum({name})" for name in COUNTED[2:])}
FROM sessions_app_sessionusage GROUP BY workspace_id, kind, key, day, agent, origin, tags
"""
ERASED = """
SELECT DISTINCT session_id FROM (SELECT session_id FROM sessions_app_turnusage
                                 UNION ALL SELECT session_id FROM sessions_app_callusage) AS used
WHERE NOT EXISTS (SELECT FROM sessions_app_session s WHERE s.id = used.session_id)
"""


def fold() -> int:
    """Take what changed into the totals; how many changes. Killed anywhere, nothing is lost or counted twice."""
    taken = folding.fold(UsageChange, FOLD, LOCK)
    if taken:
        UsageTotal.objects.filter(here_rows=0, elsewhere_rows=0, data_known=0).delete()
    return taken


def late_seconds() -> float:
    """Age in seconds of the oldest change that totals have not taken in; 0 without any."""
    ages = UsageChange.objects.order_by("id").annotate(age=Now() - F("made_at")).values_list("age", flat=True)
    oldest = ages.first()
    return oldest.total_seconds() if oldest else 0.0


def late_notice() -> str | None:
    """What a person who looks after the desk should know of the totals."""
    if UsageFillIn.objects.exists():
        return "sessions from before there were totals are being counted: until then usage is read from their turns"
    late = late_seconds()
    if late > LATE_SECONDS:
        return f"changes of usage wait for {late:.0f} s to be taken in: usage is exact, and reads more rows; see parts"
    return None


def fill_in() -> int:
    """Count some of the sessions from before there were totals; how many. The next call goes on behind them."""
    until, done = time.monotonic() + FILL_IN_SECONDS, 0
    while time.monotonic() < until and (more := _fill_in_one()):
        done += more
    return done


@transaction.atomic
def _fill_in_one() -> int:
    """Count the next session, or finish; 0 when there is nothing to do."""
    row = UsageFillIn.objects.select_for_update(skip_locked=True).first()
    if row is None:
        return 0
    left = Session.objects.all() if row.after is None else Session.objects.filter(pk__gt=row.after)
    following = left.order_by("pk").values_list("pk", flat=True).first()
    if following is None:
        for session_id in _erased():
            recount(session_id)
        row.delete()
        return 0
    if sessions.lock_row(following):
        turn_usage.write_all(following)
    UsageFillIn.objects.filter(pk=row.pk).update(after=following)
    return 1


def _erased() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(ERASED)
        return [row[0] for row in cursor.fetchall()]


def recount(session_id: UUID) -> None:
    """Add up what a session used from its turns again. The session is locked, or erased."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT countersign_recount_usage(%s)", [session_id])


@transaction.atomic
def rebuild() -> None:
    """Make all totals anew from what each session used."""
    with connection.cursor() as cursor:
        cursor.execute(REBUILD_LOCK)
        # Nobody writes a session's usage meanwhile; what is read waits for nothing.
        cursor.execute("LOCK TABLE sessions_app_sessionusage IN EXCLUSIVE MODE")
        UsageTotal.objects.all().delete()
        UsageChange.objects.all().delete()
        cursor.execute(ALL_CHANGES)
