"""The audit log, the newest entry first."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import AuditEntry


def entries(workspace_id: UUID, *, limit: int, before: int | None, subject: str = "") -> list[AuditEntry]:
    """Up to ``limit`` entries with a number below ``before``; with ``subject``, those about this id only."""
    found = AuditEntry.objects.filter(workspace_id=workspace_id)
    if before is not None:
        found = found.filter(seq__lt=before)
    if subject:
        found = found.filter(subject_id=subject)
    return list(found.order_by("-seq")[:limit])
