"""The log of a session: read in pages, followed live, added to from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

import orjson
from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from ninja import Header, Query, Router
from pydantic import BaseModel

from sessions_app import models
from sessions_app.live import follow, readers
from sessions_app.live.threads import in_thread
from sessions_app.queries.log import events as queries
from sessions_app.services import sent_events
from sessions_app.services.approvals import delivery
from sessions_app.services.log import links

from .approvals import given_to_asker
from .auth import Principal, own_asker, own_reader
from .idempotency import once
from .paging import Limit
from .parsing import reply
from .problems import not_found
from .schemas.approvals import Approval
from .schemas.events import Appended, Event, EventPage, Kind, SentEvents
from .sessions import session_read, session_schema

router = Router(tags=["events"])
seed_router = Router(tags=["events of a session"])
"""Below ``/dashboard/agents``."""
MAX_SEQ = 2**31 - 1
Seq = Annotated[int, Query(0, ge=0, le=MAX_SEQ, description="only events with a higher seq")]
KindFilter = Annotated[Kind | None, Query(None, description="only events of this kind")]
STREAM = {"responses": {200: {"content": {"text/event-stream": {"schema": {
    "type": "string",
    "description": "`event: event` with `id: <seq>` and an Event as data; `event: session` with the Session and "
    "`event: approval` with an Approval when they change; `event: review` when somebody gives a verdict, comments or "
    "is assigned (not for keys with the role agent); `event: said` with a piece of a message that is still being "
    "written (request, offset, text), which comes as an Event once it is complete; a comment line every 15 s",
}}}}}}  # fmt: skip
LastEventId = Annotated[
    int | None,
    Header(None, alias="Last-Event-ID", ge=0, le=MAX_SEQ, description="id of the last event that was received"),
]


@router.get("/sessions/{uuid:session_id}/events", auth=own_reader, response=EventPage)
def list_events(request: HttpRequest, session_id: UUID, after: Seq, limit: Limit, kind: KindFilter) -> HttpResponse:
    """List the events of a session in order of `seq`. For the next page send the last `seq` of this one as `after`."""
    return _page(session_read(request, session_id), after, limit, kind)


@seed_router.get("/{uuid:agent_id}/sessions/{uuid:session_id}/events", auth=own_reader, response=EventPage)
def list_agent_events(
    request: HttpRequest, agent_id: UUID, session_id: UUID, after: Seq, limit: Limit, kind: KindFilter
) -> HttpResponse:
    """List the events of a session in order of `seq`. For the next page send the last `seq` of this one as `after`."""
    return _page(session_read(request, session_id, agent_id), after, limit, kind)


@router.post("/sessions/{uuid:session_id}/events", auth=own_asker, response=Appended)
@once
def append_events(request: HttpRequest, session_id: UUID, batch: SentEvents) -> HttpResponse:
    """Append events to the log of a session: all of them, or none. An event that came before, by its `client_id`, is
    counted as a duplicate and not added again.

    409 when a `client_id` comes again with other content (the answer names what differs), and for a session that is
    archived or was imported.
    """
    now = timezone.now()
    sent = [sent_events.Sent(event.client_id, event.event(now), event.at is not None) for event in batch.events]
    among, origin = request.auth.to_append(session_id), links.sent_by(request.auth.actor)
    try:
        appended = sent_events.append_sent(session_id, sent, origin=origin, among=among)
    except models.Session.DoesNotExist:
        raise not_found("session") from None
    return reply(Appended(**{name: getattr(appended, name) for name in Appended.model_fields}))


@router.get("/sessions/{uuid:session_id}/stream", auth=own_reader, openapi_extra=STREAM)
async def stream_session(
    request: HttpRequest, session_id: UUID, after: Seq, last_event_id: LastEventId
) -> HttpResponseBase:
    """Stream the events of a session (server-sent events): those after `Last-Event-ID`, else after `after`, then each
    new one.

    429 when the caller has too many streams and waits open. A browser that opens this address, which exported files
    name, is redirected to the page of the session.
    """
    session = await sync_to_async(session_read)(request, session_id)
    if "text/html" in request.headers.get("Accept", ""):
        return redirect("session-detail", session.agent_id, session.pk)
    return _stream(request, session, after, last_event_id)


@seed_router.get("/{uuid:agent_id}/sessions/{uuid:session_id}/stream", auth=own_reader, openapi_extra=STREAM)
async def stream_agent_session(
    request: HttpRequest, agent_id: UUID, session_id: UUID, after: Seq, last_event_id: LastEventId
) -> StreamingHttpResponse:
    """Stream the events of a session (server-sent events): those after `Last-Event-ID`, else after `after`, then each
    new one. 429 when the caller has too many streams and waits open.
    """
    session = await sync_to_async(session_read)(request, session_id, agent_id)
    return _stream(request, session, after, last_event_id)


def _page(session: models.Session, after: int, limit: int, kind: str | None) -> HttpResponse:
    page = queries.page(session.id, after=after, limit=limit, kind=kind)
    return reply(EventPage(items=[Event.from_row(row) for row in page], last_seq=session.last_seq))


def _stream(
    request: HttpRequest, session: models.Session, after: int, last_event_id: int | None
) -> StreamingHttpResponse:
    start = after if last_event_id is None else last_event_id
    caller, address = request.auth.caller, request.META.get("REMOTE_ADDR", "")
    readers.check(caller, address)
    hears = request.auth.role.covers(models.Role.VIEWER)
    frames = follow.stream(follow.Follower(session.id, start, _schema_of, hears_reviews=hears), caller, address)
    if request.auth.api_key_id:
        frames = _note_told(request.auth, frames)
    return StreamingHttpResponse(frames, content_type="text/event-stream", headers=follow.HEADERS)


async def _note_told(principal: Principal, frames: AsyncIterator[str]) -> AsyncIterator[str]:
    """The same frames; a decision is delivered before the key that asked for it reads it here."""
    async for frame in frames:
        if frame.startswith("event: approval\n"):
            shown = orjson.loads(frame.partition("data: ")[2])
            if shown["status"] != "pending" and shown["delivery"] in delivery.OWED:
                now = await in_thread(_tell, principal, UUID(shown["id"]))
                if now and now.status != shown["status"]:
                    continue  # it became void since it was read, and the next frame says so
        yield frame


def _tell(principal: Principal, approval_id: UUID) -> models.Approval | None:
    approval = models.Approval.objects.filter(pk=approval_id).first()
    return given_to_asker(principal, approval) if approval else None


def _schema_of(row: queries.Shown | models.Approval | models.Session) -> BaseModel:
    if isinstance(row, queries.Shown):
        return Event.from_row(row)
    return Approval.from_row(row) if isinstance(row, models.Approval) else session_schema(row)
