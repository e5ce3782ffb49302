"""A session that is over, or its past, as server-sent events at its own pace: each event when its time has come.

Between two events a reader is a timer of the event loop, and holds neither a thread nor a connection to the database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson
from django.db import InterfaceError, OperationalError

from sessions_app.models import Event, Session
from sessions_app.queries.log import events

from . import readers, steps
from .follow import PING_SECONDS
from .steps import DELETED, Show
from .threads import in_thread, release

log = logging.getLogger(__name__)

AHEAD = 500
"""Events whose times are read at once; what they say is read when they are due."""
AT_ONCE = 20
"""Events that are read together, where they are due together."""
DUE = 0.02
"""Seconds: what is due in less is due now."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast: ``speed`` times the session's own pace, of pauses at most ``longest`` seconds of its own time."""

    speed: float = 1.0
    longest: float = 10.0

    def between(self, before: datetime | None, at: datetime | None) -> tuple[float, float]:
        """The pause between two events as it was and as it is played, both in seconds; none where a time is unknown."""
        if before is None or at is None:
            return 0.0, 0.0
        was = max(0.0, (at - before).total_seconds())
        return was, min(was, self.longest) / self.speed


async def stream(session_id: UUID, after: int, pace: Pace, show: Show, caller: str, address: str) -> AsyncIterator[str]:
    """Frames of the events behind ``after``, as those of a stream; ``pause`` where one was cut short; ``end`` last.

    A comment line says every 15 s that it goes on. It ends, too, when the session is deleted, and when the caller may
    not read any more. ``caller`` is counted while it reads.
    """
    await release()
    try:
        with readers.reading(caller, address):
            yield "retry: 2000\n\n"
            seq, last = after, None
            while True:
                times = await in_thread(_times, session_id, seq)
                place = 0
                while place < len(times):
                    was, wait = pace.between(last, times[place][1])
                    if was > pace.longest:
                        yield _frame("pause", {"seconds": round(was, 3), "played": round(wait, 3)})
                    async for kept_alive in _wait(wait):
                        yield kept_alive
                    if readers.is_gone(caller):
                        return
                    due = _due(times, place, pace)
                    frames, seq = await in_thread(_frames, session_id, seq, due, show)
                    if not frames:
                        yield DELETED
                        return
                    for frame in frames:
                        yield frame
                    place += len(frames)
                    last = times[place - 1][1] or last
                if len(times) < AHEAD:
                    break
            is_there = await in_thread(Session.objects.filter(pk=session_id).exists)
            yield _frame("end", {"last_seq": seq}) if is_there else DELETED
    except (OperationalError, InterfaceError) as error:
        log.warning("a replay ends, and its reader will come back: %s", error)


async def _wait(seconds: float) -> AsyncIterator[str]:
    """Let the time pass, with a comment line whenever nothing was said for 15 s."""
    while seconds > 0:
        part = min(seconds, PING_SECONDS)
        await asyncio.sleep(part)
        seconds -= part
        if seconds > 0:
            yield ": still here\n\n"


def _times(session_id: UUID, after: int) -> list[tuple[int, datetime | None]]:
    found = Event.objects.filter(session_id=session_id, seq__gt=after).order_by("seq")
    return list(found.values_list("seq", "at")[:AHEAD])


def _due(times: list[tuple[int, datetime | None]], place: int, pace: Pace) -> int:
    """How many events from a place on are due together."""
    count = 1
    for (_, before), (_, at) in zip(times[place:], times[place + 1 : place + AT_ONCE], strict=False):
        was, wait = pace.between(before, at)
        if wait > DUE or was > pace.longest:
            break
        count += 1
    return count


def _frames(session_id: UUID, after: int, count: int, show: Show) -> tuple[list[str], int]:
    page = events.page(session_id, after=after, limit=count)
    found = [steps.frame("event", show(shown), shown.event.seq).text for shown in page]
    return found, page[-1].event.seq if page else after


def _frame(event: str, data: dict[str, object]) -> str:
    return f"event: {event}\ndata: {orjson.dumps(data).decode()}\n\n"
