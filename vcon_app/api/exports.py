"""Sessions out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router
from pydantic import BaseModel

from sessions_app.api.auth import reader
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, invalid
from sessions_app.api.sessions import session_read
from sessions_app.live.threads import in_thread, release
from vcon_app.models import Export
from vcon_app.services import exports
from vcon_app.views.downloads import attachment

router = Router(tags=["exports"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    exports.CannotExport: lambda error: invalid("/format", str(error)),
}
MAX_WAIT = 300.0
POLL_SECONDS = 0.25


class Loss(BaseModel):
    what: str
    why: str
    count: int


class Report(BaseModel):
    """What a format cannot carry of a session."""

    format: str
    loss: str
    items: list[Loss]
    next_cursor: None = None


@router.get(
    "/sessions/{uuid:session_id}/export",
    auth=reader,
    openapi_extra={"responses": {200: {"description": "the file", "content": {"application/octet-stream": {}}}}},
)
async def export_session(
    request: HttpRequest, session_id: UUID, format: str, signed: bool = False
) -> StreamingHttpResponse:
    """A session as a file. ``Countersign-Loss`` is ``none``, or how many things the format could not carry.

    ``signed`` signs it with the key of this installation, if there is one.
    """
    export = await _written(request, session_id, format, signed)
    file = await in_thread(lambda: exports.path_of(export).open("rb"))
    response = attachment(file, export.filename, export.size, exports.media_type(export.format))
    response.headers["Countersign-Loss"] = _loss(export)
    response.headers["Cache-Control"] = "private, no-store"
    return response


@router.get("/sessions/{uuid:session_id}/export/report", auth=reader, response=Report)
async def report_export(request: HttpRequest, session_id: UUID, format: str) -> HttpResponse:
    """What the format cannot carry of this session."""
    export = await _written(request, session_id, format)
    return reply(Report(format=export.format, loss=_loss(export), items=[Loss(**row) for row in export.losses]))


async def _written(request: HttpRequest, session_id: UUID, format: str, signed: bool = False) -> Export:
    """The export when its file is there. A large session is written by a worker, which takes a while."""
    await release()
    export = await in_thread(_start, request, session_id, format, {"signed": True} if signed else {})
    until = time.monotonic() + MAX_WAIT
    while export.status in (Export.Status.QUEUED, Export.Status.RUNNING):
        if time.monotonic() > until:
            raise Problem(503, "the file is still being written; ask again in a minute", headers={"Retry-After": "60"})
        await asyncio.sleep(POLL_SECONDS)
        export = await in_thread(_again, export.pk)
    if export.status == Export.Status.FAILED:
        raise Problem(500, export.error)
    return export


def _start(request: HttpRequest, session_id: UUID, format: str, options: dict[str, Any]) -> Export:
    started = exports.start_export(session_read(request, session_id), format, by=request.auth.actor, options=options)
    return _again(started.pk)


def _again(export_id: UUID) -> Export:
    return Export.objects.select_related("session__agent").get(pk=export_id)


def _loss(export: Export) -> str:
    return str(sum(row["count"] for row in export.losses)) if export.losses else "none"
