"""What of the database goes into a bundle: the original, the audit records about the session, and our key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db.models import Q

from sessions_app.models import AuditEntry, EventLink, Session
from sessions_app.queries.log import links
from sessions_app.services import audit
from vcon_app.formats import bundle
from vcon_app.models import Export, ImportedSession
from vcon_app.signing.signers import Signer

from ..checkpoints import proofs
from ..documents import originals
from ..receipts import issuing
from ..trust import own_keys
from .job import ExportJob


def parts_of(job: ExportJob, export: Export) -> bundle.Parts:
    """Parts of a bundle beside the log. Of a session that goes on the vCon is not signed (VAC s6.1).

    Raises ``BadKey``, ``FormatError``, ``OSError``.
    """
    signer = own_keys.signer()
    return bundle.Parts(
        session_id=str(export.session_id),
        original=_original(job.original) if job.original else None,
        audit=_audit_rows(export.session),
        record=_record(export.session),
        signer=signer,
        receipts=_receipts(export.session, signer),
        exported_by=export.requested_by,
        exported_at=export.created_at,
        unsigned_vcon="the session still goes on" if job.goes_on else "",
    )


def _original(link: ImportedSession) -> bundle.Original:
    return bundle.Original(
        name=originals.name_of(link),
        size=originals.size_of(link),
        chunks=partial(originals.chunks_of, link),
        document=link.document.sha256,
        member=link.member,
    )


def _record(session: Session) -> bundle.Record | None:
    """The log as it was chained. What no checkpoint knows yet is taken in by one that is made now."""
    if not EventLink.objects.filter(session=session).exists():
        return None
    checkpoint = proofs.proof_of_session(session.pk)
    found = list(links.headers(session.pk))
    return bundle.Record(
        checkpoint=checkpoint,
        links=found,
        rows=lambda: links.rows(session.pk, 1, found[-1][0].last_seq),
    )


def _receipts(session: Session, signer: Signer) -> Iterator[tuple[str, str]]:
    """What was decided in the session, a receipt each. After the record, whose checkpoint knows the decisions."""
    for approval, receipt in issuing.issue_all(session.workspace_id, session.approvals.all(), signer):
        yield str(approval), receipt


def _audit_rows(session: Session) -> Iterator[bundle.AuditRow]:
    """What was done with the session, its approvals and the files it was read from, in the order of the log."""
    approvals = session.approvals.values_list("pk", flat=True)
    imports = session.import_links.values_list("imported_id", flat=True)
    about = (
        Q(subject_kind="session", subject_id=str(session.pk))
        | Q(subject_kind="approval", subject_id__in=list(map(str, approvals)))
        | Q(subject_kind="import", subject_id__in=list(map(str, imports)))
    )
    found = AuditEntry.objects.filter(about, workspace_id=session.workspace_id).order_by("seq")
    for entry in found.iterator():
        yield bundle.AuditRow(entry.seq, entry.previous_hash, entry.hash, audit.canonical_of(entry))
