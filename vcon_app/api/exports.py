"""Sessions out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import own_viewer
from sessions_app.api.paging import Cursor, Limit, Page, keyset
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, invalid, not_found
from sessions_app.api.sessions import session_read
from sessions_app.live.threads import in_thread, release
from sessions_app.queries.waiting import Place
from sessions_app.services.upkeep import disk
from vcon_app.models import Export
from vcon_app.queries import export_log, job_places, legal_basis
from vcon_app.services.exports import export_jobs, export_options, handing_on
from vcon_app.services.trust import recipients
from vcon_app.views.downloads import attachment

router = Router(tags=["exports"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    export_options.CannotExport: lambda error: invalid(f"/{error.parameter}", str(error)),
    handing_on.NotGranted: lambda error: Problem(409, str(error)),
    Export.DoesNotExist: lambda error: not_found("session"),  # erased while it was written
    recipients.NoRecipient: lambda error: invalid("/encrypt_for", str(error)),
}
MAX_WAIT = 300.0
POLL_SECONDS = 0.25
FormatName = Annotated[str, Query(description=", ".join(export_options.format_names()))]


def choices() -> list[dict[str, Any]]:
    """What may be chosen, for the description of the API: the options of all formats that are installed."""
    parameters = [
        _parameter("signed", {"type": "boolean"}, "sign the file with the key of this installation"),
        _parameter(
            "encrypt_for",
            {"type": "array", "items": {"type": "string", "format": "uuid"}},
            "id of a trust anchor with an RSA key; may be sent several times. The file is signed first",
        ),
        _parameter(
            handing_on.PARAMETER,
            {"type": "string", "enum": [*handing_on.ANSWERS]},
            "for a session whose legal basis does not grant redistribution: check is a 409, confirmed gives the file "
            "and is recorded in the audit log; without it the file is given",
        ),
    ]
    for name, found in export_options.all_options().items():
        option, of = found[0][1], ", ".join(format for format, _ in found)
        values = {"type": "string", "enum": [value for value, _ in option.choices]}
        parameters.append(_parameter(name, values if option.choices else {"type": "boolean"}, f"{of}: {option.title}"))
    return parameters


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


class Loss(BaseModel):
    what: str
    why: str
    count: int


class LegalBasis(BaseModel):
    """A legal basis that the session's file states, and what it grants."""

    kind: str
    expires: datetime | None
    expired: bool
    purposes: dict[str, str]


class Report(BaseModel):
    """What a format cannot carry of a session, and whether it may be handed on."""

    format: str
    loss: str
    items: list[Loss]
    redistribution: str
    """granted, denied, expired, missing; empty where no legal basis is stated."""
    legal_basis: list[LegalBasis]
    next_cursor: None = None


class WrittenExport(BaseModel):
    """An export that somebody took, or that waits to be written."""

    id: UUID
    format: str
    status: str
    progress: float
    filename: str
    size: int | None
    requested_by: str
    waiting_for: str | None = Field(description="why it was put back; it goes on by itself. null: it was not")
    queued_behind: int | None = Field(
        description="how many tasks of the same sender come before it, up to 500; tasks of others come in between. "
        "null: it is not in line"
    )
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def from_row(cls, export: Export, place: Place | None) -> WrittenExport:
        same = ("id", "format", "status", "progress", "filename", "size", "requested_by", "created_at", "started_at",
                "finished_at")  # fmt: skip
        return cls(
            **{name: getattr(export, name) for name in same}, waiting_for=export.waiting_for or None,
            queued_behind=place.before if place else None,
        )  # fmt: skip


