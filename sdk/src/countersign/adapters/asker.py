"""Ask about the calls of an agent library: in one session of the desk, and with no for whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from typing import Any

from ..answers import Decision
from ..client import AsyncClient

REPORTING = 5.0
"""Seconds that a program waits until the desk has taken what came of a call."""
logger = logging.getLogger("countersign")


class Asker:
    """Asks in the name of ``agent``; one asker is one session of the desk.

    ``wait``: seconds until a call that nobody decided is refused (None: as long as the desk keeps it open).
    ``external_id`` names the session in the words of the program. Raises ``NotConfigured``.
    """

    def __init__(
        self, agent: str, *, wait: float | None = None, expires_in: int | None = None, risk: str | None = None,
        external_id: str | None = None, client: AsyncClient | None = None,
    ) -> None:  # fmt: skip
        self._client = client or AsyncClient(agent=agent)
        self._agent, self._wait = agent, wait
        self._more: dict[str, Any] = {"expires_in": expires_in, "risk": risk}
        self._external_id = external_id or str(uuid.uuid4())

    async def ask(
        self, tool: str, arguments: Any, *, server: str | None = None, context: str | None = None,
        external_id: str | None = None,
    ) -> Decision:  # fmt: skip
        """The decision on a call, never raises; ``arguments``: an object, or the text of one.

        Every call is a question of its own: ids of calls are made by models, and come twice.
        """
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
            if not isinstance(given, dict):
                return Decision("failed", "the arguments of the call are no object")
            return await self._client.ask(
                tool, given, agent=self._agent, server=server, context=context or None, wait=self._wait,
                external_id=external_id or self._external_id, **self._more,
            )  # fmt: skip
        except (ValueError, RecursionError) as error:
            return Decision("failed", f"the arguments of the call are no JSON ({error})")

    async def report(self, decision: Decision, *, failed: bool = False) -> None:
        """Tell the desk what came of a call that it allowed. Raises nothing: the call was made, whoever is told."""
        status = "errored" if failed else "succeeded"
        try:
            taken = await asyncio.wait_for(self._client.report(decision, status), REPORTING)
        except TimeoutError:
            taken = False
        if not taken:
            logger.warning("the desk did not take that %s %s", decision.approval_id, status)
