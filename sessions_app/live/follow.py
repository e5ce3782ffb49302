"""A session as server-sent events: what is in the log after a ``seq``, then what is added to it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from uuid import UUID

from django.db import InterfaceError, OperationalError
from pydantic import BaseModel

from sessions_app.models import Approval, Session
from sessions_app.queries import events

from .hub import Topic, hub
from .threads import in_thread, release

log = logging.getLogger(__name__)

PING_SECONDS = 15
BATCH = 100
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Proxies must neither keep the stream nor gather it up (nginx reads the second)."""


class Follower:
    """Where one reader of a session stands, and the frames that come next.

    ``show`` turns rows into what is sent: an event, an approval or the session.
    """

    def __init__(self, session_id: UUID, after: int, show: Callable[..., BaseModel]) -> None:
        self.session_id = session_id
        self.seq = after
        self._show = show
        self._sent: dict[tuple[str, str], int] = {}

    def frames(self, changed: set[Topic]) -> tuple[list[str], bool]:
        """The next frames, and whether there may be more to be had at once. Works in the database."""
        page = events.page(self.session_id, after=self.seq, limit=BATCH)
        frames = [_frame("event", self._show(shown), shown.event.seq) for shown in page]
        told = {id_ for kind, id_ in changed if kind == "approval"}
        frames += self._approvals(told | {id_ for shown in page if (id_ := _approval_of(shown))})
        if not page:
            return [*frames, *self._session()], False
        self.seq = page[-1].event.seq
        return frames, True

    def _approvals(self, ids: set[str]) -> Iterator[str]:
        found = Approval.objects.filter(session_id=self.session_id, id__in=ids) if ids else Approval.objects.none()
        for approval in found.prefetch_related("votes").order_by("id"):
            yield from self._if_new("approval", str(approval.id), self._show(approval))

    def _session(self) -> Iterator[str]:
        session = Session.objects.select_related("agent").defer("source_record").get(pk=self.session_id)
        yield from self._if_new("session", "", self._show(session))

    def _if_new(self, kind: str, id_: str, shown: BaseModel) -> Iterator[str]:
        """A frame without ``id``: it says how things stand, and is left out when they stand as they stood."""
        frame = _frame(kind, shown)
        if self._sent.get((kind, id_)) != hash(frame):
            self._sent[kind, id_] = hash(frame)
            yield frame


def _approval_of(shown: events.Shown) -> str | None:
    """The approval that an event is a step of. A client may send events of this kind with anything in ``data``."""
    if shown.event.kind != "approval":
        return None
    try:
        return str(UUID(str(shown.event.data.get("approval"))))
    except ValueError:
        return None


async def stream(follower: Follower) -> AsyncIterator[str]:
    """Frames for as long as somebody reads; a comment line when nothing happens for 15 s.

    A reader that is slow holds the generator at ``yield``: what it missed it reads from the log later.
    """
    await release()
    yield "retry: 2000\n\n"
    with hub().reader("session", follower.session_id) as reader:
        changed: set[Topic] | None = set()
        while True:
            more = changed is not None
            if changed is None:
                yield ": still here\n\n"
            while more:
                try:
                    frames, more = await in_thread(follower.frames, changed)
                except (OperationalError, InterfaceError) as error:
                    log.warning("a stream ends, and its reader will come back: %s", error)
                    return
                changed = set()
                for frame in frames:
                    yield frame
            changed = await reader.wait(PING_SECONDS)


def _frame(event: str, data: BaseModel, id_: int | None = None) -> str:
    """One server-sent event. JSON has no line breaks, so it is one ``data`` line."""
    number = f"id: {id_}\n" if id_ is not None else ""
    return f"event: {event}\n{number}data: {data.model_dump_json()}\n\n"
