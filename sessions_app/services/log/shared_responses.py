"""Owners of shared responses: a resumed or forked session begins with a copy of the one that it continues.

Each is counted once in a workspace. Which session owns it follows from what the files say, never from which was
imported first. The same response is one with the same id that begins with the same words at the same moment: a copied
line keeps all of them (Claude Code 1.0 to 2.1), while ids alone are often the same in made-up files ("msg_002" in three
of 40 unrelated fixtures).

Two that write at once do not see what the other writes, and none waits for the other: who comes second puts its look
off until both transactions are over. That is a row of its transaction, so that a kill in between loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from sessions_app.models import OwnerCheck, Session

from .. import notify
from . import sums

log = logging.getLogger(__name__)

WRITES = "SELECT pg_advisory_xact_lock_shared(hashtext('responses written'), hashtext(%s))"
"""Shows others that responses are being written in a workspace; nobody waits for it, since nobody takes it alone."""
WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND classid::bigint = hashtext('responses written')::bigint & 4294967295
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
OTHERS_WRITE = f"""
SELECT array_agg(virtualtransaction) FROM ({WRITERS} AND pid <> pg_backend_pid()
                                           AND objid::bigint = hashtext(%s)::bigint & 4294967295) others
"""
LOCK = "SELECT pg_advisory_xact_lock(hashtext('responses'), hashtext(%s))"
"""Of the one who decides on owners in a workspace. Who holds a session does not wait for it, only tries."""
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtext('responses'), hashtext(%s))"
# What it does can be done again: the row that asks for it goes in the same transaction.
SECOND_LOOK = "SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = '500ms'"
NOT_NOW = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock, and of a lock that was not given in time."""
LATE = timedelta(minutes=1)
"""A dozen sweeps."""
PUT_OFF = """
INSERT INTO sessions_app_ownercheck AS due (session_id, workspace_id, since, waits_for, due_at)
VALUES (%(session)s, %(workspace)s, %(since)s, %(others)s, clock_timestamp())
ON CONFLICT (session_id) DO UPDATE
SET since = least(due.since, excluded.since), waits_for = due.waits_for || excluded.waits_for
"""
DUE = f"""
SELECT session_id, workspace_id FROM sessions_app_ownercheck due
WHERE (%(workspace)s::uuid IS NULL OR workspace_id = %(workspace)s) AND session_id <> ALL(%(tried)s::uuid[])
  AND workspace_id <> ALL(%(busy)s::uuid[])
  AND NOT EXISTS (SELECT FROM ({WRITERS}) writers WHERE virtualtransaction = ANY(due.waits_for))
ORDER BY due_at, session_id LIMIT 100
"""

SHARES = """
SELECT EXISTS (SELECT 1 FROM sessions_app_modelrequest WHERE session_id = %(session)s AND counted_in_id IS NOT NULL)
    OR EXISTS (SELECT 1 FROM sessions_app_modelrequest WHERE counted_in_id = %(session)s)
    OR EXISTS (SELECT 1 FROM sessions_app_modelrequest mine JOIN sessions_app_modelrequest theirs
                   ON theirs.identity = mine.identity AND theirs.at = mine.at AND theirs.session_id <> mine.session_id
               WHERE mine.session_id = %(session)s AND mine.seq > %(since)s)
"""

# The groups of rows that are one response, and the sessions that hold one of them.
HELD = """
WITH groups AS (
    SELECT identity, at FROM sessions_app_modelrequest WHERE session_id = %(session)s AND identity IS NOT NULL
    UNION
    SELECT identity, at FROM sessions_app_modelrequest WHERE counted_in_id = %(session)s
), held AS (
    SELECT r.session_id, r.key, r.identity, r.at, r.is_copy, r.counted_in_id
    FROM groups JOIN sessions_app_modelrequest r ON r.identity = groups.identity AND r.at = groups.at
)
"""
HOLDERS = f"{HELD} SELECT DISTINCT session_id FROM held ORDER BY session_id"

