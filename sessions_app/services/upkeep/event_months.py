"""Parts of the table of events: one for each month in which sessions are made, made ahead (docs/partitions.md)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

from django.db import OperationalError, connection

log = logging.getLogger(__name__)
NOT_GIVEN = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock, and of a lock that was not given in time."""
LATE = timedelta(days=7)
"""A month is made two months before it begins: so long before it, something keeps it from being made."""
ENDS = """
SELECT end_id, pg_relation_size('sessions_app_event_default') FROM countersign_event_parts()
WHERE end_id IS NOT NULL ORDER BY end_id DESC LIMIT 1
"""
# Autovacuum takes statistics of the parts alone; joins are planned by those of the whole.
IS_OUTDATED = """
SELECT abs(whole.reltuples - parts.rows) > 0.2 * parts.rows + 1000 FROM pg_class whole CROSS JOIN (
    SELECT sum(greatest(c.reltuples, 0)) AS rows FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'sessions_app_event'::regclass
) AS parts WHERE whole.oid = 'sessions_app_event'::regclass
"""


def make() -> int:
    """Make the months that are missing of this one and the next two; how many.

    None where somebody holds the table for longer than half a second: the next look, or the next start, comes again.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute("SELECT countersign_make_event_months()")
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) not in NOT_GIVEN:
                raise
            log.info("the months of events are not made now, somebody holds the table: %s", str(error).strip())
            return 0
        [made] = cursor.fetchone()
    return made


def take_statistics() -> bool:
    """Take statistics of the events as a whole where they have changed by a fifth; whether that was done."""
    with connection.cursor() as cursor:
        cursor.execute(IS_OUTDATED)
        [is_outdated] = cursor.fetchone()
        if is_outdated:
            cursor.execute("ANALYZE ONLY sessions_app_event")
    return bool(is_outdated)


def notice() -> str | None:
    """What is not as it should be. Nothing is lost: events without a month of their own stand in the default part."""
    with connection.cursor() as cursor:
        cursor.execute(ENDS)
        end, default_bytes = cursor.fetchone()
    said = []
    if datetime.fromtimestamp((end.int >> 80) / 1_000, UTC) < datetime.now(UTC) + LATE:
        said.append("the next month has no part of its own yet: read logs/worker-1.log for what holds the table")
    if default_bytes:
        said.append("sessions of a month that was not made in time are in the default part, and leave it row by row")
    return "; ".join(said) or None
