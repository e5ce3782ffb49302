"""Owners of shared responses: a resumed or forked session begins with a copy of the one that it continues.

Each is counted once in a workspace. Which session owns it follows from what the files say, never from which was
imported first. The same response is one with the same id that begins with the same words at the same moment: a copied
line keeps all of them (Claude Code 1.0 to 2.1), while ids alone are often the same in made-up files ("msg_002" in three
of 40 unrelated fixtures).
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models import Session

from .. import notify

LOCK = "SELECT pg_advisory_xact_lock(hashtext('responses'), hashtext(%s))"

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


def assign_owners(session_id: UUID, since: int) -> dict[UUID, list[int]]:
    """Decide anew which session owns each response that this one shares, after its events behind ``since`` came.

    Returns the turns that changed of each session whose share changed; these are locked. To be called in a transaction.
    """
    session = Session.objects.only("response_scope", "workspace_id").get(pk=session_id)
    if not session.response_scope:
        return {}
    scope: dict[str, Any] = {"session": session_id, "since": since}
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [str(session.workspace_id)])  # two files at once would not see each other
        cursor.execute(SHARES, scope)
        if not cursor.fetchone()[0]:
            return {}
        cursor.execute(HOLDERS, scope)
        holders = [row[0] for row in cursor.fetchall()]
        last_seqs = dict(
            Session.objects.select_for_update().filter(pk__in=holders).order_by("pk").values_list("pk", "last_seq")
        )
        cursor.execute(OWNERS, scope)
        moved = dict(cursor.fetchall())
    for other in moved.keys() - {session_id}:
        notify.session_changed(other, last_seqs[other])
    return moved


def release(session_id: UUID) -> dict[UUID, list[int]]:
    """Give the responses that are counted in a session, which is about to go, to the sessions that are next.

    Returns the turns that changed of each of these; they are locked. To be called in a transaction.
    """
    scope = {"session": session_id}
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM sessions_app_modelrequest WHERE counted_in_id = %(session)s)", scope)
        if not cursor.fetchone()[0]:
            return {}
        workspace_id = Session.objects.values_list("workspace_id", flat=True).get(pk=session_id)
        cursor.execute(LOCK, [str(workspace_id)])
        # Without identities its own rows are in no group any more, and who is next owns what they owned.
        cursor.execute("UPDATE sessions_app_modelrequest SET identity = NULL WHERE session_id = %(session)s", scope)
        cursor.execute(HOLDERS, scope)
        holders = [row[0] for row in cursor.fetchall()]
        last_seqs = dict(
            Session.objects.select_for_update().filter(pk__in=holders).order_by("pk").values_list("pk", "last_seq")
        )
        cursor.execute(OWNERS, scope)
        moved: dict[UUID, list[int]] = dict(cursor.fetchall())
    for other in moved:
        notify.session_changed(other, last_seqs[other])
    return moved
