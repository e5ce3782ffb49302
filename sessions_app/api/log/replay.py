"""A session played again: its events at the pace at which they happened, or faster."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.live import follow, readers, replay

from ..auth import own_viewer
from ..events import MAX_SEQ, LastEventId
from ..schemas.events import Event
from ..sessions import session_read

router = Router(tags=["events"])
FASTEST = 1_000
LONGEST = 3_600


class ReplayQuery(BaseModel):
    """From where, and how fast."""

    from_: Annotated[int, Field(ge=1, le=MAX_SEQ)] = Field(1, alias="from", description="the first event to play")
    speed: Annotated[float, Field(ge=0.1, le=FASTEST)] = Field(
        1.0, description="how many times as fast as it happened, 0.1 to 1,000"
    )
    max_pause: Annotated[float, Field(ge=0, le=LONGEST)] = Field(
        10.0, description="seconds to which longer pauses are cut, before `speed` applies; 0: no pauses"
    )


STREAM = {"responses": {200: {"content": {"text/event-stream": {"schema": {
    "type": "string",
    "description": "`event: event` with `id: <seq>` and an Event as data, when its time has come; `event: pause` "
    "(seconds, played) before an event whose pause is cut short; `event: end` (last_seq) after the last one; "
    "`event: deleted` when the session is gone; a comment line every 15 s",
}}}}, 204: {"description": "nothing is left to play after Last-Event-ID"}}}  # fmt: skip


@router.get("/sessions/{uuid:session_id}/replay", auth=own_viewer, openapi_extra=STREAM)
async def replay_session(
    request: HttpRequest, session_id: UUID, wanted: Query[ReplayQuery], last_event_id: LastEventId
) -> HttpResponse | StreamingHttpResponse:
    """Play the events that a session has now at the pace at which they happened, or faster (server-sent events).

    With `Last-Event-ID` it goes on after that event; 204 when none is left, so that browsers do not reconnect. 429 when
    the caller has too many streams and waits open.
    """
    session = await sync_to_async(session_read)(request, session_id)
    if last_event_id is not None and last_event_id >= session.last_seq:
        return HttpResponse(status=204)
    after = wanted.from_ - 1 if last_event_id is None else last_event_id
    caller, address = request.auth.caller, request.META.get("REMOTE_ADDR", "")
    readers.check(caller, address)
    pace = replay.Pace(wanted.speed, wanted.max_pause)
    frames = replay.stream(session.pk, after, pace, Event.from_row, caller, address)
    return StreamingHttpResponse(frames, content_type="text/event-stream", headers=follow.HEADERS)
