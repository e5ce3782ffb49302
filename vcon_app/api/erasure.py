"""Deletion of sessions and imports, and the tombstones that remain."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api import sessions
from sessions_app.api.auth import IN_PATHS, admin
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, not_found
from sessions_app.api.schemas.common import Body, Signature
from sessions_app.models import Session
from sessions_app.models import Tombstone as Row
from sessions_app.queries.erasure import tombstone_of
from vcon_app.models import Import
from vcon_app.services.erasure import erasing
from vcon_app.services.trust import anchors, tombstones

from . import imports

router = Router(tags=["erasure"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    erasing.CannotErase: lambda error: Problem(409, str(error)),
    Session.DoesNotExist: lambda error: not_found("session"),  # somebody else was faster
    Import.DoesNotExist: lambda error: not_found("import"),
}
IN_PATHS["import_id"] = Import
Reason = Annotated[str, Field(max_length=tombstones.MAX_REASON)]
WHY = "why it is deleted; kept for good, with who asked and when. In the query or in the body"
WhyInAddress = Annotated[str, Query(max_length=tombstones.MAX_REASON, description=WHY)]
CHILDREN = "delete the sessions of its sub-agents, too; otherwise they stay. In the query or in the body"


class Erasure(Body):
    """Why something is deleted. It is kept for good, with who asked and when."""

    reason: Reason | None = None


class SessionErasure(Erasure):
    children: bool | None = Field(None, description=CHILDREN)


class Document(BaseModel):
    """A source document that was removed."""

    sha256: str
    bytes: int


class Tombstone(BaseModel):
    """What remains of something that was deleted: how much it was, who asked for it and why; signed."""

    id: UUID
    kind: Literal["session", "import"]
    subject: UUID = Field(description="of the session or import that is gone")
    counts: dict[str, int]
    documents: list[Document]
    last_seq: int | None
    last_link: str = Field(description="hash of the session's last event link, in hex; empty where there is none")
    reason: str
    by: str
    at: datetime
    digest: str = Field(description="SHA-256 of `statement`; the audit entry has it, too")
    statement: dict[str, Any] = Field(description="what is signed, as canonical JSON: sorted keys, no blanks, UTF-8")
    jws: str = Field(description="compact JWS with detached content (RFC 7515 appendix F)")
    signature: Signature

    @classmethod
    def from_row(cls, row: Row) -> Tombstone:
        state = tombstones.check(row, anchors.keyring(row.workspace_id).anchors)
        same = ("id", "kind", "counts", "documents", "last_seq", "last_link", "reason", "by", "at")
        return cls(
            **{name: getattr(row, name) for name in same},
            subject=row.subject_id,
            digest=tombstones.digest_of(row),
            statement=row.statement(),
            jws=row.signature,
            signature=Signature(state=state.state, signer=state.signer or None, detail=state.detail),
        )


# On the router of the desk: a second route of the same address would never be reached.
@sessions.router.delete("/sessions/{uuid:session_id}", auth=admin, response={204: None})
def delete_session(
    request: HttpRequest,
    session_id: UUID,
    reason: WhyInAddress = "",
    children: Annotated[bool, Query(description=CHILDREN)] = False,
    wanted: SessionErasure = SessionErasure(),  # noqa: B008
) -> HttpResponse:
    """Delete a session for good, with the files that nothing else was read from. What it cost stays in the totals, and
    a signed tombstone remains, see `GET /api/v1/tombstones/{subject_id}`.

    409 while its agent is at a turn, something is being written to it, or it is on hold.
    """
    session = sessions.session_read(request, session_id)
    together = children if wanted.children is None else wanted.children
    erasing.erase_session(session, by=request.auth.actor, reason=wanted.reason or reason, with_children=together)
    return HttpResponse(status=204)


@imports.router.delete("/imports/{uuid:import_id}", auth=admin, response={204: None})
def delete_import(
    request: HttpRequest,
    import_id: UUID,
    reason: WhyInAddress = "",
    wanted: Erasure = Erasure(),  # noqa: B008
) -> HttpResponse:
    """Delete an import for good, with its file, its repeats and the sessions that it made. Of a repeat (`duplicate_of`)
    only the repeat goes.

    409 while the file is being read, while one of its sessions is on hold or its agent is at a turn, and where another
    file added to one of its sessions, too.
    """
    imported = Import.objects.filter(workspace=request.auth.workspace, pk=import_id).first()
    if imported is None:
        raise not_found("import")
    erasing.erase_import(imported, by=request.auth.actor, reason=wanted.reason or reason)
    return HttpResponse(status=204)


@router.get("/tombstones/{uuid:subject_id}", auth=admin, response=Tombstone)
def read_tombstone(request: HttpRequest, subject_id: UUID) -> HttpResponse:
    """Return the tombstone of a session or an import that was deleted, by the id that it had."""
    row = tombstone_of(request.auth.workspace.id, subject_id)
    if row is None:
        raise not_found("tombstone")
    return reply(Tombstone.from_row(row))
