"""Steps of a session's log: the events behind a ``seq``, read and written as JSON once for all readers there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import orjson
from pydantic import BaseModel

from sessions_app.models import Approval, Session, TurnInFlight
from sessions_app.queries.log import events
from sessions_app.queries.votes import PREFETCH

from .hub import Piece, Topic
from .shared_reads import shared_reads

BATCH = 100
DELETED = 'event: deleted\ndata: {"detail": "this session was deleted"}\n\n'
REVIEWED = 'event: review\ndata: {"detail": "what people say of this session changed"}\n\n'
Show = Callable[..., BaseModel]
"""Turns rows into what is sent: an event, an approval or the session."""


class Frame(NamedTuple):
    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """Frames behind a place, the place they lead to, and whether more may be ready behind that."""

    frames: list[Frame]
    seq: int
    more: bool
    is_last: bool = False
    """The session was deleted: its readers are told, and there is nothing to wait for."""


async def after(session_id: UUID, seq: int, changed: set[Topic], show: Show) -> Step:
    """The step from a place. ``changed`` are the approvals to tell of, and whether its review is to be told of. Raises
    what reading raises.
    """
    asked = frozenset(id_ for kind, id_ in changed if kind == "approval")
    topic, is_reviewed = ("session", str(session_id)), ("review", str(session_id)) in changed
    wanted = (seq, asked, is_reviewed)
    return await shared_reads().read(topic, wanted, read, session_id, seq, asked, show, is_reviewed)


def forget(session_id: UUID) -> None:
    """Drop the steps of a session once nobody reads it any more."""
    shared_reads().forget(("session", str(session_id)))


def read(session_id: UUID, seq: int, asked: frozenset[str], show: Show, is_reviewed: bool = False) -> Step:
    """The next events; behind the last one how the session stands. Works in the database."""
    page = events.page(session_id, after=seq, limit=BATCH)
    frames = [frame("event", show(shown), shown.event.seq) for shown in page]
    frames += _approvals(session_id, asked | {id_ for shown in page if (id_ := _approval_of(shown))}, show)
    frames += [Frame("review", "", REVIEWED)] if is_reviewed else []
    if page:
        return Step(frames, page[-1].event.seq, more=True)
    session = Session.objects.select_related("agent").defer("source_record").filter(pk=session_id).first()
    if session is None:
        return Step([Frame("deleted", "", DELETED)], seq, more=False, is_last=True)
    return Step([*frames, frame("session", show(session)), *_begun(session_id)], seq, more=False)


def _approvals(session_id: UUID, ids: set[str] | frozenset[str], show: Show) -> Iterator[Frame]:
    found = Approval.objects.filter(session_id=session_id, id__in=ids) if ids else Approval.objects.none()
    for approval in (
        found.select_related("claimed_by__user", "assigned_to__user").prefetch_related(PREFETCH).order_by("id")
    ):
        yield Frame("approval", str(approval.id), frame("approval", show(approval)).text)


def _begun(session_id: UUID) -> Iterator[Frame]:
    """Frame of the message that is being written, as far as it is: for a reader that comes in the middle of it."""
    found = TurnInFlight.objects.filter(session_id=session_id).exclude(said="")
    for request, text in found.values_list("said_request", "said"):
        yield Frame("said", "", piece({"request": request, "offset": 0, "text": text}))


def _approval_of(shown: events.Shown) -> str | None:
    """The approval that an event is a step of. A client may send events of these kinds with anything in ``data``."""
    if shown.event.kind not in ("approval", "escalation"):
        return None
    try:
        return str(UUID(str(shown.event.data.get("approval"))))
    except ValueError:
        return None


def frame(kind: str, data: BaseModel, id_: int | None = None) -> Frame:
    """One server-sent event. JSON has no line breaks, so it is one ``data`` line."""
    number = f"id: {id_}\n" if id_ is not None else ""
    return Frame(kind, "", f"event: {kind}\n{number}data: {data.model_dump_json()}\n\n")


def piece(said: Piece) -> str:
    """A part of a message that is being written, as a server-sent event."""
    return f"event: said\ndata: {orjson.dumps(said).decode()}\n\n"
