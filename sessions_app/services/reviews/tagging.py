"""What people change of one session: all its tags at once, its retention. For one tag on many see ``bulk``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from sessions_app.models import Session

from .. import audit, notify
from ..log.sanitise import text
from ..retention import policies
from .bulk import MOST_TAG, MOST_TAGS
from .problems import Refused


@transaction.atomic
def change(
    session_id: UUID, *, tags: list[str] | None, retention: dict[str, Any] | None, by: audit.Actor, is_admin: bool
) -> None:
    """Other tags, another retention, both, or none of it where one is refused; None stays as it is.

    Raises as ``policies.set_policy`` and ``set_tags``.
    """
    if tags is not None:  # before the retention, which shares the lock that tags take alone
        set_tags(session_id, tags, by=by)
    if retention is not None:
        policies.set_policy(session_id, retention, by=by, is_admin=is_admin)


@transaction.atomic
def set_tags(session_id: UUID, tags: list[str], *, by: audit.Actor) -> None:
    """These tags instead of those that a session has, each once, in this order. Raises ``Refused``."""
    wanted = list(dict.fromkeys(" ".join(text(tag).split()) for tag in tags))
    if wrong := next((tag for tag in wanted if not 0 < len(tag) <= MOST_TAG), None):
        raise Refused("tags", f"a tag has {len(wrong)} characters; use 1 to {MOST_TAG}")
    if "" in wanted or len(wanted) > MOST_TAGS:
        raise Refused("tags", f"{len(wanted)} tags were sent; use at most {MOST_TAGS}, none of them empty")
    session = (
        Session.objects.select_for_update(of=("self",))
        .only("id", "tags", "workspace_id", "last_seq")
        .get(pk=session_id)
    )
    if session.tags == wanted:
        return
    Session.objects.filter(pk=session_id).update(tags=wanted)
    for action, names in (
        ("session.tagged", [tag for tag in wanted if tag not in session.tags]),
        ("session.untagged", [tag for tag in session.tags if tag not in wanted]),
    ):
        for name in names:
            audit.record(session.workspace_id, by, action, subject=("session", session_id), tag=name)
    notify.session_changed(session_id, session.last_seq)
