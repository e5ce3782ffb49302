"""Who has read a session how far, and what is new in sessions since one read them."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sessions_app.compiled import Compiled
from sessions_app.models import Member, SeenMark, Session

SHOWN = 20


def readers_of(session: Session) -> list[SeenMark]:
    """How far members have read a session, who read last first; at most 20."""
    found = SeenMark.objects.filter(session=session).select_related("member__user")
    return list(found.order_by("-at")[:SHOWN])


def seen_by(member: Member, session_ids: Collection[UUID]) -> dict[UUID, int]:
    """How far a member has read sessions, of those that they have read at all."""
    return dict(_SEEN(member.pk, list(session_ids)))


_SEEN = Compiled[tuple[UUID, int]](
    lambda member_id, ids: SeenMark.objects.filter(member=member_id, session__pk__any_of=ids).values_list(
        "session_id", "seq"
    )
)
