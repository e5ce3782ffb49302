"""Reasons that people use again: a workspace has them in store, for all of its reviewers."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from sessions_app.models import Member, SavedReason, Workspace

from .. import audit
from ..log.sanitise import text
from .authority import Invalid

MOST, LONGEST = 50, 500
"""Reasons of a workspace, and characters of one."""


@transaction.atomic
def save(workspace: Workspace, verdict: str, said: str, *, by: audit.Actor) -> SavedReason:
    """Keep a reason; the same one again is the same. Raises ``Invalid`` for an empty or long one, or one too many."""
    said = " ".join(text(said).split())
    if not said or len(said) > LONGEST:
        raise Invalid("text", f"a saved reason has between 1 and {LONGEST} characters")
    Workspace.objects.select_for_update(no_key=True).only("id").get(pk=workspace.pk)
    existing = SavedReason.objects.filter(workspace=workspace, verdict=verdict, text=said).first()
    if existing:
        return existing
    if SavedReason.objects.filter(workspace=workspace).count() >= MOST:
        raise Invalid("text", f"there are {MOST} saved reasons already; remove one first")
    saved = SavedReason.objects.create(workspace=workspace, verdict=verdict, text=said, made_by=by.name)
    audit.record(workspace.pk, by, "reason.saved", subject=("saved_reason", saved.pk), text=said)
    return saved


@transaction.atomic
def remove(workspace: Workspace, reason_id: UUID, *, by: audit.Actor) -> bool:
    """Forget a reason. False when there was none."""
    removed = SavedReason.objects.filter(workspace=workspace, pk=reason_id).delete()[0]
    if removed:
        audit.record(workspace.pk, by, "reason.removed", subject=("saved_reason", reason_id))
    return bool(removed)


def store(member: Member) -> list[SavedReason]:
    """The reasons of the member's workspace, by their text."""
    return list(SavedReason.objects.filter(workspace_id=member.workspace_id).order_by("text")[:MOST])
