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
    cwd: str
    """The working directory that a session's file states first; "" for none."""


CWD = "coalesce(metadata #>> '{environment,cwd}', '')"
READ = f"""
SELECT id, {", ".join(Head._fields[1:-1])}, {CWD} FROM sessions_app_session WHERE id = %s
"""
# NO KEY: a row that names the session, as its parent or its own, is no reason to wait.
PLAIN, LOCKED = Statement(READ), Statement(f"{READ} FOR NO KEY UPDATE")


def lock(session_id: UUID) -> Head:
    """The head of a session, which stays so until the transaction ends. Raises ``Session.DoesNotExist``."""
    return _head(LOCKED, session_id)


def read(session_id: UUID) -> Head:
    """The head of a session as it is now. Raises ``Session.DoesNotExist``."""
    return _head(PLAIN, session_id)


def _head(statement: Statement, session_id: UUID) -> Head:
    found = fetch(statement, [session_id])
    if not found:
        raise Session.DoesNotExist(f"there is no session {session_id}")
    return Head(*found[0])
