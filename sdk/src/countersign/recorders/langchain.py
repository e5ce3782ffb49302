"""LangChain (``langchain-core`` 1.8) and LangGraph: a callback handler that tells a session of models and tools."""

from __future__ import annotations

import time
from typing import Any

from .telling import BROKEN_OFF, Calls, Json, Recording, safely, said_by, tell_error

PAUSE = "GraphBubbleUp"
"""LangGraph raises it to wait or to go elsewhere: the call is made later, and did not fail."""


def callbacks(session: Recording) -> Any:
    """A handler for ``config={"callbacks": [...]}``, of ``invoke``, ``stream`` and their async forms."""
    from langchain_core.callbacks import BaseCallbackHandler

    told = _Told(session)

    class Handler(BaseCallbackHandler):  # type: ignore[misc]  # Any, where it is not installed
        run_inline = True  # in the order of the program; nothing here waits

        def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
            safely(lambda: told.asked([one for batch in messages for one in _new(batch)]))

        def on_llm_start(self, serialized: Any, prompts: Any, **more: Any) -> None:
            safely(lambda: [session.message(prompt, "user") for prompt in prompts])

        def on_llm_end(self, response: Any, **more: Any) -> None:
            safely(lambda: told.answered(response, is_whole=True))

        def on_llm_error(self, error: BaseException, *, response: Any = None, **more: Any) -> None:
            safely(lambda: told.answered(response, is_whole=False))
            tell_error(session, error)

        def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, **more: Any) -> None:
            safely(lambda: told.started(str(run_id), (serialized or {}).get("name") or "", input_str, more))

        def on_tool_end(self, output: Any, *, run_id: Any, **more: Any) -> None:
            safely(lambda: told.ended(str(run_id), output))

        def on_tool_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
            safely(told.failed, str(run_id), error)

    return Handler()


class _Told:
    def __init__(self, session: Recording) -> None:
        self._session, self._calls = session, Calls(session)
        self._running: dict[str, tuple[str, float]] = {}

    def asked(self, messages: list[Any]) -> None:
        for message in messages:
            if message.type == "tool":
                self._finish_by(message)
            elif text := _text(message):
                self._session.message(text, "user" if message.type == "human" else "system")

    def answered(self, response: Any, *, is_whole: bool) -> None:
        for generations in response.generations if response else ():
            for generation in generations[:1]:
                self._tell(generation, response.llm_output or {}, None if is_whole else BROKEN_OFF)

    def _tell(self, generation: Any, output: Json, data: Json | None) -> None:
        message: Any = getattr(generation, "message", None)
        about = getattr(message, "response_metadata", None) or {}
        model = about.get("model_name") or about.get("model") or output.get("model_name")
        text = _text(message) if message is not None else generation.text
        if text:
            self._session.message(text, model=model, data=data)
        for call in getattr(message, "tool_calls", None) or ():
            if data is None:  # of one that was broken off the arguments may not be whole
                self._calls.want(call["id"] or f"{message.id}-{call['name']}", call["name"], call["args"])
        used = getattr(message, "usage_metadata", None)
        if used:
            of_input, of_output = used.get("input_token_details") or {}, used.get("output_token_details") or {}
            read, written = of_input.get("cache_read") or 0, of_input.get("cache_creation") or 0
            self._session.usage(
                model=model or "unknown", input_tokens=used["input_tokens"] - read - written,
                cache_read_tokens=read, cache_write_tokens=written, output_tokens=used["output_tokens"],
                reasoning_tokens=of_output.get("reasoning"), data=data,
            )  # fmt: skip

    def started(self, run: str, name: str, written: str, more: Json) -> None:
        call_id = more.get("tool_call_id") or run
        self._running[run] = call_id, time.perf_counter()
        inputs = more.get("inputs")
        self._calls.want(call_id, name, inputs if inputs is not None else {"input": written})

    def ended(self, run: str, output: Any) -> None:
        call_id, took = self._stop(run)
        if getattr(output, "type", None) == "tool":
            self._finish_by(output, took=took)
        else:
            self._calls.finish(call_id, output, took=took)

    def failed(self, run: str, error: BaseException) -> None:
        call_id, took = self._stop(run)
        if not any(kind.__name__ == PAUSE for kind in type(error).__mro__):
            self._calls.finish(call_id, None, failed=True, text=said_by(error), took=took)

    def _stop(self, run: str) -> tuple[str, float]:
        call_id, begun = self._running.pop(run)
        return call_id, time.perf_counter() - begun

    def _finish_by(self, message: Any, **more: Any) -> None:
        failed = getattr(message, "status", "") == "error"
        self._calls.finish(message.tool_call_id, message.content, failed=failed, **more)


def _new(messages: list[Any]) -> list[Any]:
    """What came after the model's last answer."""
    answered = [place for place, message in enumerate(messages) if message.type == "ai"]
    return messages[answered[-1] + 1 :] if answered else messages


def _text(message: Any) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text") or "" for part in content)
    return "".join(part for part in parts)
