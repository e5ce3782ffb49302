"""A session becomes a file: the bytes that came in, or what a format's writer makes of the log."""

from __future__ import annotations

import hashlib
import json
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
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify

from sessions_app.ids import uuid7
from sessions_app.models import Session
from sessions_app.services import audit, task_queue
from sessions_app.services.log.sanitise import text
from vcon_app import registry
from vcon_app.drafts import Events, Losses, SessionDraft
from vcon_app.formats.contract import Need, SigningWriter, Writer
from vcon_app.models import Export
from vcon_app.queries import sources
from vcon_app.signing.keys import BadKey
from vcon_app.signing.signers import Signer

from ...queries import legal_basis, verdicts
from ...queries.log_reader import LogEvents, session_draft
from .. import task_names
from ..documents import documents, originals
from ..documents.jobs import Heartbeat, is_transient
from ..redaction import redacted_file
from ..trust import own_keys
from . import bundle_parts, export_options
from .export_options import CannotExport
from .sub_agents import NestedEvents, descendants_of

log = logging.getLogger(__name__)

ORIGINAL = "original"
EXPORTS = "exports"
"""The folder in the data directory; documents have one of their own."""
INLINE_EVENTS = 5_000
"""Sessions up to this size are written while the request waits; larger ones by a worker."""
INLINE_BYTES = 32 * 1024 * 1024
"""Of the original in a bundle: packing takes a second for each 30 MB."""
KEPT = timedelta(hours=24)
SILENT_AFTER = timedelta(seconds=20)


def formats_of(session: Session) -> list[str]:
    """Names of the formats that this session can be exported to."""
    original = [ORIGINAL] if sources.original(session) else []
    return original + sorted(registry.writers())


def start_export(
    session: Session, format: str, *, by: audit.Actor, options: dict[str, Any] | None = None, redaction: str = ""
) -> Export:
    """Write a session to a file: at once when it is small, else by a worker. Raises ``CannotExport``.

    ``options``: ``signed`` with the key of this installation, ``encrypt_for`` anchors with RSA keys (which signs too),
    and the options that the format declares. ``redaction``: id of the one it is written for, which tells the
    audit log itself when it is done.
    """
    chosen = _chosen(session, format, options) | ({redacted_file.OPTION: redaction} if redaction else {})
    with transaction.atomic():
        Session.objects.select_for_update(no_key=True).only("id").get(pk=session.pk)  # two at once get the same ids
        export = Export.objects.create(
            workspace_id=session.workspace_id,
            session=session,
            format=format,
            options=chosen,
            identity=_identity(session, format, chosen),
            filename=_filename(session, format),
            requested_by=by.name,
        )
        if redaction:
            redacted_file.begin(export)
        else:
            _tell(export, by)
    if _is_small(session, format, chosen):
        run(export.id)
    else:
        task_queue.enqueue(task_names.RUN_EXPORT, export.id)
    export.refresh_from_db()
    return export


