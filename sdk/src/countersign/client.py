"""Ask a desk from a program: ``Client`` waits in the thread, ``AsyncClient`` in the event loop."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from . import asking, wire
from .answers import Decision, Question

ID = frozenset("0123456789abcdefABCDEF-")
"""Characters of an approval's id."""


class NotConfigured(Exception):
    """There is no address or no key."""


class Denied(PermissionError):
    """A call may not run; ``decision`` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.status}: {decision.reason or decision.answer or 'no reason given'}")
        self.decision = decision


class _Asker:
    def __init__(self, url: str | None = None, api_key: str | None = None, *, agent: str | None = None) -> None:
        """``COUNTERSIGN_URL`` and ``COUNTERSIGN_API_KEY`` stand in for what is not given.

        ``agent`` is the name to ask in. Raises ``NotConfigured``.
        """
        url, api_key = url or os.environ.get("COUNTERSIGN_URL"), api_key or os.environ.get("COUNTERSIGN_API_KEY")
        if not url or not api_key:
            raise NotConfigured(f"{'COUNTERSIGN_API_KEY' if url else 'COUNTERSIGN_URL'} is not set")
        try:
            self._desk = wire.Address(url)
        except ValueError as error:
            raise NotConfigured(f"COUNTERSIGN_URL: {error}") from None
        self._headers = {"Authorization": f"Bearer {api_key}", "Accept": "application/json"}
        self._agent = agent

    def _question(
        self, tool: str, arguments: dict[str, Any], session: str | None, agent: str | None, client_id: str | None,
        **more: Any,
    ) -> Question:  # fmt: skip
        place: dict[str, Any] = {"session_id": session} if session else {"agent": agent or self._agent}
        if place.get("agent", session) is None:
            raise ValueError("say either session or agent: in whose name is it asked?")
        return Question(tool, arguments, client_id=client_id or str(uuid.uuid4()), **place, **more)

    def _exchange(self, request: asking.Request) -> tuple[int, bytes] | wire.Unreachable | wire.Garbled:
        try:
            return wire.exchange(self._desk, request.method, request.path, request.body, self._headers, request.timeout)
        except (wire.Unreachable, wire.Garbled) as failed:
            return failed


def _execution(decision: Decision, status: str, detail: str) -> asking.Request:
    """Raises ``ValueError`` for another status, and ``PermissionError`` where nothing may run."""
    if status not in ("running", "succeeded", "errored"):
        raise ValueError(f'"{status}" is no status: use running, succeeded or errored')
    if not decision.allowed:
        raise PermissionError(f"this call may not run: {decision.status}")
    said = {"digest": decision.digest, "status": status} | ({"detail": detail} if detail else {})
    path = f"/api/v1/approvals/{decision.approval_id}/execution"
    return asking.Request("POST", path, json.dumps(said).encode(), asking.PROMPT)


def _cancellation(approval: Decision | str, reason: str) -> asking.Request:
    """Raises ``ValueError`` where the desk never took the question."""
    id_ = approval if isinstance(approval, str) else approval.approval_id
    if not id_ or not ID.issuperset(id_):
        raise ValueError("there is no approval to withdraw: the desk did not take the question")
    body = json.dumps({"reason": reason} if reason else {}).encode()
    return asking.Request("POST", f"/api/v1/approvals/{id_}/cancel", body, asking.PROMPT)


def _is_taken(came: tuple[int, bytes] | wire.Unreachable | wire.Garbled) -> bool:
    return isinstance(came, tuple) and came[0] in (200, 201)


class Client(_Asker):
    """A desk, asked from a program that may wait.

    ``ask`` never raises because of what the desk does: whatever is not a well-formed answer about this very call is no.
    """

    def ask(
        self, tool: str, arguments: dict[str, Any], *, session: str | None = None, agent: str | None = None,
        server: str | None = None, context: str | None = None, risk: str | None = None, expires_in: int | None = None,
        client_id: str | None = None, external_id: str | None = None, title: str | None = None,
        fingerprint: str | None = None, wait: float | None = None, announce: Callable[[Decision], None] | None = None,
    ) -> Decision:  # fmt: skip
        """Ask whether a call may be made, and wait for the decision: ``wait`` seconds, or until it is decided.

        The same ``client_id`` again is the same question; what is asked with the same ``external_id`` is asked in one
        session, which is called ``title``. ``fingerprint``: SHA-256 of the tool's schema and its server's address;
        with another one, what was allowed for more than one call holds no longer. ``announce`` is called once, when the
        desk has taken the question and people have to decide. Raises ``ValueError`` for arguments that are no JSON.
        """
        question = self._question(
            tool, arguments, session, agent, client_id, server=server, context=context, risk=risk,
            expires_in=expires_in, external_id=external_id, title=title, fingerprint=fingerprint,
        )  # fmt: skip
        asked = asking.steps(question, wait, time.monotonic, announce)
        try:
            step = next(asked)
            while True:
                if isinstance(step, asking.Request):
                    step = asked.send(self._exchange(step))
                else:
                    time.sleep(step)
                    step = asked.send(None)
        except StopIteration as done:
            return _decided(done)

    def require(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The arguments that must be run. Raises ``Denied`` where it may not be."""
        return required(self.ask(tool, arguments, **more))

    def report(self, decision: Decision, status: str, detail: str = "") -> bool:
        """Say that the call begins (``running``), or what came of it (``succeeded``, ``errored``).

        False where the desk did not take it. A call that begins and is not taken must not be made: it was stopped
        meanwhile, or the desk is gone.
        """
        return _is_taken(self._exchange(_execution(decision, status, detail)))

    def cancel(self, approval: Decision | str, reason: str = "") -> bool:
        """Withdraw a question (a decision that is ``pending`` still, or an id): its call is not wanted any more.

        False where it is too late, or the desk is gone: then ``ask`` again with the same ``client_id`` to learn which.
        """
        return _is_taken(self._exchange(_cancellation(approval, reason)))


