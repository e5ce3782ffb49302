"""Where a session's events were read: its imports, and what was found odd there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import IntegerField, QuerySet
from django.db.models.expressions import Func

from sessions_app.models import Event
from vcon_app.models import ImportedSession


def links(session_id: UUID) -> QuerySet[ImportedSession]:
    """The imports a session came from, the newest first, each with its document and its number of findings."""
    found = ImportedSession.objects.filter(session_id=session_id, imported__duplicate_of=None)
    count = Func("imported__findings", function="jsonb_array_length", output_field=IntegerField())
    return (
        found.select_related("imported", "document").defer("imported__findings").annotate(remarks=count).order_by("-pk")
    )


def link_of(event: Event) -> ImportedSession | None:
    """The import that first read the document of an event; None for an event that came from no file."""
    if not event.document:
        return None
    return links(event.session_id).filter(document__sha256=event.document).last()


def findings_at(link: ImportedSession, pointer: str) -> list[dict[str, Any]]:
    """Findings about the record at ``pointer``: in it, or about the line that holds it."""
    return [finding for finding in link.imported.findings if pointer and _about(finding["path"], pointer)]


def _about(path: str, pointer: str) -> bool:
    inside = path == pointer or path.startswith(f"{pointer}/")
    is_line = path.rpartition(": ")[2].startswith("L")  # behind the name of a member, in an archive
    return inside or (is_line and pointer.startswith(f"{path}/"))