@router.get("/sessions/{uuid:session_id}/exports", auth=own_viewer, response=Page[WrittenExport])
def list_exports(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the exports of a session, newest first, with the place in line of those that wait for a worker."""
    session = session_read(request, session_id)
    rows, next_cursor = keyset(export_log.exports_of(session.pk), "id", limit, cursor, UUID)
    places = job_places.places(session.workspace_id, rows)
    items = [WrittenExport.from_row(row, places.get(row.pk)) for row in rows]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.get(
    "/sessions/{uuid:session_id}/export",
    auth=own_viewer,
    openapi_extra={
        "responses": {200: {"description": "the file", "content": export_options.every_media_type()}},
        "parameters": choices(),
    },
)
async def export_session(request: HttpRequest, session_id: UUID, format: FormatName) -> StreamingHttpResponse:
    """Return a session as a file. The header `Countersign-Loss` is `none`, or how many things the format cannot carry.

    `Accept` chooses among the media types of a format: llmfeed also comes as `application/llmfeed+json`. Where the
    session's file states a legal basis, the header `Countersign-Redistribution` says what it grants: granted, denied,
    expired or missing.

    A worker writes the file of a large session: the request waits for up to 5 minutes, then it is a 503 with
    `Retry-After`. 422 for an unknown format or option.
    """
    export = await _written(request, session_id, format)
    redistribution = await in_thread(handing_on.state_of, export.session)
    file = await in_thread(export_jobs.open_file, export)
    types = export_options.media_types(export.format)
    asked = request.get_preferred_type(types)
    response = attachment(file, export.filename, export.size, asked or types[0])
    response.headers["Countersign-Loss"] = _loss(export.losses)
    if redistribution:
        response.headers["Countersign-Redistribution"] = redistribution
    response.headers["Vary"] = "Accept"
    response.headers["Cache-Control"] = "private, no-store"
    return response


@router.get(
    "/sessions/{uuid:session_id}/export/report",
    auth=own_viewer,
    response=Report,
    openapi_extra={"parameters": choices()},
)
async def report_export(request: HttpRequest, session_id: UUID, format: FormatName) -> HttpResponse:
    """Return what a format cannot carry of this session. No file is made, and no export is recorded."""
    await release()
    return reply(await in_thread(_report, request, session_id, format))


async def _written(request: HttpRequest, session_id: UUID, format: str) -> Export:
    """The export when its file is there. A large session is written by a worker, which takes a while."""
    await release()
    export = await in_thread(_start, request, session_id, format)
    until = time.monotonic() + MAX_WAIT
    while export.status in (Export.Status.QUEUED, Export.Status.RUNNING):
        if export.waiting_for:
            raise Problem(
                507 if export.waiting_for == disk.FULL else 503, export.waiting_for, headers={"Retry-After": "60"}
            )
        if time.monotonic() > until:
            [state] = await in_thread(export_log.states, export.workspace_id, [export])
            raise Problem(503, f"{state} Ask again in a minute.", headers={"Retry-After": "60"})
        await asyncio.sleep(POLL_SECONDS)
        export = await in_thread(_again, export.pk)
    if export.status == Export.Status.FAILED:
        raise Problem(500, export.error)
    return export


def _start(request: HttpRequest, session_id: UUID, format: str) -> Export:
    session, options = session_read(request, session_id), _options(request)
    confirmed = handing_on.is_confirmed(session, options.pop(handing_on.PARAMETER, ""))
    started = export_jobs.start_export(
        session, format, by=request.auth.actor, options=options, handing_on_confirmed=confirmed
    )
    return _again(started.pk)


def _report(request: HttpRequest, session_id: UUID, format: str) -> Report:
    session, options = session_read(request, session_id), _options(request)
    options.pop(handing_on.PARAMETER, "")
    losses, bases = export_jobs.report(session, format, options), handing_on.bases_of(session)
    return Report(
        format=format,
        loss=_loss(losses),
        items=[Loss(**row) for row in losses],
        redistribution=legal_basis.redistribution_state(bases),
        legal_basis=[
            LegalBasis(
                kind=one.kind,
                expires=one.expires,
                expired=one.is_expired,
                purposes={grant.purpose: grant.state for grant in one.grants},
            )
            for one in bases
        ],
    )


def _options(request: HttpRequest) -> dict[str, Any]:
    """Every parameter but the format: a misspelt one must not give a file that looks like what was asked for."""
    asked: dict[str, Any] = {}
    for name, values in request.GET.lists():
        if name == "encrypt_for":
            asked[name] = recipients.recipients_named(request.auth.workspace.id, values)
        elif len(values) > 1:
            raise invalid(f"/{name}", f'"{name}" is given {len(values)} times; which one counts?')
        elif name != "format":
            asked[name] = values[0]
    return asked


def _again(export_id: UUID) -> Export:
    return Export.objects.select_related("session__agent").get(pk=export_id)


def _loss(losses: list[dict[str, Any]]) -> str:
    return str(sum(row["count"] for row in losses)) if losses else "none"
