"""What all recorders tell a session of: new messages, calls, results, errors. None of it reaches the program."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from ..session import AsyncSession, Session

Json = dict[str, Any]
Recording = Session | AsyncSession
KNOWN = 10_000
"""Calls that are remembered."""
BROKEN_OFF = {"broken_off": True}
"""``data`` of what is left of a response that did not come to its end."""
ENDINGS = (GeneratorExit, KeyboardInterrupt, SystemExit, asyncio.CancelledError)
"""The program wants no more: it is no error."""
logger = logging.getLogger("countersign")


def safely(tell: Callable[..., Any], *about: Any) -> None:
    """Tell, and log what goes wrong in it, whatever a library or a later version of it hands over."""
    try:
        tell(*about)
    except Exception as error:
        logger.warning("countersign: not recorded: %s: %s", type(error).__name__, error)


def tell_call(session: Recording, call_id: str, name: str, arguments: Any, server: str | None = None) -> None:
    """A call that a model wants."""
    tool = {"call_id": call_id, "name": name, "server": server, "arguments": arguments}
    session.record("tool_call", tool=tool)


def tell_result(
    session: Recording, call_id: Any, result: Any, *, failed: bool, text: str | None = None, took: float | None = None
) -> None:
    """What came of it; ``took``: seconds."""
    tool = {"call_id": call_id, "result": result, "status": "error" if failed else "ok"}
    data = {"duration_ms": round(took * 1000, 3)} if took is not None else None
    session.record("tool_result", text=text, tool=tool, data=data)


def tell_error(session: Recording, error: BaseException) -> None:
    """Unless the program itself broke off."""
    if not isinstance(error, ENDINGS):
        safely(lambda: session.record("error", text=said_by(error), actor={"kind": "agent"}))


def said_by(error: BaseException) -> str:
    """Its kind and its words."""
    return f"{type(error).__name__}: {error}"[:10_000]


def plain(answer: Any) -> Json:
    """As JSON, of a client's own class or of a dict."""
    if isinstance(answer, dict):
        return {name: [plain(one) if hasattr(one, "model_dump") else one for one in held]
                if isinstance(held, list) else held for name, held in answer.items()}  # fmt: skip
    if not hasattr(answer, "model_dump"):
        raise TypeError(f"a {type(answer).__name__} is not recorded: raw responses are not")
    read: Json = answer.model_dump(mode="json")
    return read


def read_arguments(text: Any) -> Any:
    """Arguments of a call as a model writes them."""
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return {"arguments": text}


def is_json(text: str) -> bool:
    """Whether the arguments of a call came to their end."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class Calls:
    """Calls by their ids: each, and its result, is told once, whichever of a framework's hooks knows of it first."""

    def __init__(self, session: Recording) -> None:
        self._session = session
        self._wanted: dict[str, tuple[str, Any]] = {}
        self._done: dict[str, None] = {}

    def want(self, call_id: str, name: str, arguments: Any, server: str | None = None) -> None:
        """A model or the program wants it."""
        if call_id not in self._wanted and call_id not in self._done:
            _keep(self._wanted, call_id, (name, arguments))
            tell_call(self._session, call_id, name, arguments, server)

    def finish(self, call_id: str, result: Any, *, failed: bool = False, **more: Any) -> None:
        """It was made, or will not be; ``more`` as of ``tell_result``."""
        if call_id not in self._done:
            self._wanted.pop(call_id, None)
            _keep(self._done, call_id, None)
            tell_result(self._session, call_id, result, failed=failed, **more)

    def like(self, name: str, arguments: Any) -> str | None:
        """The id of the oldest call of this tool with these arguments that has no result."""
        return next((id_ for id_, wanted in self._wanted.items() if wanted == (name, arguments)), None)


def _keep(known: dict[str, Any], call_id: str, value: Any) -> None:
    while len(known) >= KNOWN:
        del known[next(iter(known))]
    known[call_id] = value
