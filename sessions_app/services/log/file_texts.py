"""What the file of a session says beside its events: kept as text, and in one row of the search index.

Who reads files writes it here (``vcon_app``), some time after the import: see ``put_off``.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import FileText, Session
from sessions_app.prepared import Statement, run

from . import search_index
from .sanitise import text

DELAY = timedelta(seconds=20)
"""After an import: a transcript that is written right now comes again every few seconds."""
LONGEST = 200_000
"""Characters of one session's."""

PUT_OFF = Statement("""
INSERT INTO sessions_app_filetext AS kept (session_id, workspace_id, text, due_at, tries)
SELECT id, %(workspace)s, '', %(at)s, 0 FROM unnest(%(sessions)s::uuid[]) AS told (id) ORDER BY id
ON CONFLICT (session_id) DO UPDATE SET due_at = excluded.due_at, tries = 0
WHERE kept.due_at IS NULL OR kept.due_at > excluded.due_at OR kept.tries > 0
""")


def put_off(workspace_id: UUID, session_ids: Collection[UUID]) -> None:
    """The files of these sessions are to be looked through in a while.

    One that is to be already keeps its time, unless that is later: somebody reads it then, as it was before.
    """
    at = timezone.now() + DELAY
    run(PUT_OFF, {"workspace": workspace_id, "sessions": list(session_ids), "at": at})


@transaction.atomic
def keep(session_id: UUID, said: str, due_at: datetime, *, is_given_up: bool = False) -> bool:
    """Take what the file says, or what is known of it where it is given up, which the row says then.

    False, and nothing is written, where the session is gone or the file was put off anew since ``due_at``.
    """
    # the row of the index says when the session began, which would else change meanwhile
    session = Session.objects.select_for_update(no_key=True).only("id", "workspace_id").filter(pk=session_id).first()
    kept = text(said)[:LONGEST]
    rows = FileText.objects.filter(session_id=session_id, due_at=due_at)
    if session is None or not rows.update(text=kept, due_at=None, tries=F("tries") if is_given_up else 0):
        return False
    search_index.put_file_text(session_id, session.workspace_id, kept)
    return True
