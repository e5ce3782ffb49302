"""A session as server-sent events: what is in the log after a ``seq``, then what is added to it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

from django.db import InterfaceError, OperationalError

from . import readers, steps
from .hub import Piece, Topic, hub
from .steps import Frame, Show, Step, piece
from .threads import release

log = logging.getLogger(__name__)

PING_SECONDS = 15
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Proxies must neither keep the stream nor gather it up (nginx reads the second)."""
STATES = ("session", "approval")
"""Frames without ``id``: they say how things stand, and are left out when they stand as they stood."""


class Follower:
    """Position of one reader of a session, and the states it was sent last. ``hears_reviews``: whether it is told that
    people said something of the session, which is nothing for the agent that they look at.
    """

    def __init__(self, session_id: UUID, after: int, show: Show, *, hears_reviews: bool) -> None:
        self.session_id = session_id
        self.seq = after
        self.show = show
        self._hears_reviews = hears_reviews
        self._sent: dict[tuple[str, str], int] = {}
        self._caught_up = False

    def advance(self, step: Step) -> Iterator[str]:
        """Move to the end of a step; yield its frames that are new to this reader."""
        self.seq = step.seq
        for frame in step.frames:
            if self._is_news(frame):
                yield frame.text
        self._caught_up |= not step.more

    def _is_news(self, frame: Frame) -> bool:
        if frame.kind == "said":
            return not self._caught_up
        if frame.kind == "review":
            return self._hears_reviews
        if frame.kind not in STATES:
            return True
        before = self._sent.get((frame.kind, frame.id))
        self._sent[frame.kind, frame.id] = hash(frame.text)
        return before != hash(frame.text)


async def stream(follower: Follower, caller: str, address: str) -> AsyncIterator[str]:
    """Frames for as long as somebody reads and may read; a comment line when nothing happens for 15 s.

    A reader that is slow holds the generator at ``yield``: what it missed it reads from the log later.
    ``caller`` is counted while it reads.
    """
    await release()
    try:
        with readers.reading(caller, address), hub().reader("session", follower.session_id) as reader:
            yield "retry: 2000\n\n"
            changed: set[Topic] | None = set()
            pieces: list[Piece] = []
            while True:
                more = changed is not None
                for written in pieces:
                    yield piece(written)
                if changed is None and not pieces:
                    yield ": still here\n\n"
                while more:
                    step = await steps.after(follower.session_id, follower.seq, changed, follower.show)
                    changed, more = set(), step.more
                    for text in follower.advance(step):
                        yield text
                    if step.is_last:
                        return
                changed = await reader.wait(PING_SECONDS)
                if readers.is_gone(caller):
                    return
                pieces = reader.written_pieces()
    except (OperationalError, InterfaceError) as error:
        log.warning("a stream ends, and its reader will come back: %s", error)
    finally:
        steps.forget(follower.session_id)
