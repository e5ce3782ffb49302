"""Whether a job that failed may be tried again."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

PASSING = ("08", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE that say "not now": connection, rollback, resources, locks, shutdown, system errors."""


def may_pass(error: Exception) -> bool:
    """Whether the database was away or busy; "string too long for jsonb" is an ``OperationalError`` too, and stays."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(PASSING)
