"""The bytes of an exported file: what the writer of its format is given, and what becomes of what it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Session
from vcon_app.drafts import Events, Losses, SessionDraft
from vcon_app.formats.contract import EncryptingWriter, SigningWriter, Writer
from vcon_app.models import Export
from vcon_app.queries.log_reader import LogEvents, session_draft

from ..documents import originals
from ..redaction import redacted_file
from ..shares import shared_page
from ..trust import own_keys
from . import bundle_parts, recorded
from .job import ExportJob
from .sub_agents import NestedEvents


def file_chunks(job: ExportJob, export: Export, losses: Losses) -> Iterator[bytes]:
    """The finished file of an export, in pieces: signed and encrypted where that was chosen."""
    if job.writer is None:
        assert job.original is not None  # only a session that was read from a file can be exported as it came
        return originals.chunks_of(job.original)
    options = writer_options(job)
    if job.needs("parts"):
        options["parts"] = bundle_parts.parts_of(job, export)
    if redacted_file.OPTION in job.chosen:
        chunks = redacted_file.redacted_chunks(export, job.writer, losses, options)
    elif shared_page.OPTION in job.chosen:
        chunks = shared_page.page_chunks(export, job.writer, losses, options)
    else:
        chunks = _written(job, job.writer, losses, options | _as_it_is(job))
    if not job.is_signed:
        return chunks
    # a signature is over the whole, so a signed file is held in memory
    content = cast(SigningWriter, job.writer).sign(b"".join(chunks), own_keys.signer(), timezone.now(), options)
    if job.recipients:
        content = cast(EncryptingWriter, job.writer).encrypt(content, job.recipients, options)
    return iter([content])


def count_losses(job: ExportJob) -> Losses:
    """What the format cannot carry of the session. The file is written to nowhere, for writers count as they write."""
    losses = Losses()
    if job.writer is not None:
        for _ in _written(job, job.writer, losses, writer_options(job) | _as_it_is(job)):
            pass
    return losses


def writer_options(job: ExportJob) -> dict[str, Any]:
    """What a writer is given besides the session and its events; ``contract.Writer.write`` says what each key is."""
    return {
        **job.options,
        **job.identity,
        "signed": job.is_signed,
        "created_at": job.made_at,
        "generated_at": job.made_at,
        "product_version": settings.VERSION,
        "origin": settings.SITE_URL,
        **_links(job.session),
        "document": job.original.document.sha256 if job.original else None,
        "costs": _costs(job.session) if job.needs("costs") else {},
        "review": job.review,
        "family": list(_family(job)) if job.needs("family") else [],
        **(_graph_of(job.session) if job.needs("graph") else {}),
    }


def _as_it_is(job: ExportJob) -> dict[str, Any]:
    """For what leaves as it is alone: the original and its name know nothing of what a redaction removed."""
    if (original := job.original) is None:
        return {}
    archive = original.imported.filename if original.member else ""
    named = {"name": originals.name_of(original), "archive": archive, "sha256": original.document.sha256}
    if not job.needs("long_values"):
        return {"read_from": named}
    return {"read_from": named, "long_values": originals.LongValues(original, job.session.source_format)}


def _graph_of(session: Session) -> dict[str, Any]:
    """What was recorded beside the log, and what allowed the session."""
    return {
        "recorded": recorded.recorded_of([session])[session.pk],
        "traced": recorded.traced_of([session])[session.pk],
    }


def _written(job: ExportJob, writer: Writer, losses: Losses, options: dict[str, Any]) -> Iterator[bytes]:
    return writer.write(session_draft(job.session), _events(job, losses), losses, options=options)


def _family(job: ExportJob) -> Iterator[tuple[SessionDraft, LogEvents, dict[str, Any]]]:
    """Each sub-agent with a session of its own, for formats that hold several: draft, events, options of its own."""
    for child in job.descendants:
        assert child.parent is not None  # it was found as somebody's child
        own = {**_links(child), "costs": _costs(child), "parent": session_draft(child.parent).external_id}
        own |= _graph_of(child) if job.needs("graph") else {}
        yield session_draft(child), LogEvents(child), own


def _events(job: ExportJob, losses: Losses) -> Events:
    """The log that is written; sub-agents that are sessions of their own are in it only when they are asked for."""
    if job.chosen.get("children"):
        return LogEvents(job.session) if job.needs("family") else NestedEvents(job.session)
    if left := job.session.children.count():
        losses.lose("sub-agents", "they are sessions of their own, each with its own export", left)
    return LogEvents(job.session)


def _links(session: Session) -> dict[str, Any]:
    """Where people find the session and programs replay it: URLs, or paths while nobody has said our address."""
    desk, page = settings.SITE_URL.rstrip("/"), reverse("session-detail", args=[session.agent_id, session.pk])
    return {
        "session_url": f"{desk}{page}",
        "replay_url": f"{desk}/api/v1/sessions/{session.pk}/stream?after=0",
        "archived": session.status == Session.Status.ARCHIVED,
    }


def _costs(session: Session) -> dict[int, dict[str, Any]]:
    """What the turns cost in US dollars, as the desk shows it, by number of the turn."""
    return {
        turn.index: {"amount": turn.cost_amount, "unpriced_tokens": turn.unpriced_tokens}
        for turn in session.turns.order_by("index")
    }
