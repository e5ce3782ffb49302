"""A session with an MCP server that lives in the event loop of a turn, for a thread that waits for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from anyio.from_thread import BlockingPortal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from sessions_app import guarded_http
from sessions_app.runtimes.run import TurnRun

from .waiting import outcome

log = logging.getLogger(__name__)
CONNECT_SECONDS = 15.0
CLOSE_SECONDS = 8.0
"""A command is asked to end, then told to (SIGTERM, SIGKILL): the SDK takes up to 6.5 s for that."""
MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message of a server; the SDK's own limit of 1 MB breaks the session instead of the call."""


@asynccontextmanager
async def over_http(
    url: str, headers: dict[str, str], on_response: Callable[[httpx2.Response], Awaitable[None]]
) -> AsyncIterator[Any]:
    """Client over Streamable HTTP; a redirect is followed only to the same origin, so that headers stay there."""
    async with (
        guarded_http.client(headers, on_response) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_MESSAGE) as ends,
    ):
        yield ends


def of_command(line: tuple[str, ...]) -> Any:
    """Client of a process; its standard error goes where the worker's own goes."""
    return stdio_client(StdioServerParameters(command=line[0], args=list(line[1:])), errlog=sys.__stderr__)


class Connection:
    """Open from ``client()`` on until ``close()``. A task of its own holds it: cancel scopes belong to one task."""

    def __init__(self, portal: BlockingPortal, transport: Any) -> None:
        self._portal = portal
        self._over: anyio.Event | None = None
        self._ready: Future[Client] = Future()
        self._ready.set_running_or_notify_cancel()
        self._host = portal.start_task_soon(self._hold, transport)

    def client(self, turn: TurnRun) -> Client:
        """Client of the open session. Raises what connecting raises, and as ``waiting.outcome``."""
        return outcome(self._ready, turn, CONNECT_SECONDS)

    def close(self) -> None:
        """End the session, and the process of a command."""
        if self._ready.done() and self._over is not None:
            self._portal.call(self._over.set)
        else:
            self._host.cancel()
        if not wait([self._host], timeout=CLOSE_SECONDS).done:
            self._host.cancel()
        told = self._over is None  # what goes wrong while connecting is raised there
        if not told and self._host.done() and not self._host.cancelled() and (error := self._host.exception()):
            log.info("an MCP session ended with %s", type(error).__name__)

    async def _hold(self, transport: Any) -> None:
        try:
            async with Client(transport, cache=None) as client:
                self._over = anyio.Event()
                self._ready.set_result(client)
                await self._over.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            raise
