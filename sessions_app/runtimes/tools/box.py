"""The tools of one agent for one advance of a turn: what the model is offered, and how a call of it runs."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortal

from sessions_app.models import Event
from sessions_app.runtimes.calls import Result
from sessions_app.runtimes.run import TurnRun
from sessions_app.services.turns.in_flight import LeaseLost

from . import entries, person_tools, python_tools
from .offers import Offer, Unusable, named
from .results import of_text
from .waiting import BrokeOff, Down, Stopped, TooSlow

if TYPE_CHECKING:
    from .mcp_tools import Server

log = logging.getLogger(__name__)
UNSURE = "Whether it took effect is not known: find out before you repeat it."


class Toolbox:
    """Tools of an agent. MCP servers are opened when first needed, and closed at the end of the ``with`` block."""

    def __init__(self, turn: TurnRun, portal: BlockingPortal) -> None:
        self._turn = turn
        self._portal = portal
        self._entries, self.problems = entries.read(turn.agent.tools)
        """Sentences about tools that the agent should have and has not; complete once ``offers`` was read."""
        self._servers: dict[str, Server] = {}
        for entry in self._entries:
            if isinstance(entry, entries.McpEntry) and entry.server not in self._servers:
                self._servers[entry.server] = _mcp_server(entry, turn, portal)
            elif isinstance(entry, entries.McpEntry):
                self.problems.append(
                    f'two MCP servers of this agent are called "{entry.server}"; the first one is used'
                )

    def __enter__(self) -> Toolbox:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for server in self._servers.values():
            server.close()

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """The tools by the names that the model knows them by, in an order that stays."""
        found = [person_tools.escalation(), *self._own_offers()]
        for server in self._servers.values():
            found += self._offers_of_server(server)
        names, problems = named(found)
        self.problems += problems
        return names

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """Definitions of the tools, for the Messages API."""
        return [offer.definition(name) for name, offer in self.offers.items()]

    @cached_property
    def people(self) -> frozenset[str]:
        """Names of the tools that a person answers, whatever the policy allows."""
        custom = (entry.name for entry in self._entries if isinstance(entry, entries.CustomEntry))
        return frozenset({person_tools.ESCALATE, *custom})

    def execute(self, call: Event, arguments: Any) -> Result:
        """Run a call. Raises nothing but ``LeaseLost``: what goes wrong is a result."""
        names = {entry.name for entry in self._entries if isinstance(entry, entries.PythonEntry)}
        return replace(self._run_safely(call, arguments), provider="python" if call.tool_name in names else "builtin")

    def _run_safely(self, call: Event, arguments: Any) -> Result:
        try:
            return self._run(call, arguments)
        except LeaseLost:
            raise
        except Stopped:
            return of_text(f"Interrupted by a person while it ran. {UNSURE}", "cancelled", unknown_outcome=True)
        except TooSlow as slow:
            return of_text(f"It gave {slow}. {UNSURE}", "error", unknown_outcome=True)
        except BrokeOff as broken:
            return of_text(f"{broken}. {UNSURE}", "error", unknown_outcome=True)
        except Exception as error:  # a tool may fail in any way, and the agent has to hear of it
            log.info("the tool %s failed: %s", call.tool_name, type(error).__name__)
            return of_text(self._without_secrets(call, str(error) or type(error).__name__), "error")

    def _run(self, call: Event, arguments: Any) -> Result:
        if call.tool_server is not None:
            server = self._servers.get(call.tool_server)
            if server is None:
                return of_text(f'This agent has no MCP server "{call.tool_server}" any more.', "error")
            return server.call(call.tool_name or "", arguments)
        own = next(
            (offer for offer in (person_tools.escalation(), *self._own_offers()) if offer.name == call.tool_name), None
        )
        if own is None:
            return of_text(f'This agent has no tool "{call.tool_name}" any more.', "error")
        return own.run(arguments)

    def _without_secrets(self, call: Event, message: str) -> str:
        server = self._servers.get(call.tool_server or "")
        return server.hide(message) if server else message

    def _own_offers(self) -> list[Offer]:
        found = []
        for entry in self._entries:
            if isinstance(entry, entries.McpEntry):
                continue
            try:
                found.append(self._offer_of_entry(entry))
            except Unusable as why:
                self._add_problem(f'the tool "{entry.name}" cannot be used: {why}')
        return found

    def _offer_of_entry(self, entry: entries.PythonEntry | entries.CustomEntry) -> Offer:
        if isinstance(entry, entries.CustomEntry):
            return person_tools.offer(entry)
        return python_tools.offer(entry, self._turn, self._portal)

    def _offers_of_server(self, server: Server) -> list[Offer]:
        try:
            found, problems = server.offers()
        except Down as down:
            self._add_problem(f"{down}; its tools are missing in this turn")
            return []
        except Stopped:
            return []
        for problem in problems:
            self._add_problem(f"the MCP server {server.entry.server}: {problem}")
        return found

    def _add_problem(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _mcp_server(entry: entries.McpEntry, turn: TurnRun, portal: BlockingPortal) -> Server:
    from .mcp_tools import Server  # when first needed: most agents have none, and the SDK takes long to load

    return Server(entry, turn, portal)
