"""A streamed response of a client, read along: told when it ends, is closed, is dropped, or breaks.

The stream stays the client's own object. It reads its events from its ``_iterator``, and closes its response when it is
read, or when the program closes it: these two are watched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .telling import plain, safely, tell_error


class Reading:
    """What has come of one response. ``tell`` is called once, with it and whether it is whole."""

    def __init__(self, session: Any, pieces: Any, tell: Callable[..., None]) -> None:
        self._session, self._pieces, self._tell = session, pieces, tell
        self._is_told = False

    def add(self, event: Any) -> None:
        safely(lambda: self._pieces.add(plain(event)))

    def end(self, error: BaseException | None = None) -> None:
        if not self._is_told:
            self._is_told = True
            safely(self._tell_answer)
        if error is not None:
            tell_error(self._session, error)

    def _tell_answer(self) -> None:
        answer = self._pieces.answer()
        if answer is not None:
            self._tell(self._session, answer, is_whole=self._pieces.is_whole)


class Events:
    """The events of a stream, sync or async, one at a time."""

    def __init__(self, inner: Any, reading: Reading) -> None:
        self._inner, self._reading = inner, reading

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            event = next(self._inner)
        except BaseException as error:
            self._reading.end(None if isinstance(error, StopIteration) else error)
            raise
        self._reading.add(event)
        return event

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            event = await self._inner.__anext__()
        except BaseException as error:
            self._reading.end(None if isinstance(error, StopAsyncIteration) else error)
            raise
        self._reading.add(event)
        return event

    def __del__(self) -> None:
        self._reading.end()


def is_stream(answer: Any) -> bool:
    """Whether a client gave a stream of events."""
    return hasattr(type(answer), "__stream__")


def watch(stream: Any, reading: Reading) -> None:
    """Have a stream of ``anthropic`` or ``openai`` tell what is read of it."""
    stream._iterator = Events(stream._iterator, reading)
    kind: Any = type(stream.response)
    stream.response.__class__ = _watched(kind)
    stream.response.countersign_reading = reading


class _Closing:
    countersign_reading: Reading

    def close(self) -> None:
        self.countersign_reading.end()
        super().close()  # type: ignore[misc]

    async def aclose(self) -> None:
        self.countersign_reading.end()
        await super().aclose()  # type: ignore[misc]


@functools.cache
def _watched(kind: type) -> type:
    """A class, and no function in the response: that would make a cycle, which leaves a dropped stream open."""
    return type(kind.__name__, (_Closing, kind), {})
