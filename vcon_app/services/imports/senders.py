"""Whose session a file may add to, and be a sub-agent of.

A file can name any session. Who brought a session may bring more of it; from others, and from elsewhere, only what
goes on from what the session's files told is taken. All else is a session of its own beside it. It can also say that
it is a sub-agent of any session, or that any is one of its own: below a session stands, and is counted and exported
with it, only what somebody brought who brought that one, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from sessions_app.models import Session
from vcon_app.drafts import Finding
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


def senders_of(session_ids: Collection[UUID]) -> defaultdict[UUID, set[str]]:
    """Session id -> who brought events of it: ``Import.requester`` of each."""
    read = ImportedSession.objects.filter(session__in=session_ids, events__gt=0)
    found: defaultdict[UUID, set[str]] = defaultdict(set)
    for session_id, requester in read.values_list("session_id", "imported__requester").distinct():
        found[session_id].add(requester)
    return found


def may_stand_below(child: Session, parent_id: UUID, senders: Mapping[UUID, set[str]]) -> bool:
    """Whether a session may be shown as a sub-agent of another: it is, or one sender brought both."""
    return child.parent_id == parent_id or bool(senders.get(child.pk, set()) & senders.get(parent_id, set()))


def not_below(parent_id: str) -> Finding:
    """Told of a file that says it is a sub-agent of somebody else's session."""
    return Finding(
        "import.not-below", "warning", "",
        f"It says that it is a sub-agent of the session {parent_id[:100]!r}, which somebody else brought. It is a "
        "session of its own, and nothing was added to that one.",
    )  # fmt: skip


def _read(session: Session) -> QuerySet[ImportedSession]:
    return ImportedSession.objects.filter(session=session, events__gt=0)
