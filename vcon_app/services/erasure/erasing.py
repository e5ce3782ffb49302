"""Deletion of sessions and imports: the one way by which anything leaves this installation before its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import UUID

from sessions_app.models import Session, Tombstone
from sessions_app.services import audit
from sessions_app.services.log import erasure as rows
from sessions_app.services.log.erasure import CannotErase
from vcon_app.models import (
    Companion,
    Export,
    FileRemoval,
    Import,
    ImportedSession,
    Redaction,
    ShareLink,
    SourceDocument,
    SpanStream,
)

from ..documents import documents as storage
from ..trust import tombstones
from . import file_removal, plans
from .plans import Plan

__all__ = ["CannotErase", "erase_import", "erase_session"]


def erase_session(
    session: Session, *, by: audit.Actor, reason: str = "", with_children: bool = False, leave_events: bool = False,
    only_if: Callable[[UUID], bool] = lambda session_id: True,
) -> None:  # fmt: skip
    """Delete a session, and the imports that tell nothing else. Raises ``CannotErase``, ``Session.DoesNotExist``.

    Sessions of sub-agents stay and stand by themselves, unless they are to go, too. ``leave_events`` is for ``months``.
    ``only_if`` is asked before and when all of it is locked: so nothing goes that somebody has begun to go on with.
    """

    def plan() -> Plan:
        if not only_if(session.pk):
            raise CannotErase("it is no longer to go: something came in, or its retention was changed")
        return plans.plan_session(Session.objects.get(pk=session.pk), with_children=with_children)

    _erase(plan, by, reason, leave_events=leave_events)


def erase_import(imported: Import, *, by: audit.Actor, reason: str = "") -> None:
    """Delete an import, its repeats, and the sessions that it made. Raises ``CannotErase``, ``Import.DoesNotExist``."""
    _erase(lambda: plans.plan_import(Import.objects.get(pk=imported.pk)), by, reason)


def _erase(plan: Callable[[], Plan], by: audit.Actor, reason: str, *, leave_events: bool = False) -> None:
    with rows.transaction_of_erasure():
        planned = plan()
        sessions = rows.lock(planned.sessions)
        going = list(Import.objects.select_for_update().filter(pk__in=planned.imports).defer("findings").order_by("pk"))
        files = list(SourceDocument.objects.filter(pk__in=planned.documents).order_by("sha256"))
        for document in files:
            storage.lock(document.sha256)
        if plan() != planned:  # something came or went before all of it was locked
            raise CannotErase("something was added to it right now; nothing was deleted, try again")
        for session in sessions:
            _erase_session(session, by, reason, leave_events)
        for imported in going:
            _entomb_import(imported, files, by, reason)
        _delete_imports(going, files)


def _erase_session(session: Session, by: audit.Actor, reason: str, leave_events: bool) -> None:
    rows.cancel_questions(session, by)
    log = rows.log_of(session.pk)
    exports = plans.exports_of([session.pk])
    counts = log.counts | {
        "exports": len(exports),
        "redactions": Redaction.objects.filter(session=session).count(),
        "share_links": ShareLink.objects.filter(session=session).count(),
    }
    tombstone = tombstones.write(
        Tombstone.Kind.SESSION, session.workspace_id, session.pk, counts=counts, by=by, reason=reason, log=log
    )
    _delete_companions(session)
    Redaction.objects.filter(session=session).delete()
    ShareLink.objects.filter(session=session).delete()
    Export.objects.filter(session=session).delete()
    ImportedSession.objects.filter(session=session).delete()
    SpanStream.objects.filter(session=session).delete()
    rows.erase(session, tombstone, leave_events=leave_events)
    file_removal.ask_for(FileRemoval.Storage.EXPORTS, map(str, exports))


def _delete_companions(session: Session) -> None:
    """What files without a session of their own told of this one; see ``imports.companions``."""
    parent, _, tail = session.external_id.rpartition("/")
    told = Companion.objects.filter(workspace_id=session.workspace_id, source_format=session.source_format, tail=tail)
    told.filter(parent__in={"", parent.rpartition("/")[2], parent}).exclude(tail="").delete()


def _entomb_import(imported: Import, files: Iterable[SourceDocument], by: audit.Actor, reason: str) -> None:
    """The file is counted with the import that brought it; of its repeats only the row goes."""
    own = [each for each in files if each.pk == imported.document_id and not imported.duplicate_of_id]
    tombstones.write(
        Tombstone.Kind.IMPORT, imported.workspace_id, imported.pk,
        counts={"files": len(own), "events": imported.events}, documents=own, by=by, reason=reason,
    )  # fmt: skip


def _delete_imports(going: list[Import], files: list[SourceDocument]) -> None:
    ids: list[UUID] = [imported.pk for imported in going]
    ImportedSession.objects.filter(imported__in=ids).delete()
    Import.objects.filter(pk__in=ids).delete()
    Companion.objects.filter(document__in=files).delete()
    SourceDocument.objects.filter(pk__in=[document.pk for document in files]).delete()
    file_removal.ask_for(FileRemoval.Storage.DOCUMENTS, [document.sha256 for document in files])
