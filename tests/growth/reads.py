"""Rows that statements read, as PostgreSQL itself counts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection

# Rows of a table that were read from its beginning to its end, and entries that were taken from an index, whether their
# rows were shown, thrown away by a filter or sorted: what the transaction counted so far. All that EXPLAIN (ANALYZE)
# counts in its scans, at one look a request in place of running each statement twice.
# Changes that totals have taken in stay in the indexes of their table until it is vacuumed, which no transaction can do
# within itself: of these tables the rows count that were there.
COUNTS = """
SELECT relname, CASE WHEN relname ~ '^sessions_app_(usage|agentday)change' THEN pg_stat_get_xact_tuples_fetched(oid)
                     ELSE pg_stat_get_xact_tuples_returned(oid) END AS rows
FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i', 'p', 'm')
  AND pg_stat_get_xact_tuples_returned(oid) > 0
"""
# A table of a few pages is read whole whatever indexes it has: PostgreSQL is told to use them where it can, also in
# statements and checks of foreign keys that this connection has a plan for.
PLANNED = "SET LOCAL enable_seqscan = off; DISCARD PLANS"


@dataclass
class Reads:
    """Rows that were read, by table or index."""

    by_relation: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(self.by_relation.values())

    def __str__(self) -> str:
        most = sorted(self.by_relation.items(), key=lambda item: -item[1])[:6]
        return f"{self.rows:,} ({', '.join(f'{name} {rows:,}' for name, rows in most)})"


@contextmanager
def counted() -> Iterator[Reads]:
    """Count the rows that are read on Django's connection, inside of a transaction."""
    reads = Reads()
    with connection.cursor() as cursor:
        cursor.execute(PLANNED)
        before = _counts(cursor)
        yield reads
        after = _counts(cursor)
    found = {name: rows - before.get(name, 0) for name, rows in after.items()}
    reads.by_relation = {name: rows for name, rows in found.items() if rows}


def _counts(cursor) -> dict[str, int]:
    cursor.execute(COUNTS)
    return dict(cursor.fetchall())
