"""Taking rows of changes, which triggers write and every reading adds, into what is kept of them."""

from __future__ import annotations

from django.db import connection, models, transaction

MOST_CHANGES = 5_000
"""Of one transaction."""
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext(%s), 0)"


def fold(changes: type[models.Model], statement: str, lock: str) -> int:
    """Take in all changes, so many in one transaction; how many there were.

    ``statement`` deletes the oldest (its parameter says how many) and adds them up. Killed anywhere, nothing is lost
    or counted twice. 0 where somebody else does it: two at once would wait for each other's rows.
    """
    taken = 0
    while some := _fold_some(changes, statement, lock):
        taken += some
        if some < MOST_CHANGES:
            break
    return taken


@transaction.atomic
def _fold_some(changes: type[models.Model], statement: str, lock: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK, [lock])
        if cursor.fetchone() != (True,):
            return 0
        before = changes._default_manager.order_by("id").values_list("id")[:MOST_CHANGES].count()
        if before:
            cursor.execute(statement, [MOST_CHANGES])
    return before


def is_late(changes: type[models.Model], most: int) -> bool:
    """Whether more than ``most`` changes wait to be taken in; reads no more rows than that."""
    return changes._default_manager.order_by("id").values_list("id")[most : most + 1].count() > 0
