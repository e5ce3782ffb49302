"""Tombstones of what was deleted, by the id that it had."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import Tombstone


def tombstone_of(workspace_id: UUID, subject_id: UUID) -> Tombstone | None:
    """The tombstone of a session or an import of this workspace; None where nothing of this id was deleted."""
    return Tombstone.objects.filter(workspace_id=workspace_id, subject_id=subject_id).first()
