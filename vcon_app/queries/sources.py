"""Sources of a session's events: its imports, and the findings there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Sign

from sessions_app.compiled import Compiled
from sessions_app.models import Event, Session
from vcon_app.models import ImportedSession


def links_of(session_id: UUID) -> QuerySet[ImportedSession]:
    """The files a session came from, the newest first, each with its import and document, without its findings."""
    found = ImportedSession.objects.filter(session_id=session_id, imported__duplicate_of=None)
    return found.select_related("imported", "document").defer("imported__findings").order_by("-pk")


_NEWEST = Compiled[ImportedSession](lambda session_id: links_of(session_id).defer(None)[:1])


def newest_link(session_id: UUID) -> ImportedSession | None:
    """The first of them, with its findings."""
    return _NEWEST.first(session_id)


def link_of(event: Event) -> ImportedSession | None:
    """The import that first read the document of an event; None for an event that came from no file."""
    if not event.document:
        return None
    found = links_of(event.session_id).filter(document__sha256=event.document)
    if (link := found.last()) is None or not link.member:
        return link
    named = (one for one in found if _in_member(event.pointer, one.member))
    return max(named, key=lambda one: len(one.member), default=link)


def original_of(session: Session) -> ImportedSession | None:
    """The file that added to the session last: of a grown transcript the whole one, whatever came after."""
    return _ORIGINAL.first(session.pk)


def _by_use(session_id: UUID) -> QuerySet[ImportedSession]:
    found = ImportedSession.objects.filter(session=session_id, imported__duplicate_of=None)
    by_use = found.order_by(Sign("events").desc(), "-imported__created_at", "-pk")
    return by_use.select_related("document", "imported").defer("imported__findings")


_ORIGINAL = Compiled[ImportedSession](lambda session_id: _by_use(session_id)[:1])


def findings_of(link: ImportedSession) -> list[dict[str, Any]]:
    """What was found odd in the file: of an archive in this member of it, and in the archive as a whole."""
    found = link.imported.findings
    if not link.member:
        return found
    return [one for one in found if not one["path"] or _in_member(one["path"], link.member)]


def _in_member(path: str, member: str) -> bool:
    return path == member or path.startswith(f"{member}: ")


def findings_at(link: ImportedSession, pointer: str) -> list[dict[str, Any]]:
    """Findings about the record at ``pointer``: in it, or about the line that holds it."""
    return [finding for finding in link.imported.findings if pointer and _about(finding["path"], pointer)]


def _about(path: str, pointer: str) -> bool:
    inside = path == pointer or path.startswith(f"{pointer}/")
    is_line = path.rpartition(": ")[2].startswith("L")  # behind the name of a member, in an archive
    return inside or (is_line and pointer.startswith(f"{path}/"))
