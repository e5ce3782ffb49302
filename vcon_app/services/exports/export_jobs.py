"""Export rows: started, written by whoever is free, found again by the sweep, and their files kept for a day."""

from __future__ import annotations

import hashlib
import logging
import os
from datetime import timedelta
from typing import Any, BinaryIO
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.services import audit, fair_queue, task_queue
from sessions_app.services.log.sanitise import text
from vcon_app.drafts import Losses
from vcon_app.models import Export
from vcon_app.queries import share_links, sources

from .. import task_names
from ..documents import documents, jobs, storage
from ..redaction import redacted_file
from ..shares import shared_page
from ..transparency import registering
from . import export_options, handing_on, writing
from .job import ExportJob, job_of, new_job

log = logging.getLogger(__name__)

INLINE_EVENTS = 5_000
"""Sessions up to this size are written while the request waits; larger ones by a worker."""
INLINE_BYTES = 32 * 1024 * 1024
"""Of the original in a bundle: packing takes a second for each 30 MB."""
BIG_EVENTS, BIG_BYTES = 20_000, 3 * INLINE_BYTES
"""What takes longer to write than about three seconds does not hold the exports that are written in less."""
KEEP_FILES_FOR = timedelta(hours=24)
"""A file that was cleared away is written again when somebody asks for it."""


def start_export(
    session: Session, format: str, *, by: audit.Actor, options: dict[str, Any] | None = None, redaction: str = "",
    share_link: str = "", handing_on_confirmed: bool = False,
) -> Export:  # fmt: skip
    """Write a session to a file: at once when it is small, else by a worker. Raises ``CannotExport``.

    ``options``: ``signed`` with the key of this installation, ``encrypt_for`` anchors with RSA keys (which signs too),
    and the options that the format declares. ``redaction`` or ``share_link``: id of the one it is written for,
    which tells the audit log itself. ``handing_on_confirmed``: nobody granted it, and they were asked (see
    ``handing_on``).
    """
    chosen = export_options.chosen_options(session, format, options)
    if redaction:
        chosen[redacted_file.OPTION] = redaction
    if share_link:
        chosen[shared_page.OPTION] = share_link
    with transaction.atomic():
        Session.objects.select_for_update(no_key=True).only("id").get(pk=session.pk)  # two at once get the same ids
        job = new_job(session, format, chosen)
        export = Export.objects.create(
            workspace_id=session.workspace_id,
            session=session,
            format=format,
            options=chosen,
            identity=job.identity,
            filename=job.filename,
            requested_by=by.name,
            requester=fair_queue.person(by),
            big=job.event_count > BIG_EVENTS or job.packed_bytes > BIG_BYTES,
        )
        if redaction:
            redacted_file.begin(export)
        elif share_link:
            shared_page.begin(export)
        else:
            _record_export(export, by, handing_on_confirmed)
    _run_or_enqueue(export, job)
    export.refresh_from_db()
    return export


def write_again(export: Export) -> None:
    """Write the file of a finished export that was cleared away: the same content under the same ids."""
    Export.objects.filter(pk=export.pk).update(status=Export.Status.QUEUED, attempt=0)
    _run_or_enqueue(export, job_of(export))
    export.refresh_from_db()