# Whose a response is: not of a file that says itself that it copies it; else of the session whose responses, one after
# the other, are the earliest. Where two part company the one that went on first is the original, and where one ends
# the other is what somebody made of it later: arrays compare in just this way.
OWNERS = f"""
{HELD}, sequences AS (
    SELECT r.session_id, s.external_id, array_agg(r.at ORDER BY r.at, r.key) AS moments
    FROM sessions_app_modelrequest r JOIN sessions_app_session s ON s.id = r.session_id
    WHERE r.session_id IN (SELECT session_id FROM held) AND r.identity IS NOT NULL AND r.at IS NOT NULL
    GROUP BY r.session_id, s.external_id
), ranked AS (
    SELECT held.*, first_value(session_id) OVER (
               PARTITION BY identity, at ORDER BY is_copy, moments, external_id COLLATE "C", session_id) AS owner
    FROM held JOIN sequences USING (session_id)
), moved AS (
    UPDATE sessions_app_modelrequest r
    SET counted_in_id = nullif(ranked.owner, r.session_id)
    FROM ranked
    WHERE r.session_id = ranked.session_id AND r.key = ranked.key
      AND ranked.counted_in_id IS DISTINCT FROM nullif(ranked.owner, r.session_id)
    RETURNING r.session_id, r.turn
)
SELECT session_id, array_agg(DISTINCT turn) FROM moved GROUP BY session_id ORDER BY session_id
"""


class _Busy(Exception):
    """Somebody else holds what is needed."""


def assign_owners(session_id: UUID, since: int) -> dict[UUID, list[int]]:
    """Decide anew which session owns each response that this one shares, after its events behind ``since`` came.

    Returns the turns that changed of each session whose share changed; these are locked. Where another writes
    responses in the workspace at this moment, nothing changes yet: they are looked at when the transaction is over. To
    be called in a transaction.
    """
    session = Session.objects.only("response_scope", "workspace_id").get(pk=session_id)
    if not session.response_scope:
        return {}
    scope: dict[str, Any] = {"session": session_id, "since": since}
    workspace = str(session.workspace_id)
    # Also where nothing is put off here: others may wait for this transaction.
    transaction.on_commit(partial(settle, session.workspace_id), robust=True)
    with connection.cursor() as cursor:
        # Shown before it is looked: who looks second sees the other, or what the other has committed.
        cursor.execute(WRITES, [workspace])
        cursor.execute(OTHERS_WRITE, [workspace])
        others = cursor.fetchone()[0]
        if not others:
            cursor.execute(SHARES, scope)
            if not cursor.fetchone()[0]:
                return {}
            try:
                return _assign_alone(cursor, session, scope)
            except _Busy:
                others = []
        cursor.execute(PUT_OFF, scope | {"workspace": workspace, "others": others})
    return {}


@transaction.atomic
def _assign_alone(cursor: CursorWrapper, session: Session, scope: dict[str, Any]) -> dict[UUID, list[int]]:
    """Decide now. Raises ``_Busy``, having let go of everything, rather than wait while a session is held."""
    cursor.execute(TRY_LOCK, [str(session.workspace_id)])
    if not cursor.fetchone()[0]:
        raise _Busy
    cursor.execute(HOLDERS, scope)
    holders = [row[0] for row in cursor.fetchall()]
    # NO KEY: a row that names the session, as its parent or its own, is no reason to wait; with it that was a deadlock.
    free = Session.objects.select_for_update(no_key=True, skip_locked=True).filter(pk__in=holders).order_by("pk")
    last_seqs = dict(free.values_list("pk", "last_seq"))
    if len(last_seqs) < len(holders):
        raise _Busy
    moved = _move(cursor, scope)
    for other in moved.keys() - {session.pk}:
        notify.session_changed(other, last_seqs[other])
    return moved


def _move(cursor: CursorWrapper, scope: dict[str, Any]) -> dict[UUID, list[int]]:
    """Write the owners of the responses of a session; the turns that changed, of each session."""
    cursor.execute(OWNERS, scope)
    return dict(cursor.fetchall())


