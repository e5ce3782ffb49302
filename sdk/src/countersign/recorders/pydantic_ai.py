"""Pydantic AI (``pydantic-ai-slim`` 2.68): a capability that tells a session of an agent's models and tools."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .telling import BROKEN_OFF, Calls, Recording, safely, said_by, tell_error

FAILED = ("failed", "retried")
"""Outcomes of a call that went wrong."""


def recording(session: Recording | Callable[[Any], Recording]) -> Any:
    """A capability for ``Agent(capabilities=[...])``. ``session``: of every run, or a function of ``RunContext``."""
    from pydantic_ai.capabilities import AbstractCapability

    class Recorded(AbstractCapability):  # type: ignore[misc]  # Any, where it is not installed
        """``told`` is of one run."""

        def __init__(self, told: _Told | None = None) -> None:
            self._told: Any = told

        async def for_run(self, ctx: Any) -> Any:
            return Recorded(_Told(session(ctx) if callable(session) else session))

        async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
            told = self._told
            safely(told.asked, request_context.messages)
            try:
                response = await handler(request_context)
            except BaseException as error:
                safely(told.failed, request_context, error)
                raise
            safely(told.answered, response)
            return response

        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
            told, begun = self._told, time.perf_counter()
            try:
                result = await handler(args)
            except Exception as error:
                safely(told.broke, call, error, time.perf_counter() - begun)
                raise
            safely(told.made, call, result, time.perf_counter() - begun)
            return result

    return Recorded()


class _Told:
    """What a run has told."""

    def __init__(self, session: Recording) -> None:
        self._session, self._calls = session, Calls(session)

    def asked(self, messages: list[Any]) -> None:
        answered = [place for place, message in enumerate(messages) if message.kind == "response"]
        for message in messages[answered[-1] + 1 :] if answered else messages:
            for part in message.parts:
                self._part(part)

    def _part(self, part: Any) -> None:
        tool = getattr(part, "tool_name", None)
        if tool and part.part_kind in ("tool-return", "retry-prompt"):
            failed = part.part_kind == "retry-prompt" or part.outcome in FAILED
            self._calls.finish(part.tool_call_id, part.content, failed=failed)
        elif text := _text(part.content):
            self._session.message(text, "user" if part.part_kind == "user-prompt" else "system")

    def answered(self, response: Any) -> None:
        data = BROKEN_OFF if getattr(response, "state", "complete") == "interrupted" else None
        if text := "".join(part.content for part in response.parts if part.part_kind == "text"):
            self._session.message(text, model=response.model_name, data=data)
        for part in response.parts:
            if part.part_kind == "tool-call" and data is None:
                self._calls.want(part.tool_call_id, part.tool_name, part.args_as_dict())
        used = response.usage
        cached = used.cache_read_tokens + used.cache_write_tokens
        self._session.usage(
            model=response.model_name or "unknown", input_tokens=max(used.input_tokens - cached, 0),
            cache_read_tokens=used.cache_read_tokens, cache_write_tokens=used.cache_write_tokens,
            output_tokens=used.output_tokens, reasoning_tokens=used.details.get("reasoning_tokens"), data=data,
        )  # fmt: skip

    def failed(self, request: Any, error: BaseException) -> None:
        """What had come of a streamed response is kept beside the request; a library that keeps none tells none."""
        kept = getattr(getattr(request, "_usage_response_ledger", None), "responses", ())
        for response in kept[-1:]:
            if response.state == "interrupted":
                self.answered(response)
        tell_error(self._session, error)

    def made(self, call: Any, result: Any, took: float) -> None:
        self._calls.want(call.tool_call_id, call.tool_name, call.args_as_dict())
        self._calls.finish(call.tool_call_id, result, took=took)

    def broke(self, call: Any, error: Exception, took: float) -> None:
        if type(error).__name__ not in ("ApprovalRequired", "CallDeferred"):  # it is made later
            self._calls.want(call.tool_call_id, call.tool_name, call.args_as_dict())
            self._calls.finish(call.tool_call_id, None, failed=True, text=said_by(error), took=took)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(one for one in content or () if isinstance(one, str))
