"""What of citations is there, in one workspace: see ``rendering.answers.citations``."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import connection

from sessions_app.models import Session
from sessions_app.rendering.answers.citations import Cited

EXISTING = """
SELECT asked.session_id, asked.seq FROM unnest(%(sessions)s::uuid[], %(seqs)s::int[]) AS asked (session_id, seq)
WHERE EXISTS (SELECT FROM sessions_app_event e WHERE e.session_id = asked.session_id AND e.seq = asked.seq)
"""


def existing(workspace_id: UUID, cited: Sequence[Cited]) -> dict[Cited, Session]:
    """Those of the cited sessions and events that the workspace has, each with its session; at most two queries."""
    if not cited:
        return {}
    wanted = Session.objects.filter(workspace_id=workspace_id, pk__in={one.session_id for one in cited})
    here = {session.pk: session for session in wanted.defer("source_record")}
    of_events = [one for one in cited if one.seq and one.session_id in here]
    found = {one: here[one.session_id] for one in cited if one.seq is None and one.session_id in here}
    if of_events:
        with connection.cursor() as cursor:
            cursor.execute(
                EXISTING, {"sessions": [one.session_id for one in of_events], "seqs": [one.seq for one in of_events]}
            )
            found |= {Cited(session_id, seq): here[session_id] for session_id, seq in cursor.fetchall()}
    return found
