"""Sub-agents whose own files do not say whose they are: their parents do, by their name or by their first prompt.

Gemini CLI's call names the session of the sub-agent (``agentId``); Cursor writes no ids at all, and the first words of
the child are the prompt of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models import Session
from sessions_app.services import notify

from . import descent, senders

Locker = Callable[[Collection[UUID]], list[Session]]
"""Locks sessions, all at once, and reads them anew. Raises where one is held by somebody else."""
KEPT_PROMPT = 2_000
"""Characters of a prompt that a turn keeps."""

NAMED = """
SELECT child.id, e.session_id, coalesce(c.seq, e.seq)
FROM sessions_app_session s
JOIN sessions_app_event e ON e.session_id = s.id AND e.data ? 'child_session'
JOIN sessions_app_session child ON child.workspace_id = s.workspace_id AND child.source_format = s.source_format
                               AND child.external_id = e.data->>'child_session' AND child.id <> s.id
LEFT JOIN sessions_app_toolcall c ON c.session_id = e.session_id AND c.result_seq = e.seq
WHERE s.workspace_id = %(workspace)s AND s.source_format = %(format)s
  AND (s.id = ANY(%(sessions)s) OR child.id = ANY(%(sessions)s))
ORDER BY s.started_at, s.external_id, e.seq
"""
PROMPTED = f"""
SELECT child.id, c.session_id, c.seq
FROM sessions_app_session s
JOIN sessions_app_toolcall c ON c.session_id = s.id AND c.name = ANY(%(starters)s)
JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
JOIN sessions_app_session child ON child.workspace_id = s.workspace_id AND child.source_format = s.source_format
                               AND child.id <> s.id
JOIN sessions_app_turn t ON t.session_id = child.id AND t.index = 1
                        AND t.prompt = left(e.arguments->>'prompt', {KEPT_PROMPT}) AND t.prompt <> ''
WHERE s.workspace_id = %(workspace)s AND s.source_format = %(format)s
  AND (s.id = ANY(%(sessions)s) OR child.id = ANY(%(sessions)s))
ORDER BY s.started_at, s.external_id, c.seq, child.started_at, child.external_id
"""
QUERIES = {"named": NAMED, "prompted": PROMPTED}


def link_children(
    workspace_id: UUID, format_name: str, by: str, starters: Collection[str], sessions: Iterable[UUID], lock: Locker
) -> None:
    """Give these sessions their parents and children. To be called by one at a time in a workspace."""
    scope: dict[str, Any] = {
        "workspace": workspace_id, "format": format_name, "starters": list(starters), "sessions": list(sessions),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(QUERIES[by], scope)
        rows = cursor.fetchall()
    brought_by = senders.senders_of({id_ for child_id, parent_id, _ in rows for id_ in (child_id, parent_id)})
    locked = {child.pk: child for child in lock({child_id for child_id, _, _ in rows})}
    calls: set[tuple[UUID, int]] = set()
    for child_id, parent_id, seq in rows:
        child = locked.get(child_id)
        if child is None or (parent_id, seq) in calls or not senders.may_stand_below(child, parent_id, brought_by):
            continue
        if not descent.is_below(parent_id, child_id):  # two with the same first prompt may each be the other's child
            calls.add((parent_id, seq))
            _set_parent(locked.pop(child_id), parent_id, seq)


def _set_parent(child: Session, parent_id: UUID, seq: int) -> None:
    if (child.parent_id, child.metadata.get("call_seq")) != (parent_id, seq):
        child.parent_id = parent_id
        child.metadata = {**child.metadata, "call_seq": seq}
        child.save(update_fields=["parent", "metadata", "updated_at"])
        notify.session_changed(child.pk, child.last_seq)