def settle(workspace_id: UUID | None = None) -> int:
    """Take the second looks that were put off, in one workspace or in all; how many.

    Called right after each transaction that wrote responses, and by a sweep for those that were killed before. Who
    finds somebody else at it leaves it to them: they look for more when their transaction is over. To be called
    outside of one.
    """
    tried: list[UUID] = []
    busy: list[UUID] = []
    while found := _due(workspace_id, tried, busy):
        for session_id, workspace in found:
            tried.append(session_id)
            try:
                _settle(session_id, workspace)
            except _Busy:
                busy.append(workspace)
                break
            except OperationalError as error:
                if getattr(error.__cause__, "sqlstate", None) not in NOT_NOW:
                    raise
                log.info("shared responses of session %s are looked at later: %s", session_id, error)
    return len(tried) - len(busy)


def _due(workspace_id: UUID | None, tried: list[UUID], busy: list[UUID]) -> list[tuple[UUID, UUID]]:
    """Some of the sessions, each with its workspace, that may be looked at: none that they wait for still writes."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"workspace": workspace_id, "tried": tried, "busy": busy})
        return cursor.fetchall()


@transaction.atomic
def _settle(session_id: UUID, workspace_id: UUID) -> None:
    """Take the second look at one session. Raises ``_Busy`` where somebody else decides in the workspace."""
    with connection.cursor() as cursor:
        cursor.execute(SECOND_LOOK)
        cursor.execute(TRY_LOCK, [str(workspace_id)])
        if not cursor.fetchone()[0]:
            raise _Busy
        check = OwnerCheck.objects.filter(pk=session_id).first()
        if check is None:  # another took it before us
            return
        check.delete()
        scope: dict[str, Any] = {"session": session_id, "since": check.since}
        cursor.execute(SHARES, scope)
        if not cursor.fetchone()[0]:
            return
        last_seqs = _locked_holders(cursor, scope)
        moved = _move(cursor, scope)
    for each, turns in moved.items():
        sums.add(each, sums.EVERYTHING, sums.Changed(requests=turns))
        notify.session_changed(each, last_seqs[each])


def _locked_holders(cursor: CursorWrapper, scope: dict[str, Any]) -> dict[UUID, int]:
    """The sessions that hold a response of this one, locked in the order of their ids, each with its last ``seq``."""
    cursor.execute(HOLDERS, scope)
    holders = [row[0] for row in cursor.fetchall()]
    found = Session.objects.select_for_update(no_key=True).filter(pk__in=holders).order_by("pk")
    return dict(found.values_list("pk", "last_seq"))


def lock_out(session_ids: Collection[UUID]) -> None:
    """Let nobody else decide on owners in the workspaces of sessions that are to go, until the transaction is over.

    To be called before these are locked.
    """
    those = Session.objects.filter(pk__in=session_ids).exclude(response_scope="")
    with connection.cursor() as cursor:
        for workspace_id in those.order_by("workspace_id").values_list("workspace_id", flat=True).distinct():
            cursor.execute(LOCK, [str(workspace_id)])
            transaction.on_commit(partial(settle, workspace_id), robust=True)


def late_notice() -> str | None:
    """What a person who looks after the desk should know of second looks that nobody takes."""
    late = OwnerCheck.objects.filter(due_at__lt=timezone.now() - LATE)
    if count := late.count():
        sessions = "a session" if count == 1 else f"{count} sessions"
        return f"it is not decided yet where the responses that {sessions} and others share are counted"
    return None


def release(session_id: UUID) -> dict[UUID, list[int]]:
    """Give the responses that are counted in a session, which is about to go, to the sessions that are next.

    Returns the turns that changed of each of these; they are locked. To be called in a transaction, in which
    ``lock_out`` was called first.
    """
    scope = {"session": session_id}
    OwnerCheck.objects.filter(pk=session_id).delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM sessions_app_modelrequest WHERE counted_in_id = %(session)s)", scope)
        if not cursor.fetchone()[0]:
            return {}
        # Without identities its own rows are in no group any more, and who is next owns what they owned.
        cursor.execute("UPDATE sessions_app_modelrequest SET identity = NULL WHERE session_id = %(session)s", scope)
        last_seqs = _locked_holders(cursor, scope)
        moved = _move(cursor, scope)
    for other in moved:
        notify.session_changed(other, last_seqs[other])
    return moved