def report(session: Session, format: str, options: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """What the format cannot carry of a session: nothing is kept, and nobody took anything. Raises ``CannotExport``."""
    chosen = _chosen(session, format, options)
    if format == ORIGINAL:
        return []
    identity = _identity(session, format, chosen)
    before = Export.objects.filter(
        session=session, format=format, options=chosen, identity=identity, status=Export.Status.DONE
    )
    if done := before.first():
        return done.losses
    losses = Losses()
    writer, given = _writing(session, format, chosen, identity)
    for _ in writer.write(session_draft(session), _events(session, format, chosen, losses), losses, options=given):
        pass
    return losses.rows()


def run(export_id: UUID) -> None:
    """Write one export, if nobody else is at it."""
    export = _claim(export_id)
    if export is None:
        return
    with Heartbeat(Export, export_id):
        try:
            _write(export)
        except Exception as error:  # a writer meets whatever was in a hostile file
            if is_transient(error):
                raise
            log.exception("export %s failed", export_id)
            export.status, export.error = Export.Status.FAILED, text(f"the file could not be written: {error}")
    export.finished_at = timezone.now()
    export.save()


def write_again(export: Export) -> None:
    """A finished export whose file was cleared away: the same content under the same ids."""
    Export.objects.filter(pk=export.pk).update(status=Export.Status.QUEUED)
    if _is_small(export.session, export.format, export.options):
        run(export.pk)
    else:
        task_queue.enqueue(task_names.RUN_EXPORT, export.pk)
    export.refresh_from_db()


def path_of(export: Export) -> Path:
    """Where the finished file is."""
    if export.format == ORIGINAL and not (link := sources.original(export.session)).member:
        return documents.path_of(link.document.sha256)
    return Path(settings.DATA_DIR) / EXPORTS / str(export.id)


def media_types(format: str) -> tuple[str, ...]:
    """What its files may be served as; the first when nobody asks for another."""
    if format == ORIGINAL:
        return ("application/octet-stream",)
    spec = registry.get(format).SPEC
    return (spec.media_type, *spec.also_served_as)


def _chosen(session: Session, format: str, options: dict[str, Any] | None) -> dict[str, Any]:
    """The options that are not the default, when this session can be exported with them. Raises ``CannotExport``."""
    _check(session, format)
    said = dict(options or {})
    if format != ORIGINAL and registry.get(format).SPEC.always_signed:
        said.pop("signed", None)
        _check_key()
    chosen = export_options.settled(format, said)
    if chosen.get("signed"):
        _check_signing(session, format, children=bool(chosen.get("children")))
    return chosen


def _tell(export: Export, by: audit.Actor) -> None:
    """Into the audit log: who took what away, in which form, for whom, and against which missing grant (R100)."""
    options = dict(export.options)
    people = [f"{one['name']} ({one['fingerprint'][:16]})" for one in options.pop("encrypt_for", ())]
    redistribution = legal_basis.handing_on(legal_basis.of(export.session, timezone.now()))
    told = {
        "signed": options.pop("signed", False),
        "encrypted_for": people,
        "options": options,
        "redistribution": redistribution if redistribution != "granted" else "",
    }
    audit.record(
        export.workspace_id, by, "session.exported", subject=("session", export.session_id), format=export.format,
        **{name: value for name, value in told.items() if value},
    )  # fmt: skip


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
    return [name for name, format in sorted(registry.writers().items()) if _can_sign(format, ours)]


def _can_sign(format: registry.Format, ours: Signer) -> bool:
    return isinstance(format, SigningWriter) and format.signs_with(ours)


def _check_signing(session: Session, format: str, *, children: bool) -> None:
    """Only what has ended is signed (draft-birkholz-verifiable-agent-conversations s6.1)."""
    ours = _check_key()
    if format == ORIGINAL or not _can_sign(registry.get(format), ours):
        names = ", ".join(signed_formats()) or "none"
        raise CannotExport(
            f"{format} has no signed form for a key with {ours.algorithm}; these have: {names}", "signed"
        )
    if goes_on(session) or (children and any(map(goes_on, descendants_of(session)))):
        raise CannotExport("this session still goes on; it can be signed when it has ended", "signed")


def _check_key() -> Signer:
    try:
        return own_keys.signer()
    except (BadKey, OSError) as error:
        raise CannotExport(f"the key that exports are signed with cannot be used: {error}", "signed") from None


def goes_on(session: Session) -> bool:
    """Is something still being added to the session?"""
    return session.phase == Session.Phase.ACTIVE or session.status == Session.Status.RUNNING


def _is_small(session: Session, format: str, chosen: dict[str, Any]) -> bool:
    link = sources.original(session) if _needs(format, "parts") else None
    packed = link.document.size if link else 0
    below = sum(one.event_count for one in descendants_of(session)) if chosen.get("children") else 0
    return format == ORIGINAL or (session.event_count + below <= INLINE_EVENTS and packed <= INLINE_BYTES)


def _identity(session: Session, format: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """The ids a file carries, the same each time this session is exported with the same content."""
    content = {"last_seq": session.last_seq, "content": _stamp(session, format, chosen)}
    before = Export.objects.filter(
        session=session,
        format__in=_formats_of_same_content(format),
        identity__last_seq=content["last_seq"],
        identity__content=content["content"],
    ).first()
    if before:
        return before.identity
    return {"created_at": timezone.now().isoformat(), **content, **_new_ids(format)}


def _stamp(session: Session, format: str, chosen: dict[str, Any]) -> str:
    """Of the choices that make another content; "" for the usual one. How a file is wrapped is none of them."""
    content = {name: value for name, value in chosen.items() if name not in export_options.FORMS}
    if not content:
        return ""
    told = {
        "options": content,
        "review": verdicts.of(session) if content.get("verdicts") else None,
        **(
            {"family": [(str(one.pk), one.last_seq) for one in descendants_of(session)]}
            if content.get("children")
            else {}
        ),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _formats_of_same_content(format: str) -> list[str]:
    """Names of the formats that carry the same uuid for a session: the vCon in a bundle is the one exported alone."""
    specs = [writer.SPEC for writer in registry.writers().values()]
    inner = next((spec.wraps for spec in specs if spec.name == format), "") or format
    return [format, *(spec.name for spec in specs if spec.name != format and inner in (spec.name, spec.wraps))]


def _needs(format: str, need: Need) -> bool:
    writer = registry.writers().get(format)  # none for the original, and for a format that is not installed any more
    return writer is not None and need in writer.SPEC.needs


def _new_ids(format: str) -> dict[str, str]:
    writer = registry.writers().get(format)
    new_uuid = writer.SPEC.new_uuid if writer else None
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    return {"uuid": new_uuid(timezone.now(), host, os.urandom(2)) if new_uuid else str(uuid7())}


def _filename(session: Session, format: str) -> str:
    if format == ORIGINAL:
        return originals.name_of(sources.original(session))
    stem = slugify(session.title)[:60] or "session"
    return f"{stem}-{str(session.id)[-6:]}{registry.get(format).SPEC.suffix}"


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
    losses = Losses()
    if target.parent.name == EXPORTS:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = target.with_name(f"{target.name}.{uuid4()}")  # two at once: each writes its own, the last one counts
        with aside.open("wb") as file:
            file.writelines(_chunks(export, losses))
        aside.replace(target)
    export.losses = losses.rows()
    export.size = target.stat().st_size
    export.status, export.progress = Export.Status.DONE, 1


def _chunks(export: Export, losses: Losses) -> Iterator[bytes]:
    session, chosen = export.session, export.options
    if export.format == ORIGINAL:
        return originals.chunks_of(sources.original(session))
    writer, options = _writing(session, export.format, chosen, export.identity)
    if _needs(export.format, "parts"):
        options["parts"] = bundle_parts.parts(export, goes_on=goes_on(session))
    if redacted_file.OPTION in chosen:
        chunks = redacted_file.written(export, writer, losses, options)
    else:
        events = _events(session, export.format, chosen, losses)
        chunks = writer.write(session_draft(session), events, losses, options=options)
    if chosen.get("signed"):
        content = writer.sign(b"".join(chunks), own_keys.signer(), timezone.now(), options)
        keys = export_options.public_keys(chosen)
        return iter([writer.encrypt(content, keys, options) if keys else content])
    return chunks


def _writing(
    session: Session, format: str, chosen: dict[str, Any], identity: dict[str, Any]
) -> tuple[Writer, dict[str, Any]]:
    """The format, and what its writer is told besides the session."""
    made_at, original = datetime.fromisoformat(identity["created_at"]), sources.original(session)
    options = {
        **export_options.full(format, chosen),
        **identity,
        "signed": bool(chosen.get("signed")),
        "created_at": made_at,
        "generated_at": made_at,
        "product_version": settings.VERSION,
        "origin": settings.SITE_URL,
        **_links(session),
        "document": original.document.sha256 if original else None,
        "costs": _costs(session) if _needs(format, "costs") else {},
        "review": verdicts.of(session) if chosen.get("verdicts") else None,
        "family": list(_family(session)) if chosen.get("children") and _needs(format, "family") else [],
    }
    return registry.writer(format), options


def _family(session: Session) -> Iterator[tuple[SessionDraft, LogEvents, dict[str, Any]]]:
    """The sessions that one started, and those that they did, with what a writer is told of each."""
    for child in descendants_of(session):
        own = {**_links(child), "costs": _costs(child), "parent": session_draft(child.parent).external_id}
        yield session_draft(child), LogEvents(child), own


def _events(session: Session, format: str, chosen: dict[str, Any], losses: Losses) -> Events:
    """The log that is written; sub-agents that are sessions of their own are in it only when they are asked for."""
    if chosen.get("children"):
        return LogEvents(session) if _needs(format, "family") else NestedEvents(session)
    if left := session.children.count():
        losses.lose("sub-agents", "they are sessions of their own, each with its own export", left)
    return LogEvents(session)


def _links(session: Session) -> dict[str, Any]:
    """Where people find the session and programs replay it: URLs, or paths while nobody has said our address."""
    desk, page = settings.SITE_URL.rstrip("/"), reverse("session-detail", args=[session.agent_id, session.pk])
    return {
        "session_url": f"{desk}{page}",
        "replay_url": f"{desk}/api/v1/sessions/{session.pk}/stream?after=0",
        "archived": session.status == Session.Status.ARCHIVED,
    }


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
        task_queue.enqueue(task_names.RUN_EXPORT, export_id)
    _forget(now - KEPT)
    return len(ids)


def _forget(before: datetime) -> None:
    folder = Path(settings.DATA_DIR) / EXPORTS
    for path in folder.iterdir() if folder.exists() else ():
        if path.stat().st_mtime < before.timestamp():
            path.unlink(missing_ok=True)
