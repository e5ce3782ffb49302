"""What has a begin and an end in a session: a turn, a tool call. Neither end waits for the desk."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Literal, Protocol


class Recorded(Protocol):
    """A session, as far as it records."""

    def message(
        self, text: str, role: Literal["user", "assistant", "system"] = "assistant", *, name: str | None = None,
        model: str | None = None,
    ) -> str: ...  # fmt: skip

    def record(self, kind: str, *, client_id: str | None = None, **fields: Any) -> str: ...


class Span:
    """A context manager of both kinds: neither begin nor end waits for the desk."""

    def __enter__(self) -> Any:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(error)

    async def __aenter__(self) -> Any:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(error)

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self, error: BaseException | None) -> None:
        raise NotImplementedError


class Turn(Span):
    """What a person's message leads to."""

    def __init__(self, session: Recorded, prompt: str, name: str | None) -> None:
        self._session, self._prompt, self._name = session, prompt, name

    def __enter__(self) -> Turn:
        self._begin()
        return self

    async def __aenter__(self) -> Turn:
        return self.__enter__()

    def reply(self, text: str, *, model: str | None = None) -> str:
        """A message of the agent."""
        return self._session.message(text, model=model)

    def _begin(self) -> None:
        self._session.message(self._prompt, "user", name=self._name)

    def _end(self, error: BaseException | None) -> None:
        if error is not None and not isinstance(error, (SystemExit, GeneratorExit)):
            self._session.record("error", text=_said(error), actor={"kind": "agent"})


class ToolCall(Span):
    """A call that is being made. ``result``: what came of it, any JSON; ``status``: ``ok`` unless it says otherwise."""

    def __init__(self, session: Recorded, name: str, arguments: Any, server: str | None, call_id: str) -> None:
        self._session, self.call_id = session, call_id
        self._tool = {"call_id": call_id, "name": name, "server": server, "arguments": arguments}
        self.result: Any = None
        self.status: Literal["ok", "error", "cancelled", "denied"] = "ok"

    def __enter__(self) -> ToolCall:
        self._begin()
        return self

    async def __aenter__(self) -> ToolCall:
        return self.__enter__()

    def denied(self, reason: str = "") -> None:
        """It was not made, because it may not be."""
        self.status, self.result = "denied", reason or None

    def _begin(self) -> None:
        self._begun = time.perf_counter()
        self._call = self._session.record("tool_call", tool=self._tool)

    def _end(self, error: BaseException | None) -> None:
        took = round((time.perf_counter() - self._begun) * 1000, 3)
        if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit)):
            self.status = "cancelled"
        elif error is not None:
            self.status = "error"
        tool = {"call_id": self.call_id, "result": self.result, "status": self.status}
        text = _said(error) if error is not None else None
        self._session.record(
            "tool_result", text=text, tool=tool, data={"duration_ms": took}, parent_client_id=self._call or None
        )


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:10_000]
    except Exception:  # of the program's own __str__
        return type(error).__name__
