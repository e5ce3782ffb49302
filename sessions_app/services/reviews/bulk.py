"""The same done to many sessions: tags and archiving. For assignment see ``assignments``."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from sessions_app.models import Member, Role, Session

from .. import audit, sessions
from ..log.sanitise import text
from .problems import Refused, require

MOST = 500
"""Sessions at once."""
MOST_TAG, MOST_TAGS = 60, 100


@transaction.atomic
def tag(session_ids: Collection[UUID], name: str, member: Member, *, by: audit.Actor, remove: bool = False) -> int:
    """Put a tag on sessions of the member's workspace, or take it off; how many changed.

    Raises ``Refused`` and ``NotAllowed``.
    """
    require(member, Role.REVIEWER)
    name = " ".join(text(name).split())
    if not 0 < len(name) <= MOST_TAG:
        raise Refused("tag", f"the tag has {len(name)} characters; use 1 to {MOST_TAG}")
    changed = []
    here = Session.objects.filter(workspace_id=member.workspace_id, pk__in=session_ids).order_by("pk")
    for session in here.select_for_update(of=("self",)).only("id", "tags"):
        if (name in session.tags) != remove:
            continue
        if not remove and len(session.tags) >= MOST_TAGS:
            raise Refused("tag", f"a session has {MOST_TAGS} tags already; nothing was changed")
        tags = [one for one in session.tags if one != name] if remove else [*session.tags, name]
        Session.objects.filter(pk=session.pk).update(tags=tags)
        changed.append(session.pk)
    action = "session.untagged" if remove else "session.tagged"
    audit.record_each(member.workspace_id, [audit.Said(by, action, ("session", pk), {"tag": name}) for pk in changed])
    return len(changed)


def archive(session_ids: Collection[UUID], member: Member, *, by: audit.Actor) -> int:
    """Archive sessions of the member's workspace; how many were not before. Each by itself: some may take a while."""
    require(member, Role.REVIEWER)
    here = Session.objects.filter(workspace_id=member.workspace_id, pk__in=session_ids).defer("source_record")
    open_ones = list(here.exclude(status=Session.Status.ARCHIVED).order_by("pk"))
    for session in open_ones:
        sessions.archive(session, by=by)
    return len(open_ones)
