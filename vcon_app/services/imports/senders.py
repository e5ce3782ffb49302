"""Whose session a file may add to.

A file can name any session. Who brought a session may bring more of it; from others, and from elsewhere, only what
goes on from what the session's files told is taken. All else is a session of its own beside it.
"""

from __future__ import annotations

from typing import Final

from django.db.models import Q, QuerySet

from sessions_app.models import Session
from vcon_app.models import Import, ImportedSession

OTHER_AGENT: Final = "it is of another agent"
OTHER_SENDER: Final = "somebody else brought it, and this file does not tell all that theirs told"
NOTHING_SHARED: Final = "this file tells nothing of what that one told, and lies elsewhere"


def is_of_other_agent(imported: Import, session: Session) -> bool:
    """Whether whoever brings the file says that it is of another agent than the session."""
    return imported.agent_id not in (None, session.agent_id)


def brought(imported: Import, session: Session) -> bool:
    """Whether the member, the key or the command that brings the file has brought events of the session."""
    return _read(session).filter(imported__requester=imported.requester).exists()


def lies_elsewhere(imported: Import, session: Session) -> bool:
    """Whether events of the session came from other files only: neither of this name nor of the folder it lies in.

    Files that were sent without a folder are in one place: a long log is sent in parts, each under a name of its own.
    """
    here = Q(imported__filename=imported.filename) | Q(imported__folder=imported.folder)
    read = _read(session)
    return read.exists() and not read.filter(here).exists()


def _read(session: Session) -> QuerySet[ImportedSession]:
    return ImportedSession.objects.filter(session=session, events__gt=0)
