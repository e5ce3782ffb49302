"""What an import takes for itself until it ends, so that others who read the same sessions come after it.

None waits while others may wait for it, or two archives that hold the same sessions in another order would stop each
other: who holds a session and finds the next one taken lets go of all, and begins again with what it is known to need,
which everybody takes in one order. The row of an agent that is new is no claim (``new_agents``).

A worker that is frozen, as its whole host may be, still answers TCP and so keeps what it holds. Its import is taken
over like one of a worker that died, and whoever does so ends its connection first, or would wait for it.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import connection

log = logging.getLogger(__name__)

LOCKS = 1_024
"""Sessions share them: with one for each, PostgreSQL has no more for a file of over 6,000 sessions."""
KEY = f"hashtext('session'), hashtext(%s) %% {LOCKS}"
WAIT = {True: f"SELECT pg_advisory_xact_lock_shared({KEY})", False: f"SELECT pg_advisory_xact_lock({KEY})"}
TRY = {True: f"SELECT pg_try_advisory_xact_lock_shared({KEY})", False: f"SELECT pg_try_advisory_xact_lock({KEY})"}
# Exclusive where any session of a lock is wanted so.
WAIT_FOR_ALL = f"""
SELECT CASE WHEN shared THEN pg_advisory_xact_lock_shared(hashtext('session'), key)
            ELSE pg_advisory_xact_lock(hashtext('session'), key) END
FROM (SELECT hashtext(identity) %% {LOCKS} AS key, bool_and(shared) AS shared
      FROM unnest(%s::text[], %s::bool[]) AS wanted (identity, shared) GROUP BY 1 ORDER BY 1 OFFSET 0) each
"""


IMPORT = "hashtext('import'), hashtext(%s)"
# Together with others, since two ids may have one hash.
MARK = f"SELECT pg_advisory_xact_lock_shared({IMPORT})"
END_HOLDERS = """
SELECT pid, pg_terminate_backend(pid, 5000) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid <> pg_backend_pid() AND usename = session_user
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND classid = (hashtext('import')::bigint & 4294967295)::oid AND objid = (hashtext(%s)::bigint & 4294967295)::oid
"""
"""Keys of advisory locks are signed, and unsigned in ``pg_locks``. Waits up to 5 s for the end of each; that of another
role nobody may end."""


class BeginAgain(Exception):
    """The import cannot go on as it began: its transaction is to be rolled back, and begun with ``Claims.take``."""


def end_holders(import_id: UUID) -> None:
    """End the connections of workers that are still at an import, as far as the database knows."""
    with connection.cursor() as cursor:
        cursor.execute(END_HOLDERS, [str(import_id)])
        for pid, _ in cursor.fetchall():
            log.warning("import %s is taken over: ended the connection %s of a worker that is silent", import_id, pid)


class Claims:
    """The sessions of one import, over all of its attempts."""

    def __init__(self, workspace_id: UUID, import_id: UUID) -> None:
        self.workspace_id = workspace_id
        self.import_id = import_id
        self._sessions: dict[str, bool] = {}
        """Each that was asked for, and whether together with others is enough."""
        self._held = 0

    def take(self) -> None:
        """At the beginning of a transaction: wait for all sessions that an attempt before has asked for."""
        self._held = len(self._sessions)
        with connection.cursor() as cursor:
            cursor.execute(MARK, [str(self.import_id)])
            if self._sessions:
                cursor.execute(WAIT_FOR_ALL, [list(self._sessions), list(self._sessions.values())])

    def hold(self, format_name: str, external_id: str, *, shared: bool = False) -> None:
        """Hold a session of this id until the end of the transaction; a child holds its parent together with others.

        Without the latter, of two imports at once neither would see that the other has its parent or child. Raises
        ``BeginAgain`` where somebody else has it and this import holds another.
        """
        identity = f"{self.workspace_id}:{format_name}:{external_id}"
        self._sessions[identity] = shared and self._sessions.get(identity, True)
        with connection.cursor() as cursor:
            cursor.execute((TRY if self._held else WAIT)[shared], [identity])
            if self._held and not cursor.fetchone()[0]:
                raise BeginAgain
        self._held += 1