def report(session: Session, format: str, options: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """What the format cannot carry of a session: nothing is kept, and nobody took anything. Raises ``CannotExport``."""
    job = new_job(session, format, export_options.chosen_options(session, format, options))
    before = Export.objects.filter(
        session=session, format=format, options=job.chosen, identity=job.identity, status=Export.Status.DONE
    )
    if done := before.first():
        return done.losses
    return writing.count_losses(job).rows()


def run(export_id: UUID) -> None:
    """Write one export, if nobody else is at it."""
    export = _claim(export_id)
    if export is None:
        return
    with jobs.Heartbeat(Export, export_id):
        digest = b""
        try:
            digest = _write(export)
        except Exception as error:  # a writer meets whatever was in a hostile file
            if why := jobs.what_to_wait_for(error):
                log.warning("export %s was put back: %s", export_id, error)
                jobs.put_back(export, why)
                return
            if jobs.is_transient(error):
                raise
            log.exception("export %s failed", export_id)
            export.status, export.error = Export.Status.FAILED, text(f"the file could not be written: {error}")
    export.finished_at = timezone.now()
    _keep(export, digest)


@transaction.atomic
def _keep(export: Export, digest: bytes) -> None:
    """Note what came of it; where its session was erased meanwhile, throw the file away.

    ``digest``: SHA-256 of a signed file, which is registered where a transparency service is named.
    """
    if Export.objects.select_for_update().filter(pk=export.pk).exists():
        export.save()
        if digest:
            registering.begin(export, digest, export_options.media_types(export.format)[0])
    else:
        storage.of_exports().remove(str(export.pk))


def open_file(export: Export) -> BinaryIO:
    """The finished file. Raises ``storage.Missing`` when it was cleared away, ``storage.Unavailable``."""
    original = sources.original_of(export.session) if export.format == export_options.ORIGINAL else None
    if original and not original.member:
        return documents.open_document(original.document)
    return storage.of_exports().open(str(export.id))


def has_file(export: Export) -> bool:
    """Whether the file of an export is there: it may not be written yet, or may have been cleared away."""
    return storage.of_exports().exists(str(export.id))


def sweep() -> int:
    """Enqueue again the exports that lost their message or their worker; how many."""
    return jobs.sweep(Export, task_names.RUN_EXPORT)


def remove_old_files() -> int:
    """Throw away the files that nobody asked for within a day, but those that share links show; how many."""
    kept, shared = storage.of_exports(), share_links.files()
    old = [name for name in kept.names(before=timezone.now() - KEEP_FILES_FOR) if name not in shared]
    for name in old:
        kept.remove(name)
    storage.remove_abandoned()
    return len(old)


def _run_or_enqueue(export: Export, job: ExportJob) -> None:
    is_small = job.event_count <= INLINE_EVENTS and job.packed_bytes <= INLINE_BYTES
    if is_small or job.writer is None:
        run(export.pk)
    else:
        task_queue.enqueue(task_names.RUN_EXPORT, export.pk, jobs.line_of(export))


def _record_export(export: Export, by: audit.Actor, confirmed: bool) -> None:
    """Into the audit log: who took what away, in which form, for whom, and against which missing grant (R100)."""
    options = dict(export.options)
    people = [f"{one['name']} ({one['fingerprint'][:16]})" for one in options.pop("encrypt_for", ())]
    redistribution = handing_on.state_of(export.session)
    details = {
        "signed": options.pop("signed", False),
        "encrypted_for": people,
        "options": options,
        "redistribution": redistribution if redistribution != "granted" else "",
        "redistribution_confirmed": confirmed,
    }
    audit.record(
        export.workspace_id, by, "session.exported", subject=("session", export.session_id), format=export.format,
        **{name: value for name, value in details.items() if value},
    )  # fmt: skip


def _claim(export_id: UUID) -> Export | None:
    now = timezone.now()
    if not Export.objects.filter(jobs.claimable(now), pk=export_id).update(
        status=Export.Status.RUNNING, attempt=F("attempt") + 1, heartbeat_at=now, started_at=now, waiting_for=""
    ):
        return None
    export = Export.objects.select_related("session__agent").get(pk=export_id)
    if export.attempt <= jobs.MAX_ATTEMPTS:
        return export
    export.status, export.error, export.finished_at = Export.Status.FAILED, jobs.GIVEN_UP, now
    export.save(update_fields=["status", "error", "finished_at"])
    return None


def _write(export: Export) -> bytes:
    """The SHA-256 of what was written, if it is signed; else nothing."""
    job, losses, sha256 = job_of(export), Losses(), hashlib.sha256()
    if job.stored_document:
        with documents.open_stored(job.stored_document) as file:
            export.size = file.seek(0, os.SEEK_END)
    else:
        with storage.incoming(
            storage.of_exports()
        ) as incoming:  # two at once: each writes its own, the last one counts
            for chunk in writing.file_chunks(job, export, losses):
                incoming.file.write(chunk)
                if job.is_signed:
                    sha256.update(chunk)
            export.size = incoming.keep(str(export.id))
    export.losses = losses.rows()
    export.status, export.progress = Export.Status.DONE, 1
    return sha256.digest() if job.is_signed else b""
