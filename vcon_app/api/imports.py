"""Files in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import File, Form, Query, Router
from ninja.files import UploadedFile
from pydantic import BaseModel, Field

from sessions_app.api.auth import reader, writer
from sessions_app.api.idempotency import once
from sessions_app.api.paging import Cursor, Limit, Page, keyset
from sessions_app.api.parsing import refuse_unknown_fields, reply
from sessions_app.api.problems import Problem, invalid, not_found
from sessions_app.api.schemas.common import LONGEST_NAME, Signature
from sessions_app.models import Agent, Workspace
from sessions_app.queries.waiting import Place
from vcon_app import models
from vcon_app.queries import imports as queries
from vcon_app.queries import job_places
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs, store_logs

router = Router(tags=["imports"])
InStatus = Annotated[Literal["open", "done", "failed"] | None, Query(description="open: queued or running")]
OfBatch = Annotated[UUID | None, Query(description="only imports that were sent with this `batch`")]
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    documents.TooLarge: lambda error: invalid("/file", str(error), status=413),
    import_jobs.UnknownFormat: lambda error: invalid("/format", str(error)),
    store_logs.NotReadable: lambda error: invalid("/log", str(error)),
}
NOT_READ = Signature(state="uncheckable", signer=None, detail="the file has not been read")


class ImportFinding(BaseModel):
    rule: str
    severity: Literal["error", "warning", "info"]
    path: str
    message: str


class Member(BaseModel):
    """A file in an archive, and what it gave to a session."""

    name: str
    session: UUID
    events: int
    signature: Signature


class Import(BaseModel):
    """A file that was taken in, and what came of it."""

    id: UUID
    status: Literal["queued", "running", "done", "failed"]
    progress: float = Field(description="0 to 1")
    filename: str
    sha256: str = Field(description="of the file, in hex")
    size: int = Field(description="of the file, in bytes")
    format: str | None = Field(description="null until it is recognised")
    duplicate_of: UUID | None = Field(description="the import of the same bytes that was made before; null: none")
    sessions: list[UUID]
    members: list[Member] = Field(description="of an archive: which of its files added events to which session")
    events: int = Field(description="events that this import added")
    findings: list[ImportFinding]
    signature: Signature
    waiting_for: str | None = Field(description="why it was put back; it goes on by itself. null: it was not")
    queued_behind: int | None = Field(
        description="how many tasks of the same sender come before it, up to 500; tasks of others come in between. "
        "null: it is not in line"
    )
    error: str | None
    batch_id: UUID | None = Field(description="shared by files that were sent as one batch")
    folder: str = Field(description="where the file lay in the folder that was sent; empty where it was not said")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def from_row(cls, imported: models.Import, place: Place | None = None) -> Import:
        """Reads the document and ``session_links``: join and prefetch them for a list."""
        same = ("id", "status", "progress", "filename", "events", "findings", "error", "created_at", "started_at",
                "finished_at", "batch_id", "folder")  # fmt: skip
        links = sorted(imported.session_links.all(), key=lambda link: link.id)
        return cls(
            **{name: getattr(imported, name) for name in same},
            sha256=imported.document.sha256,
            waiting_for=imported.waiting_for or None,
            queued_behind=place.before if place else None,
            size=imported.document.size,
            format=imported.format or None,
            duplicate_of=imported.duplicate_of_id,
            sessions=list(dict.fromkeys(link.session_id for link in links)),
            members=[_member(link) for link in links if link.member],
            signature=_signature(imported.signature | _covered(links)),
        )


@router.post("/imports", auth=writer, response={202: Import})
@once
def create_import(
    request: HttpRequest,
    file: File[UploadedFile],
    agent: Form[str] = "",
    format: Form[str] = import_jobs.AUTO,
    batch: Form[UUID | None] = None,
    folder: Form[str] = "",
    log: Annotated[UploadedFile | None, File()] = None,
) -> HttpResponse:
    """Import a file, or an archive of files; a worker reads it. `agent` is a name or an id (a name that does not exist
    makes an agent; without it the file says whose sessions they are). `format` is recognised when it is left out.

    With a SQLite file send as `log` the file beside it whose name ends with `-wal`: it has the newest rows while the
    agent runs. Files that belong together are sent with the same `batch` (a UUID of yours); `folder` says where the
    file lay. A file that was imported before is not read again: `duplicate_of` names its first import.

    413 for a file that is larger than this installation takes; 422 for an unknown format or agent id.
    """
    refuse_unknown_fields(request, files=("file", "log"), texts=("agent", "format", "batch", "folder"))
    workspace = request.auth.workspace
    if (sent := len(request.FILES.getlist("file"))) > 1:
        raise invalid("/file", f"{sent} files were sent and an import is of one; send each by itself, or a zip of them")
    imported = import_jobs.start_import(
        workspace,
        file.name or "unnamed",
        store_logs.merged_chunks(file, log) if log else file.chunks(),
        by=request.auth.actor,
        agent=_agent(workspace, agent),
        format=format or import_jobs.AUTO,
        batch=batch,
        folder=folder,
    )
    return reply(_shown([imported])[0], 202)


@router.get("/imports", auth=reader, response=Page[Import])
def list_imports(
    request: HttpRequest,
    limit: Limit,
    cursor: Cursor,
    status: InStatus = None,
    batch: OfBatch = None,
) -> HttpResponse:
    """List the imports of the workspace, newest first."""
    wanted = queries.ImportFilter(status or "", batch)
    rows, next_cursor = keyset(queries.passing(_found(request.auth.workspace), wanted), "id", limit, cursor, UUID)
    return reply(Page(items=_shown(rows), next_cursor=next_cursor))


@router.get("/imports/{uuid:import_id}", auth=reader, response=Import)
def read_import(request: HttpRequest, import_id: UUID) -> HttpResponse:
    """Return an import; ask again until `status` is done or failed."""
    imported = _found(request.auth.workspace).filter(pk=import_id).first()
    if imported is None:
        raise not_found("import")
    return reply(_shown([imported])[0])


def _shown(rows: Sequence[models.Import]) -> list[Import]:
    """Imports of one workspace, with their places in line."""
    places = job_places.places(rows[0].workspace_id, rows) if rows else {}
    return [Import.from_row(row, places.get(row.pk)) for row in rows]


def _member(link: models.ImportedSession) -> Member:
    return Member(name=link.member, session=link.session_id, events=link.events, signature=_signature(link.signature))


def _signature(stored: dict[str, Any]) -> Signature:
    return Signature(**stored) if stored else NOT_READ


def _covered(links: list[models.ImportedSession]) -> dict[str, Any]:
    """What the signature of the document covers: numbers of events mean something in one session alone."""
    covers = links[0].signature.get("covers") if len(links) == 1 else None
    return {"covers": covers} if covers else {}


def _found(workspace: Workspace) -> QuerySet[models.Import]:
    found = models.Import.objects.filter(workspace=workspace)
    return found.select_related("document").prefetch_related("session_links")


def _agent(workspace: Workspace, named: str) -> Agent | str | None:
    """By id, else the name as it was given. None leaves it to the file."""
    if not named.strip():
        return None
    if len(named.strip()) > LONGEST_NAME:
        raise invalid("/agent", f"has {len(named.strip()):,} characters; use at most {LONGEST_NAME}")
    try:
        id_ = UUID(named)
    except ValueError:
        return named.strip()
    found = Agent.objects.filter(workspace=workspace, pk=id_).first()
    if found is None:
        raise invalid("/agent", f"there is no agent {named} in this workspace; a name would make one")
    return found
