"""Which import a session was read by."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sessions_app.queries.provenance import UNSIGNED, Provenance
from vcon_app.models import ImportedSession


def of(session_ids: Collection[UUID]) -> dict[UUID, Provenance]:
    """The newest import that is no repeat of another, of each session that was imported; one query for all."""
    links = (
        ImportedSession.objects.filter(session_id__in=session_ids, imported__duplicate_of=None)
        .select_related("imported").defer("imported__findings")
        .order_by("session_id", "-imported__created_at").distinct("session_id")
    )  # fmt: skip
    return {
        link.session_id: Provenance(link.imported_id, link.imported.format, link.imported.signature or UNSIGNED)
        for link in links
    }
