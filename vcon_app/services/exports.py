"""A session becomes a file: the bytes that came in, or what a format's writer makes of the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Sign
from django.utils import timezone
from django.utils.text import slugify

from sessions_app.ids import uuid7
from sessions_app.models import Session
from sessions_app.services import audit, bell
from sessions_app.services.columns import text
from vcon_app import registry
from vcon_app.drafts import Losses
from vcon_app.models import Export, ImportedSession, SourceDocument
from vcon_app.signing.keys import BadKey
from vcon_app.signing.signers import Signer

from . import documents, own_keys
from .attempts import may_pass
from .heartbeat import Heartbeat
from .log_reader import LogEvents, session_draft

log = logging.getLogger(__name__)

ORIGINAL = "original"
INLINE_EVENTS = 5_000
"""Sessions up to this size are written while the request waits; larger ones by a worker."""
KEPT = timedelta(hours=24)
SILENT_AFTER = timedelta(seconds=20)


class CannotExport(ValueError):
    """This session has no such export; the message says why and what there is."""


def formats_of(session: Session) -> list[str]:
    """Names of the formats that this session can be exported to."""
    original = [ORIGINAL] if _original_of(session) else []
    return original + sorted(registry.writers())


def start_export(session: Session, format: str, *, by: audit.Actor, options: dict[str, Any] | None = None) -> Export:
    """Write a session to a file: at once when it is small, else by a worker. Raises ``CannotExport``.

    With the option ``signed`` it is signed with the key of this installation.
    """
    _check(session, format)
    signed = bool(options and options.get("signed"))
    if signed:
        _check_signing(session, format)
    with transaction.atomic():
        export = Export.objects.create(
            workspace_id=session.workspace_id,
            session=session,
            format=format,
            options=options or {},
            identity=_identity(session, format),
            filename=_filename(session, format),
            requested_by=by.name,
        )
        audit.record(
            session.workspace_id, by, "session.exported", subject=("session", session.pk), format=format,
            **({"signed": True} if signed else {}),
        )  # fmt: skip
    if format == ORIGINAL or session.event_count <= INLINE_EVENTS:
        run(export.id)
    else:
        bell.ring(bell.RUN_EXPORT, export.id)
    export.refresh_from_db()
    return export


def run(export_id: UUID) -> None:
    """Write one export, if nobody else is at it."""
    export = _claim(export_id)
    if export is None:
        return
    with Heartbeat(Export, export_id):
        try:
            _write(export)
        except Exception as error:  # a writer meets whatever was in a hostile file
            if may_pass(error):
                raise
            log.exception("export %s failed", export_id)
            export.status, export.error = Export.Status.FAILED, text(f"the file could not be written: {error}")
    export.finished_at = timezone.now()
    export.save()


def path_of(export: Export) -> Path:
    """Where the finished file is."""
    if export.format == ORIGINAL:
        return documents.path_of(_original_of(export.session).sha256)
    return Path(settings.DATA_DIR) / "exports" / str(export.id)


def media_type(format: str) -> str:
    return "application/octet-stream" if format == ORIGINAL else registry.get(format).MEDIA_TYPE


def _check(session: Session, format: str) -> None:
    if format in formats_of(session):
        return
    if format == ORIGINAL:
        raise CannotExport("this session was not imported from a file, so there is no original")
    raise CannotExport(f'"{format}" is not an export format; use one of {", ".join(formats_of(session))}')


def signed_formats() -> list[str]:
    """Names of the formats that can be signed here: those that have a signed form, if there is a key for it."""
    try:
        ours = own_keys.signer()
    except (BadKey, OSError):
        return []
    return [name for name, format in sorted(registry.writers().items()) if ours and _can_sign(format, ours)]


def _can_sign(format: registry.Format, ours: Signer) -> bool:
    return hasattr(format, "sign") and format.signs_with(ours)


def _check_signing(session: Session, format: str) -> None:
    """Only what has ended is signed (draft-birkholz-verifiable-agent-conversations s6.1)."""
    try:
        ours = own_keys.signer()
    except (BadKey, OSError) as error:
        raise CannotExport(f"the key that exports are signed with cannot be used: {error}") from None
    if ours is None:
        raise CannotExport("exports are not signed here: an operator has to name a key in COUNTERSIGN_SIGNING_KEY")
    if format == ORIGINAL or not _can_sign(registry.get(format), ours):
        names = ", ".join(signed_formats()) or "none"
        raise CannotExport(f"{format} has no signed form for a key with {ours.algorithm}; these have: {names}")
    if session.phase == Session.Phase.ACTIVE or session.status == Session.Status.RUNNING:
        raise CannotExport("this session still goes on; it can be signed when it has ended")


def _original_of(session: Session) -> SourceDocument | None:
    """The newest document that added to the session: of a grown transcript the whole one, whatever came after."""
    links = ImportedSession.objects.filter(session=session, imported__duplicate_of=None).select_related("document")
    link = links.order_by(Sign("events").desc(), "-imported__created_at").first()
    return link.document if link else None


def _identity(session: Session, format: str) -> dict[str, str]:
    """The ids a file carries, the same each time this session is exported to this format unchanged."""
    before = Export.objects.filter(session=session, format=format, identity__last_seq=session.last_seq).first()
    if before:
        return before.identity
    return {"created_at": timezone.now().isoformat(), "last_seq": session.last_seq, **_new_ids(format)}


def _new_ids(format: str) -> dict[str, str]:
    new_uuid = getattr(registry.writers().get(format), "uuid8", None)
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    return {"uuid": new_uuid(timezone.now(), host, os.urandom(2)) if new_uuid else str(uuid7())}


def _filename(session: Session, format: str) -> str:
    if format == ORIGINAL:
        link = session.import_links.filter(document=_original_of(session)).select_related("imported").first()
        return link.imported.filename
    stem = slugify(session.title)[:60] or "session"
    return f"{stem}-{str(session.id)[-6:]}{registry.get(format).SUFFIX}"


def _claim(export_id: UUID) -> Export | None:
    now = timezone.now()
    free = Q(status=Export.Status.QUEUED) | Q(status=Export.Status.RUNNING, heartbeat_at__lt=now - SILENT_AFTER)
    if not Export.objects.filter(free, pk=export_id).update(
        status=Export.Status.RUNNING, heartbeat_at=now, started_at=now
    ):
        return None
    return Export.objects.select_related("session__agent").get(pk=export_id)


def _write(export: Export) -> None:
    target = path_of(export)
    if export.format != ORIGINAL:
        losses = Losses()
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = target.with_name(f"{target.name}.{uuid4()}")  # two at once: each writes its own, the last one counts
        with aside.open("wb") as file:
            file.writelines(_chunks(export, losses))
        aside.replace(target)
        export.losses = losses.rows()
    export.size = target.stat().st_size
    export.status, export.progress = Export.Status.DONE, 1


def _chunks(export: Export, losses: Losses) -> Iterator[bytes]:
    session, made_at = export.session, datetime.fromisoformat(export.identity["created_at"])
    original = _original_of(session)
    options = {
        **export.options,
        **export.identity,
        "created_at": made_at,
        "generated_at": made_at,
        "product_version": settings.VERSION,
        "origin": settings.SITE_URL,
        "document": original.sha256 if original else None,
        "costs": _costs(session),
    }
    writer = registry.get(export.format)
    chunks = writer.write(session_draft(session), LogEvents(session), losses, options=options)
    if export.options.get("signed"):
        return iter([writer.sign(b"".join(chunks), own_keys.signer(), timezone.now(), options)])
    return chunks


def _costs(session: Session) -> dict[int, dict[str, Any]]:
    """What the turns cost, as the desk shows it."""
    return {
        turn.index: {"amount": turn.cost_amount, "unpriced_tokens": turn.unpriced_tokens}
        for turn in session.turns.order_by("index")
    }


def sweep() -> int:
    """Ring again for exports that lost their worker, and throw away files nobody fetched for a day."""
    now = timezone.now()
    lost = Export.objects.filter(
        Q(status=Export.Status.QUEUED, created_at__lt=now - timedelta(seconds=30))
        | Q(status=Export.Status.RUNNING, heartbeat_at__lt=now - SILENT_AFTER)
    )
    ids = list(lost.values_list("id", flat=True))
    for export_id in ids:
        bell.ring(bell.RUN_EXPORT, export_id)
    _forget(now - KEPT)
    return len(ids)


def _forget(before: datetime) -> None:
    folder = Path(settings.DATA_DIR) / "exports"
    for path in folder.iterdir() if folder.exists() else ():
        if path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
