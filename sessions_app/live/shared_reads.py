"""Reads that the readers of a topic share: who wants the same, since the same change, is given what was read once.

Five hundred readers of one session, or fifty open inboxes, are woken by one change: that is one read and not as many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from .hub import Topic, hub
from .threads import in_thread

KEPT = 4
"""Reads of one topic that are kept until it changes: most readers want the last, some come from before it."""
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class SharedReads:
    """The reads of one event loop, by topic."""

    def __init__(self) -> None:
        self._kept: dict[Topic, tuple[int, dict[Hashable, asyncio.Task[Any]]]] = {}

    async def read(
        self, topic: Topic, wanted: Hashable, function: Callable[Arguments, Result],
        *args: Arguments.args, **kwargs: Arguments.kwargs,
    ) -> Result:  # fmt: skip
        """What ``function`` returns, called in a thread unless it was for the same. Raises what it raises."""
        tasks = self._since_the_last_change(topic)
        task: asyncio.Task[Result] | None = tasks.get(wanted)
        if task is None:
            task = tasks[wanted] = asyncio.create_task(in_thread(function, *args, **kwargs))
            task.add_done_callback(partial(_forget_if_failed, tasks, wanted))
            while len(tasks) > KEPT:
                del tasks[next(iter(tasks))]
        return await asyncio.shield(task)  # whoever asked first may leave: the others still wait for it

    def _since_the_last_change(self, topic: Topic) -> dict[Hashable, asyncio.Task[Any]]:
        changes = hub().changes(*topic)
        if topic not in self._kept or self._kept[topic][0] != changes:
            self._kept[topic] = (changes, {})
        return self._kept[topic][1]

    def forget(self, topic: Topic) -> None:
        """Drop what was read of a topic once nobody reads it any more."""
        if not hub().has_readers(*topic):
            self._kept.pop(topic, None)


def _forget_if_failed(tasks: dict[Hashable, asyncio.Task[Any]], wanted: Hashable, done: asyncio.Task[Any]) -> None:
    """Have the next reader read for itself: a database that was away for a moment fails nobody who comes later."""
    failed = done.cancelled() or done.exception() is not None  # looked at here, or asyncio logs it if all readers left
    if failed and tasks.get(wanted) is done:
        del tasks[wanted]


_reads: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedReads] = WeakKeyDictionary()


def shared_reads() -> SharedReads:
    """The reads of the running event loop."""
    return _reads.setdefault(asyncio.get_running_loop(), SharedReads())
