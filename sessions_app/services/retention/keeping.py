"""For how many days a workspace keeps its sessions. What is over is deleted by ``vcon_app.services.erasure.over``."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Workspace
from sessions_app.queries.retention.over import going

from .. import audit

MOST_DAYS = 36_500
GRACE = timedelta(hours=24)
"""A number that was mistyped deletes nothing before the day after: so long it can be taken back."""


@transaction.atomic
def set_days(workspace_id: UUID, days: int | None, *, by: audit.Actor) -> Workspace:
    """Keep sessions for so many days after their last event, from 1 to ``MOST_DAYS``; None: for good.

    Fewer days than before delete nothing for ``GRACE``.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    before = workspace.keep_days
    if days == before:
        return workspace
    if days is None:
        workspace.deletes_from = None
    elif before is None or days < before:
        workspace.deletes_from = timezone.now() + GRACE
    workspace.keep_days = days
    workspace.save(update_fields=["keep_days", "deletes_from"])
    subject = ("workspace", workspace.id)
    audit.record(workspace.id, by, "workspace.keep_days_set", subject=subject, before=before, after=days)
    return workspace


def due_workspaces() -> list[Workspace]:
    """Workspaces that delete what is over by now."""
    return list(Workspace.objects.filter(keep_days__isnull=False, deletes_from__lte=timezone.now()).order_by("pk"))


def is_going(session_id: UUID) -> bool:
    """Whether a session goes, read anew: for who has locked it to delete it."""
    workspace = Workspace.objects.filter(sessions=session_id, deletes_from__lte=timezone.now()).first()
    return workspace is not None and going(workspace).filter(pk=session_id).exists()