class AsyncClient(_Asker):
    """The same for programs that run an event loop. A cancelled ``ask`` leaves the question with the desk."""

    async def ask(
        self, tool: str, arguments: dict[str, Any], *, session: str | None = None, agent: str | None = None,
        server: str | None = None, context: str | None = None, risk: str | None = None, expires_in: int | None = None,
        client_id: str | None = None, external_id: str | None = None, title: str | None = None,
        fingerprint: str | None = None, wait: float | None = None,
    ) -> Decision:  # fmt: skip
        """As ``Client.ask``."""
        question = self._question(
            tool, arguments, session, agent, client_id, server=server, context=context, risk=risk,
            expires_in=expires_in, external_id=external_id, title=title, fingerprint=fingerprint,
        )  # fmt: skip
        asked = asking.steps(question, wait, time.monotonic)
        try:
            step = next(asked)
            while True:
                if isinstance(step, asking.Request):
                    step = asked.send(await self._exchanged(step))
                else:
                    await asyncio.sleep(step)
                    step = asked.send(None)
        except StopIteration as done:
            return _decided(done)

    async def _exchanged(self, request: asking.Request) -> tuple[int, bytes] | wire.Unreachable | wire.Garbled:
        """In a thread that nobody waits for when the program ends, or when who asked is cancelled."""
        loop = asyncio.get_running_loop()
        came: asyncio.Future[tuple[int, bytes] | wire.Unreachable | wire.Garbled] = loop.create_future()

        def settle(outcome: tuple[int, bytes] | wire.Unreachable | wire.Garbled | Exception) -> None:
            if came.done():
                return
            if isinstance(outcome, (tuple, wire.Unreachable, wire.Garbled)):
                came.set_result(outcome)
            else:
                came.set_exception(outcome)

        def work() -> None:
            try:
                outcome: tuple[int, bytes] | Exception = self._exchange(request)
            except Exception as error:  # handed over to who awaits it
                outcome = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, outcome)

        threading.Thread(target=work, name="countersign", daemon=True).start()
        return await came

    async def require(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        """As ``Client.require``."""
        return required(await self.ask(tool, arguments, **more))

    async def report(self, decision: Decision, status: str, detail: str = "") -> bool:
        """As ``Client.report``."""
        return _is_taken(await self._exchanged(_execution(decision, status, detail)))

    async def cancel(self, approval: Decision | str, reason: str = "") -> bool:
        """As ``Client.cancel``."""
        return _is_taken(await self._exchanged(_cancellation(approval, reason)))


def _decided(done: StopIteration) -> Decision:
    decision = done.value
    return decision if isinstance(decision, Decision) else Decision("failed", "no answer")


def required(decision: Decision) -> dict[str, Any]:
    """The arguments that must be run. Raises ``Denied`` where it may not be."""
    if not decision.allowed:
        raise Denied(decision)
    return decision.arguments
