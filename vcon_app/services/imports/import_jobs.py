"""Import rows, the first of three steps: started at once, then claimed by a worker, who reads all of it or nothing.

``document_importer`` reads the document of a claimed row, ``file_importer`` each file in it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import chain
from pathlib import PurePosixPath
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Agent, Workspace
from sessions_app.services import agents, audit, fair_queue, task_queue
from sessions_app.services.log.sanitise import text
from vcon_app import registry
from vcon_app.drafts import FormatError, Signature
from vcon_app.formats.common import zips
from vcon_app.formats.common.encodings import zstandard
from vcon_app.models import Import, ImportedSession

from .. import import_notices, memory, task_names
from ..documents import documents, jobs
from ..documents.jobs import Heartbeat, what_to_wait_for
from ..trust import signatures
from . import companions
from .claims import BeginAgain, Claims, end_holders
from .document_importer import DocumentImporter, Superseded

log = logging.getLogger(__name__)

BIG_BYTES = 5_000_000
"""A transcript of 5 MB has about 2,000 lines and is read in a second; larger ones do not hold smaller ones."""
GZIP, UNPACKED = b"\x1f\x8b", 10
"""What is packed weighs about a tenth: transcripts are text, much of it said again."""
AUTO = "auto"


class UnknownFormat(ValueError):
    """The format asked for is none of those that can be read."""


@transaction.atomic
def start_import(
    workspace: Workspace,
    filename: str,
    chunks: Iterable[bytes],
    *,
    by: audit.Actor,
    agent: Agent | str | None = None,
    format: str = AUTO,
    batch: UUID | None = None,
    folder: str = "",
) -> Import:
    """Keep the bytes, write the row, enqueue its task. Raises ``documents.TooLarge``, ``UnknownFormat``.

    ``batch`` is shared by files that came at once, ``folder`` says where the file lay among them.

    Bytes that were imported before are the same import: the row says so and nothing is read again. ``agent`` is one, or
    the name of one, which is made where there is none; None leaves it to the file.
    """
    if format != AUTO and format not in registry.readers():
        raise UnknownFormat(f'"{format}" is not a format; use auto or one of {", ".join(sorted(registry.readers()))}')
    if isinstance(agent, str):
        agent = agents.get_or_create_agent(workspace.id, agent)
    incoming = iter(chunks)
    head = next(incoming, b"")
    document = documents.store(workspace, chain([head], incoming))
    new = Import(
        workspace=workspace,
        document=document,
        agent=agent,
        filename=clean_filename(filename),
        format_asked=format,
        batch_id=batch,
        folder=clean_folder(folder),
        requested_by=by.name,
        requester=fair_queue.person(by),
        big=_is_big(document.size, head),
    )
    before = _done_before(new)
    if before:
        _repeat(new, before)
    else:
        new.save()
        task_queue.enqueue(task_names.RUN_IMPORT, new.id, jobs.line_of(new))
    audit.record(
        workspace.id, by, "import.started", subject=("import", new.id), filename=new.filename, sha256=document.sha256
    )
    return new


def _is_big(size: int, head: bytes) -> bool:
    """Whether a file waits with those that take long, by its size and its first bytes."""
    packed = head[:4] in zips.MAGIC or head.startswith((GZIP, zstandard.MAGIC))
    return size > (BIG_BYTES // UNPACKED if packed else BIG_BYTES)


def clean_filename(name: str) -> str:
    """The last part of a path, without what cannot be seen or turns text around; for display, never to open a file."""
    last = PurePosixPath(name.replace("\\", "/")).name
    shown = "".join(character for character in last if character.isprintable()).strip()[:255]
    return shown if shown.strip(".") else "unnamed"


def clean_folder(path: str) -> str:
    """The folders of a path, each as ``clean_filename`` gives it; for display, never to open a file."""
    return "/".join(clean_filename(part) for part in path.split("/") if part)[:1_000]


def _done_before(new: Import) -> Import | None:
    same = Import.objects.filter(document=new.document, status=Import.Status.DONE, duplicate_of=None)
    if new.format_asked != AUTO:
        same = same.filter(format=new.format_asked)
    if companions.is_companion(new.filename):  # the same words about another sub-agent: its name is in the file's
        same = same.filter(filename=new.filename)
    return same.order_by("created_at").first()


def _repeat(new: Import, before: Import) -> None:
    new.status, new.progress, new.duplicate_of = Import.Status.DONE, 1, before
    new.format, new.findings = before.format, before.findings
    new.signature, new.checked_against = before.signature, before.checked_against
    new.finished_at = timezone.now()
    new.save()
    ImportedSession.objects.bulk_create(
        ImportedSession(
            imported=new,
            session_id=link.session_id,
            document_id=link.document_id,
            member=link.member,
            signature=link.signature,
        )  # fmt: skip
        for link in before.session_links.all()
    )


def run(import_id: UUID) -> None:
    """Read one import, if nobody else is at it. May be called any number of times for the same row.

    A file that cannot be read is a failed import. When the database goes away the row stays running, when the disk is
    full or the storage is away it waits: ``sweep`` enqueues both again, and nothing of the attempt was committed.
    """
    imported = _claim(import_id)
    if imported is None:
        return
    with Heartbeat(Import, import_id) as heartbeat:
        try:
            read(imported, heartbeat)
        except FormatError as error:
            _fail(imported, str(error), error.signature)
        except Superseded:
            log.warning("import %s was taken over by another worker", import_id)
        except Exception as error:  # of a hostile file: it is stored as the reason, and never tried for ever
            if why := what_to_wait_for(error):
                log.warning("import %s was put back: %s", import_id, error)
                jobs.put_back(imported, why)
                return
            if jobs.is_transient(error):
                raise
            log.exception("import %s failed", import_id)
            _fail(imported, f"a fault of ours while reading it ({type(error).__name__}); the bytes are kept")
        finally:
            memory.give_back(imported.document.size)
    _enqueue_same(imported)


def read(imported: Import, heartbeat: Heartbeat) -> None:
    """Read a claimed import, all of it or nothing. Raises ``FormatError`` for what cannot be read, ``Superseded``."""
    claims, done = Claims(imported.workspace_id, imported.pk), False
    while not done:
        try:
            with transaction.atomic():
                claims.take()
                _import(imported, heartbeat, claims)
            done = True
        except BeginAgain:
            log.debug("import %s begins again: another one holds what it needs", imported.pk)


def _import(imported: Import, heartbeat: Heartbeat, claims: Claims) -> None:
    if before := _done_before(imported):  # the same bytes came twice before the first was done
        _repeat(imported, before)
    else:
        DocumentImporter(imported, heartbeat, claims).run()


@transaction.atomic
def _claim(import_id: UUID) -> Import | None:
    now = timezone.now()
    # the same bytes are read by one at a time: the next one finds them done, and is their duplicate
    found = Import.objects.select_for_update(no_key=True, of=("document",)).select_related("document", "agent")
    imported = found.filter(jobs.claimable(now), pk=import_id).first()
    if imported is None:
        return None
    seen = Import.objects.filter(pk=import_id, attempt=imported.attempt, status=imported.status)
    if imported.status == Import.Status.RUNNING and seen.exists():
        end_holders(import_id)
    same = Import.objects.filter(document=imported.document_id, status=Import.Status.RUNNING).exclude(pk=import_id)
    if same.exclude(jobs.claimable(now)).exists():
        return None
    if why := jobs.room_to_wait_for(imported.document.size):
        Import.objects.filter(pk=import_id).update(waiting_for=why, heartbeat_at=now, status=Import.Status.QUEUED)
        return None
    # of two workers that saw the same row one finds its attempt and status as they were; the number of the attempt
    # also tells a worker that was taken for dead that another one has begun (Superseded)
    claimed = seen.update(
        status=Import.Status.RUNNING,
        attempt=imported.attempt + 1,
        heartbeat_at=now,
        started_at=imported.started_at or now,
        progress=0,
        waiting_for="",
    )
    if not claimed:
        return None
    imported.attempt += 1
    if imported.attempt > jobs.MAX_ATTEMPTS:
        _fail(imported, f"{jobs.GIVEN_UP}; the bytes are kept")
        return None
    return imported


def _enqueue_same(imported: Import) -> None:
    """Enqueue the imports of the same bytes that waited while this one was read."""
    waiting = Import.objects.filter(document=imported.document_id, status=Import.Status.QUEUED, waiting_for="")
    for other in waiting.only("workspace_id", "requester", "big").order_by("pk"):
        task_queue.enqueue(task_names.RUN_IMPORT, other.pk, jobs.line_of(other))


def _fail(imported: Import, reason: str, signature: Signature | None = None) -> None:
    mine = Import.objects.filter(pk=imported.pk, attempt=imported.attempt, status=Import.Status.RUNNING)
    mine.update(
        status=Import.Status.FAILED,
        error=text(f"{imported.filename}: {reason}"),
        signature=signatures.signature_columns(signature) if signature else {},
        finished_at=timezone.now(),
    )
    import_notices.import_changed(imported.pk)


def sweep() -> int:
    """Enqueue again the imports that lost their message or their worker; how many."""
    return jobs.sweep(Import, task_names.RUN_IMPORT)
