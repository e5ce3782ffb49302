"""The head of a session: how far its log goes, and what is asked of it by whoever adds to it."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from sessions_app.models import Session
from sessions_app.prepared import Statement, fetch


class Head(NamedTuple):
    """The end of a session's log, whether it takes more, how far it is searchable, and what it has cost."""

    session_id: UUID
    workspace_id: UUID
    last_seq: int
    last_turn: int
    indexed_seq: int
    status: str
    origin: str
    parent_id: UUID | None
    cost_recorded: Decimal | None
    cost_priced: Decimal | None
    unpriced_tokens: int
    ending: str
    cwd: str
    """The working directory that a session's file states first; "" for none."""


class Seen(NamedTuple):
    """Which sessions somebody sees: those of a workspace, or those of them that one key has opened."""

    workspace_id: UUID
    opened_by_key_id: UUID | None = None


CWD = "coalesce(metadata #>> '{environment,cwd}', '')"
READ = f"""
SELECT id, {", ".join(Head._fields[1:-1])}, {CWD} FROM sessions_app_session WHERE id = %s
"""
# NO KEY: a row that names the session, as its parent or its own, is no reason to wait.
PLAIN, LOCKED = Statement(READ), Statement(f"{READ} FOR NO KEY UPDATE")
# In one with the lock: a look before it is another round trip, and one after it would let somebody wait for a session
# that is not there for them.
LOCKED_AMONG = Statement(f"""
{READ} AND workspace_id = %s AND (%s::uuid IS NULL OR opened_by_key_id = %s) FOR NO KEY UPDATE
""")


def lock(session_id: UUID, among: Seen | None = None) -> Head:
    """The head of a session, which stays so until the transaction ends. Raises ``Session.DoesNotExist``, also for one
    that is not ``among`` those that somebody sees."""
    if among:
        return _head(LOCKED_AMONG, session_id, *among, among.opened_by_key_id)
    return _head(LOCKED, session_id)


def read(session_id: UUID) -> Head:
    """The head of a session as it is now. Raises ``Session.DoesNotExist``."""
    return _head(PLAIN, session_id)


def _head(statement: Statement, session_id: UUID, *values: UUID | None) -> Head:
    found = fetch(statement, [session_id, *values])
    if not found:
        raise Session.DoesNotExist(f"there is no session {session_id}")
    return Head(*found[0])
