"""Tools of MCP servers, by the ``mcp`` SDK: one session with each server for a turn, opened when it is first needed.

A server that is started as a command gets none of the desk's environment but PATH, HOME and their like.
``box`` imports this for the first agent that has such a server: the SDK is a fifth of all that would be loaded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID

import httpx2
from anyio.from_thread import BlockingPortal
from django.conf import settings
from mcp import Client, MCPError
from mcp.types import CONNECTION_CLOSED, PARSE_ERROR, Tool

from sessions_app.runtimes.calls import Result
from sessions_app.runtimes.run import TurnRun
from sessions_app.services import secrets
from sessions_app.services.turns.in_flight import LeaseLost

from .entries import McpEntry
from .mcp_results import of_mcp
from .mcp_sessions import CONNECT_SECONDS, Connection, of_command, over_http
from .offers import Offer, Unusable, schema_of
from .waiting import BrokeOff, Down, Stopped, TooSlow, outcome

MAX_TOOLS = 200
"""Of one server: every definition is a part of every request."""
SHORTEST_SECRET = 8
"""Characters: what is shorter ("Bearer") stands in texts by chance."""
OURS = (OSError, TimeoutError, TooSlow, httpx2.ConnectError, httpx2.TimeoutException)
"""Errors whose text was written on this side."""


class Server:
    """One MCP server during one advance of a turn."""

    def __init__(self, entry: McpEntry, turn: TurnRun, portal: BlockingPortal) -> None:
        self.entry = entry
        self._turn = turn
        self._portal = portal
        self._connection: Connection | None = None
        self._headers: dict[str, str] = {}
        self._status: int | None = None
        """HTTP status of its last answer."""

    def offers(self) -> tuple[list[Offer], list[str]]:
        """Offers of its tools by name, and a sentence for each that cannot be used. Raises ``Down`` and ``Stopped``."""
        try:
            listed = self._do(CONNECT_SECONDS, _list)
        except (Stopped, LeaseLost, Down):
            raise
        except Exception as error:  # whatever a server answers instead of a list
            raise Down(self.hide(f"the MCP server {self.entry.server} lists no tools: {self._why(error)}")) from error
        names, wanted = {tool.name for tool in listed}, self.entry.tools
        problems = [f"it has no tool {name!r:.80}" for name in wanted or () if name not in names]
        tools = sorted((tool for tool in listed if wanted is None or tool.name in wanted), key=lambda tool: tool.name)
        if len(tools) > MAX_TOOLS:
            problems.append(f"it has more than {MAX_TOOLS} tools, and only the first are offered; name those you need")
        found = []
        for tool in tools[:MAX_TOOLS]:
            try:
                found.append(self._offer(tool))
            except Unusable as why:
                problems.append(f"its tool {tool.name!r:.80} is left out: {why}")
        return found, problems

    def call(self, tool: str, arguments: Any) -> Result:
        """Run one of its tools. Raises ``Down``, ``BrokeOff``, ``MCPError`` and as ``waiting.outcome``."""
        given = arguments if isinstance(arguments, dict) else {"input": arguments}
        result = of_mcp(self._do(self.entry.timeout, lambda client: client.call_tool(tool, given)))
        text = self.hide(result.text)
        return result if text == result.text else Result(text, result.status)

    def close(self) -> None:
        """End the session, and the process of a command."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def hide(self, message: str) -> str:
        """The text without the secrets that this server was sent: what it echoes must not be in the log."""
        parts = {part for header in self._headers.values() for part in (header, *header.split())}
        for value in sorted(parts, key=len, reverse=True):
            if len(value) >= SHORTEST_SECRET:
                message = message.replace(value, "[secret]")
        return message

    def _offer(self, tool: Tool) -> Offer:
        run = partial(self.call, tool.name)
        address = self.entry.url or " ".join(self.entry.command or ())
        schema = schema_of(tool.input_schema)
        return Offer(tool.name, self.entry.server, tool.description or "", schema, run, address=address)

    def _do(self, seconds: float, work: Callable[[Client], Awaitable[Any]]) -> Any:
        """Do something with the session. A failure of the session itself closes it, and the next call opens another."""
        client = self._client()
        try:
            return outcome(self._portal.start_task_soon(work, client), self._turn, seconds)
        except (Stopped, TooSlow, LeaseLost):
            raise
        except Exception as error:  # the server, or what lies between
            if isinstance(error, MCPError) and error.code not in (CONNECTION_CLOSED, PARSE_ERROR):
                raise
            self.close()
            raise BrokeOff(self.hide(f"the MCP server {self.entry.server} broke off: {self._why(error)}")) from error

    def _client(self) -> Client:
        if self._connection is None:
            self._connection = Connection(self._portal, self._transport())
        try:
            return self._connection.client(self._turn)
        except (Stopped, LeaseLost):
            raise
        except Exception as error:  # DNS, TLS, HTTP, the protocol, a command that is not there, no answer in time
            self.close()
            raise Down(
                self.hide(f"the MCP server {self.entry.server} could not be reached: {self._why(error)}")
            ) from error

    def _transport(self) -> Any:
        if self.entry.command:
            return of_command(_allowed(self.entry))
        url = self.entry.url or ""
        self._headers = _headers(self.entry, self._turn.session.workspace_id, url)
        return over_http(url, self._headers, self._note_status)

    async def _note_status(self, response: httpx2.Response) -> None:
        self._status = response.status_code

    def _why(self, error: BaseException) -> str:
        """Class of the first cause of an error, and the HTTP status.

        Its text only where no part of it comes from the other side: what else answers at an address (a page, the
        JSON of another service, a banner) is quoted by the errors of parsers, and would stand in the log.
        """
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, OURS):
            return f"{type(error).__name__}: {error}"[:500]
        kind = f"{type(error).__name__} {error.code}" if isinstance(error, MCPError) else type(error).__name__
        return kind if self._status is None else f"{kind}, HTTP {self._status}"


async def _list(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    while len(tools) <= MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def _headers(entry: McpEntry, workspace_id: UUID, url: str) -> dict[str, str]:
    try:
        return {header: secrets.value_for(workspace_id, name, url) for header, name in entry.headers_secret.items()}
    except ValueError as refused:  # no such secret, for another place, or encrypted under a key that is gone
        raise Down(f"the MCP server {entry.server} was not asked: {refused}") from None


def _allowed(entry: McpEntry) -> tuple[str, ...]:
    """Whether the operator listed this command, word for word: arguments can make almost any program run another."""
    line = tuple(entry.command or ())
    if line in settings.MCP_COMMANDS:
        return line
    raise Down(
        f"the MCP server {entry.server} was not started: its command is not among COUNTERSIGN_MCP_COMMANDS, "
        "where the operator of this installation lists what agents may start"
    )
