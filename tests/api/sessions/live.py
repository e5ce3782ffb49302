"""Reads server-sent events, while a test does other things."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test import AsyncClient

from ..client import Api

PATIENCE = 60
"""Seconds until a test gives up; nothing here takes one."""


@dataclass(frozen=True)
class Frame:
    event: str
    id: str | None
    data: Any


class Stream:
    """A stream that was opened; ``comments`` are the lines that say nothing."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.comments: list[str] = []
        self._chunks = aiter(response)

    async def close(self) -> None:
        """Go away, as a client does."""
        await self._chunks.aclose()
        self.response = self._chunks = None

    async def next(self, event: str | None = None) -> Frame:
        """The next frame, or the next one of a kind."""
        while True:
            frame = _parse((await asyncio.wait_for(anext(self._chunks), PATIENCE)).decode())
            if isinstance(frame, str):
                self.comments.append(frame)
            elif event in (None, frame.event):
                return frame

    async def take(self, count: int, event: str = "event") -> list[Frame]:
        return [await self.next(event) for _ in range(count)]


def _parse(chunk: str) -> Frame | str:
    fields = dict(line.split(": ", 1) for line in chunk.strip().splitlines())
    if "data" not in fields:
        return chunk
    return Frame(fields["event"], fields.get("id"), json.loads(fields["data"]))


@asynccontextmanager
async def stream(api: Api, path: str, query: dict[str, Any] | None = None, **headers: str) -> AsyncIterator[Stream]:
    """An open stream of an address."""
    response = await AsyncClient().get(path, query, headers=api.headers | headers)
    assert response.status_code == 200, response.content
    opened = Stream(response)
    del response
    try:
        yield opened
    finally:
        await opened.close()


async def elsewhere(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs it as another process would: in a thread with a database connection of its own."""

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await sync_to_async(call, thread_sensitive=False)()


async def forgotten() -> None:
    """Wait for the end of streams that were closed: the test client's responses refer to themselves."""
    for _ in range(5):
        gc.collect()
        await asyncio.sleep(0.01)


def connections_open() -> int:
    """Connections that clients have to the test's database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND backend_type = 'client backend'"
        )
        return cursor.fetchone()[0]
