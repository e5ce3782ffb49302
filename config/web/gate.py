"""Gate: few requests work at once, callers take turns, and who sends more than others waits in a queue of their own.

Threads of one process share one interpreter lock, so ten requests that work at once each take ten times as long: what
keeps a page quick is not how many requests are let in, but that those of one caller do not come before everybody's.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

AT_ONCE = 8
"""Requests at work. Each takes one connection of the pool (``config.asgi``), so nobody waits for one in vain."""
AT_ONCE_EACH = 2
"""Requests of one caller at work."""
WAITING, WAITING_EACH = 4_096, 600
"""Requests in the queues, and in the queue of one caller: 500 readers that come back at once still fit."""
WAIT_SECONDS = 45.0
STAMPEDE = 16
"""Who has so many in the queue while others ask as well works at one at a time, and pauses after each for as long as
it took, a hundredth of a second at most: the others then have the interpreter lock for more than half of the time.
"""
LONGEST_PAUSE = 0.01
RECENT_SECONDS = 1.0
"""So long after a request of theirs others count as asking as well."""


class Full(Exception):
    """A queue is full, or the wait was too long. ``of_caller``: it is the caller's own queue."""

    def __init__(self, *, of_caller: bool) -> None:
        super().__init__("of the caller" if of_caller else "of all")
        self.of_caller = of_caller


class Gate:
    """The gate of one event loop. Everything here runs in its thread."""

    def __init__(self, at_once: int = AT_ONCE, each: int = AT_ONCE_EACH, waiting_each: int = WAITING_EACH) -> None:
        self.free, self.each, self.waiting_each = at_once, each, waiting_each
        self.at_work: dict[Hashable, int] = {}
        self.queues: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """Of each caller that waits; whose turn is next stands first."""
        self.waiting = 0
        self._asked: OrderedDict[Hashable, float] = OrderedDict()
        """When each caller asked last, who asked last stands last; those of the last second."""
        self._pauses: dict[Hashable, asyncio.TimerHandle] = {}

    async def enter(self, caller: Hashable, most: int | None = None) -> Callable[[], None]:
        """Wait for a place; what is returned leaves it, and does so once. Raises ``Full``.

        ``most`` is the length of this caller's queue, where it is another than everybody's.
        """
        loop = asyncio.get_running_loop()
        self._note(caller, loop.time())
        queue = self.queues.setdefault(caller, deque())
        if len(queue) >= (self.waiting_each if most is None else most) or self.waiting >= WAITING:
            self._drop_if_empty(caller)
            raise Full(of_caller=self.waiting < WAITING)
        turn: asyncio.Future[None] = loop.create_future()
        queue.append(turn)
        self.waiting += 1
        clock = loop.call_later(WAIT_SECONDS, self._give_up, caller, turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(caller, turn)
            else:  # let in at the very moment
                self._leave(caller)
            raise
        finally:
            clock.cancel()
        return self._leaver(caller, loop.time())

    def _give_up(self, caller: Hashable, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._forget(caller, turn)
            turn.set_exception(Full(of_caller=False))

    def _forget(self, caller: Hashable, turn: asyncio.Future[None]) -> None:
        queue = self.queues.get(caller, ())
        if turn in queue:
            self.queues[caller].remove(turn)
            self.waiting -= 1
            self._drop_if_empty(caller)

    def _leaver(self, caller: Hashable, since: float) -> Callable[[], None]:
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._pause(caller, since)
                self._leave(caller)

        return leave

    def _note(self, caller: Hashable, now: float) -> None:
        self._asked[caller] = now
        self._asked.move_to_end(caller)
        while next(iter(self._asked.values())) < now - RECENT_SECONDS:
            self._asked.popitem(last=False)

    def _is_stampede(self, caller: Hashable) -> bool:
        others = next((asked for other, asked in reversed(self._asked.items()) if other != caller), None)
        now = asyncio.get_running_loop().time()
        return len(self.queues.get(caller, ())) >= STAMPEDE and others is not None and others > now - RECENT_SECONDS

    def _pause(self, caller: Hashable, since: float) -> None:
        """Let the others go on for as long as this request of a stampede took."""
        if caller not in self._pauses and self._is_stampede(caller):
            loop = asyncio.get_running_loop()
            self._pauses[caller] = loop.call_later(min(loop.time() - since, LONGEST_PAUSE), self._go_on, caller)

    def _go_on(self, caller: Hashable) -> None:
        del self._pauses[caller]
        self._let_in()

    def _leave(self, caller: Hashable) -> None:
        self.free += 1
        self.at_work[caller] -= 1
        if not self.at_work[caller]:
            del self.at_work[caller]
        self._let_in()

    def _let_in(self) -> None:
        """Give free places to those who wait, one caller after the other."""
        for _ in range(len(self.queues)):
            if not self.free:
                return
            caller, queue = next(iter(self.queues.items()))
            self.queues.move_to_end(caller)
            if caller in self._pauses:
                continue
            each = 1 if self._is_stampede(caller) else self.each
            while queue and self.at_work.get(caller, 0) < each:
                turn = queue.popleft()
                self.waiting -= 1
                if not turn.done():  # else its request was given up a moment ago
                    self._begin(caller, turn)
                    break
            self._drop_if_empty(caller)

    def _begin(self, caller: Hashable, turn: asyncio.Future[None]) -> None:
        self.free -= 1
        self.at_work[caller] = self.at_work.get(caller, 0) + 1
        turn.set_result(None)

    def _drop_if_empty(self, caller: Hashable) -> None:
        if caller in self.queues and not self.queues[caller]:
            del self.queues[caller]
