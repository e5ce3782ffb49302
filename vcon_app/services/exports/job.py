"""One export as a value: the session, what was chosen, and everything the file is made of, fetched once."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from django.conf import settings
from django.utils import timezone
from django.utils.text import slugify

from sessions_app.ids import uuid7
from sessions_app.models import Session
from vcon_app import registry
from vcon_app.formats.contract import Need, Writer
from vcon_app.models import Export, ImportedSession
from vcon_app.queries import log_reader, sources, verdicts

from ..documents import originals
from . import export_options, recorded
from .sub_agents import descendants_of


@dataclass(frozen=True, slots=True)
class ExportJob:
    """What one file is made of; nothing of it is asked for again while the file is written."""

    session: Session
    format: str
    writer: Writer | None
    """None for the original, which no format writes."""
    chosen: dict[str, Any]
    """The options that are not the default, as ``Export.options`` keeps them."""
    options: dict[str, Any]
    """Every option of the format, with the default of those that were not chosen."""
    recipients: list[RSAPublicKey]
    """Who alone can read the file; empty when everybody can."""
    original: ImportedSession | None
    """The file that the session was read from."""
    descendants: tuple[Session, ...]
    """Sub-agents with sessions of their own, at every depth; empty unless the option ``children`` was chosen."""
    review: dict[str, Any] | None
    """What reviewers said; None unless the option ``verdicts`` was chosen."""
    identity: dict[str, Any]
    """``uuid``, ``created_at`` (ISO 8601) and what they were given for: ``last_seq`` and a hash of the choices."""

    @property
    def made_at(self) -> datetime:
        """When this content was exported first: exported again, it is the same file to the byte."""
        return datetime.fromisoformat(self.identity["created_at"])

    @property
    def is_signed(self) -> bool:
        return bool(self.chosen.get("signed"))

    @property
    def goes_on(self) -> bool:
        return export_options.goes_on(self.session)

    @property
    def event_count(self) -> int:
        return self.session.event_count + sum(child.event_count for child in self.descendants)

    @property
    def packed_bytes(self) -> int:
        """Of the document that is packed into the file beside the session (a bundle); 0 where none is."""
        return self.original.document.size if self.original and self.needs("parts") else 0

    @property
    def stored_document(self) -> str:
        """SHA-256 of the document that is itself the file, so that nothing has to be written; else empty."""
        if self.writer is None and self.original is not None and not self.original.member:
            return self.original.document.sha256
        return ""

    @property
    def filename(self) -> str:
        if self.writer is None:
            assert self.original is not None  # only a session that was read from a file can be exported as it came
            return originals.name_of(self.original)
        # titles of sessions repeat; the last 6 digits of a UUID v7 are random
        stem = slugify(self.session.title)[:60] or "session"
        return f"{stem}-{str(self.session.id)[-6:]}{self.writer.SPEC.suffix}"

    def needs(self, need: Need) -> bool:
        """Whether the format declares that its writer takes this."""
        return self.writer is not None and need in self.writer.SPEC.needs


def new_job(session: Session, format: str, chosen: dict[str, Any]) -> ExportJob:
    """A job that was not asked for before, under the ids that an earlier export of the same content carries."""
    job = _job(session, format, chosen, {})
    return replace(job, identity=_identity(job))


def job_of(export: Export) -> ExportJob:
    """The job that a row keeps. Raises ``registry.UnknownFormat`` when its format is not installed any more."""
    return _job(export.session, export.format, export.options, export.identity)


def _job(session: Session, format: str, chosen: dict[str, Any], identity: dict[str, Any]) -> ExportJob:
    return ExportJob(
        session=session,
        format=format,
        writer=None if format == export_options.ORIGINAL else registry.writer(format),
        chosen=chosen,
        options=export_options.with_defaults(format, chosen),
        recipients=export_options.public_keys(chosen),
        original=sources.original_of(session),
        descendants=tuple(descendants_of(session)) if chosen.get("children") else (),
        review=verdicts.verdicts_of(session) if chosen.get("verdicts") else None,
        identity=identity,
    )


def _identity(job: ExportJob) -> dict[str, Any]:
    """The ids of the file: those of an earlier export with the same events and choices, else new ones."""
    content = {"last_seq": job.session.last_seq, "content": _content_hash(job)}
    before = Export.objects.filter(
        session=job.session,
        format__in=_formats_of_same_content(job.format),
        identity__last_seq=content["last_seq"],
        identity__content=content["content"],
    ).first()
    if before:
        return before.identity
    if uuid := _uuid_of_original(job):
        return {"created_at": timezone.now().isoformat(), **content, "uuid": uuid}
    now = timezone.now()
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    new_uuid = job.writer.SPEC.new_uuid if job.writer else None
    uuid = new_uuid(now, host, os.urandom(2)) if new_uuid else str(uuid7())
    return {"created_at": now.isoformat(), **content, "uuid": uuid}


def _uuid_of_original(job: ExportJob) -> str:
    """The id of the file that the session was read from, while the session is all that is in it and it alone.

    What was added here, or chosen to be left out or put in, makes another record, which says from what it was made.
    """
    if job.writer is None or (original := job.original) is None:
        return ""
    inner = registry.writer(job.writer.SPEC.wraps or job.writer.SPEC.name).SPEC
    if inner.same_record is None or job.session.source_format != inner.name:
        return ""
    is_whole = original.first_seq == 1 and original.last_seq == job.session.last_seq
    content = job.chosen.keys() - {*export_options.FORMS, "faithful"}
    if content or not is_whole or original.imported.session_links.count() != 1:
        return ""
    return inner.same_record(log_reader.session_draft(job.session))


def _formats_of_same_content(format: str) -> list[str]:
    """Names of the formats that carry the same uuid for a session: the vCon in a bundle is the one exported alone."""
    specs = [writer.SPEC for writer in registry.writers().values()]
    inner = next((spec.wraps for spec in specs if spec.name == format), "") or format
    return [format, *(spec.name for spec in specs if spec.name != format and inner in (spec.name, spec.wraps))]


def _content_hash(job: ExportJob) -> str:
    """SHA-256 of the choices that make another content; empty for the usual one.

    How a file is signed or encrypted is none of them: a signed vCon and its unsigned form are one vCon (core s4.1.2).
    """
    options = {name: value for name, value in job.chosen.items() if name not in export_options.FORMS}
    graph = recorded.mark_of(job.session) if job.needs("graph") else []
    if not options and not graph:
        return ""
    content: dict[str, Any] = {"options": options, "review": job.review, **({"graph": graph} if graph else {})}
    if job.chosen.get("children"):
        content["family"] = [(str(child.pk), child.last_seq) for child in job.descendants]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
