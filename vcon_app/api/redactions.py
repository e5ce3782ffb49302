"""Sessions out, without what must not leave: redacted vCons."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import own_viewer, own_writer
from sessions_app.api.idempotency import once
from sessions_app.api.paging import Cursor, Limit, Page, keyset
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, invalid, not_found
from sessions_app.api.schemas.common import NOTHING, Body, NoBody
from sessions_app.api.sessions import session_read
from sessions_app.live.threads import in_thread, release
from vcon_app import models
from vcon_app.queries import redactions as queries
from vcon_app.services.exports import export_options, redactions
from vcon_app.services.redaction import redaction_rules
from vcon_app.services.trust import recipients
from vcon_app.views.downloads import attachment

router = Router(tags=["redactions"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    redaction_rules.BadRule: lambda error: invalid(error.pointer, str(error)),
    redactions.NotReady: lambda error: Problem(409, str(error)),
}
SEQ = 2**31 - 1


class Rule(Body):
    """What to remove. ``event`` and ``text`` need ``seq``, ``attachment`` and ``analysis`` ``index``, ``containing``
    ``words``; ``arguments`` and ``result`` without ``seq`` mean all of them.
    """

    what: Annotated[str, Field(max_length=40, description=", ".join(redaction_rules.NEEDS))]
    seq: Annotated[int, Field(ge=1, le=SEQ)] | None = None
    index: Annotated[int, Field(ge=0, le=SEQ, description="of an attachment or an analysis in the file")] | None = None
    words: (
        Annotated[
            str,
            Field(
                max_length=redaction_rules.LONGEST, description="every place that contains them; at least 2 characters"
            ),
        ]
        | None
    ) = None


class NewRedaction(Body):
    type: Annotated[
        str, Field(max_length=redactions.LONGEST_TYPE, description='what the file says it is, such as "PII Redaction"')
    ]
    remove: Annotated[list[Rule], Field(max_length=redaction_rules.MOST)]
    signed: bool = False
    encrypt_for: Annotated[
        list[str], Field(max_length=50, description="ids of trust anchors with RSA keys; the file is signed first")
    ] = []
    accept: Annotated[bool, Field(description="make it ready even if removed words are still found in it")] = False


class Leak(BaseModel):
    """A place in the file that still says what was removed."""

    pointer: str
    seq: int | None = Field(description="the event at this place; null: it is in none")
    words: str
    source: str = Field(description="where it was removed: the seq of an event, or a part of the whole")
    rule: Rule | None = Field(
        description="the rule that removes this place, too; null: none does, it can only be accepted"
    )


class Redaction(BaseModel):
    """A redacted vCon. ``held``: removed words are still in it (``leaks``) or were not all looked for (``unchecked``):
    accept it, or make another one that removes more.
    """

    id: UUID
    session_id: UUID
    type: str
    status: Literal["writing", "failed", "held", "ready"]
    remove: list[Rule]
    removed: dict[str, int] = Field(description="how often each kind was removed")
    leaks: list[Leak] = Field(description="the first 200 of them")
    leak_count: int
    unchecked: int = Field(description="removed lines that were not looked for, as there were too many")
    accepted_by: str | None
    export_id: UUID
    uuid: str = Field(description="of the vCon")
    filename: str
    size: int | None
    download: str | None = Field(description="path of the file; null until it is ready")
    error: str | None
    created_at: datetime

    @classmethod
    def from_row(cls, one: models.Redaction) -> Redaction:
        """Reads the export: join it."""
        export, status = one.export, redactions.state_of(one)
        same = ("id", "session_id", "type", "leak_count", "unchecked", "created_at", "export_id")
        return cls(
            **{name: getattr(one, name) for name in same},
            status=status,
            remove=[Rule(**rule) for rule in one.rules],
            removed=one.counts,
            leaks=[Leak(**leak) for leak in one.leaks],
            accepted_by=one.accepted_by or None,
            uuid=export.identity["uuid"],
            filename=export.filename,
            size=export.size,
            download=f"/api/v1/sessions/{one.session_id}/redactions/{one.pk}/file" if status == "ready" else None,
            error=export.error,
        )


@router.post("/sessions/{uuid:session_id}/redactions", auth=own_writer, response={201: Redaction})
@once
def create_redaction(request: HttpRequest, session_id: UUID, redaction: NewRedaction) -> HttpResponse:
    """Make a vCon of the session without what `remove` names, and check that what was removed is nowhere in it.

    A worker writes the file of a large session: `status` is then `writing`. 422 for a rule that cannot be followed.
    """
    session = session_read(request, session_id)
    rules = [rule.model_dump(exclude_none=True) for rule in redaction.remove]
    try:
        readers = recipients.recipients_named(request.auth.workspace.id, redaction.encrypt_for)
        made = redactions.make(
            session, rules, redaction.type, by=request.auth.actor, signed=redaction.signed, encrypt_for=readers
        )
    except export_options.CannotExport as error:
        raise invalid(f"/{error.parameter}", str(error)) from None
    except recipients.NoRecipient as error:
        raise invalid("/encrypt_for", str(error)) from None
    if redaction.accept and redactions.state_of(made) == "held":
        redactions.accept(made, by=request.auth.actor)
    return reply(Redaction.from_row(made), 201)


@router.get("/sessions/{uuid:session_id}/redactions", auth=own_writer, response=Page[Redaction])
def list_redactions(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the redacted vCons of a session, newest first."""
    found = queries.finished_redactions(session_read(request, session_id).pk)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[Redaction.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/sessions/{uuid:session_id}/redactions/{uuid:redaction_id}", auth=own_writer, response=Redaction)
def read_redaction(request: HttpRequest, session_id: UUID, redaction_id: UUID) -> HttpResponse:
    """Return a redaction; ask again while its `status` is `writing`."""
    return reply(Redaction.from_row(_read(request, session_id, redaction_id)))


@router.post("/sessions/{uuid:session_id}/redactions/{uuid:redaction_id}/accept", auth=own_writer, response=Redaction)
def accept_redaction(
    request: HttpRequest, session_id: UUID, redaction_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:
    """Accept a held redaction as it is: it becomes `ready`. A ready one is left as it is; 409 for any other."""
    found = _read(request, session_id, redaction_id)
    redactions.accept(found, by=request.auth.actor)
    return reply(Redaction.from_row(_read(request, session_id, redaction_id)))


@router.get(
    "/sessions/{uuid:session_id}/redactions/{uuid:redaction_id}/file",
    auth=own_viewer,
    openapi_extra={"responses": {200: {"description": "the file", "content": {"application/vcon": {}}}}},
)
async def redaction_file(request: HttpRequest, session_id: UUID, redaction_id: UUID) -> StreamingHttpResponse:
    """Return the file of a redaction. 409 unless it is `ready`."""
    await release()
    export, file = await in_thread(_opened, request, session_id, redaction_id)
    response = attachment(file, export.filename, export.size, export_options.media_types(export.format)[0])
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _opened(request: HttpRequest, session_id: UUID, redaction_id: UUID) -> tuple[models.Export, Any]:
    found = _read(request, session_id, redaction_id)
    file = redactions.open_file(found)
    return found.export, file


def _read(request: HttpRequest, session_id: UUID, redaction_id: UUID) -> models.Redaction:
    session = session_read(request, session_id)
    found = queries.finished_redaction(request.auth.workspace.id, session.pk, redaction_id)
    if found is None:
        raise not_found("redaction")
    return found
