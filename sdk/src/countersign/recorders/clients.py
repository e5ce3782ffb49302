"""The clients of ``anthropic`` and ``openai``, recorded in a session; neither package is imported here.

Of each request what came after the model's last answer is new: a person's message, results of tools. A response is the
agent's message, the calls it wants, and its tokens. Nothing that goes wrong in recording reaches the program.
"""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from ..session import AsyncSession, Session

Json = dict[str, Any]
Client = TypeVar("Client")
Recording = Session | AsyncSession
logger = logging.getLogger("countersign")
STREAMED = "a streamed response of a model was not recorded: only whole ones are"


def record_anthropic(client: Client, session: Recording) -> Client:
    """The same ``Anthropic`` or ``AsyncAnthropic``, whose ``messages.create`` is recorded from now on."""
    _watch(client.messages, session, "messages", _anthropic)  # type: ignore[attr-defined]
    return client


def record_openai(client: Client, session: Recording) -> Client:
    """The same ``OpenAI`` or ``AsyncOpenAI``: ``chat.completions.create`` is recorded from now on."""
    _watch(client.chat.completions, session, "messages", _openai)  # type: ignore[attr-defined]
    return client


def _watch(place: Any, session: Recording, given: str, read: Callable[[Recording, Json], None]) -> None:
    """Have ``place.create`` tell the session of its new messages and its response."""
    create = place.create

    @functools.wraps(create)
    def recorded(*args: Any, **asked: Any) -> Any:
        _safely(lambda: _tell_new(session, asked.get(given) or []))
        try:
            answer = create(*args, **asked)
        except Exception as error:
            _tell_error(session, error)
            raise
        return later(answer) if inspect.isawaitable(answer) else told(answer)

    async def later(answer: Any) -> Any:
        try:
            return told(await answer)
        except Exception as error:
            _tell_error(session, error)
            raise

    def told(answer: Any) -> Any:
        _safely(lambda: read(session, _plain(answer)))
        return answer

    place.create = recorded


def _anthropic(session: Recording, answer: Json) -> None:
    text = "".join(block.get("text") or "" for block in answer["content"] if block["type"] == "text")
    if text:
        session.message(text, model=answer["model"])
    for block in answer["content"]:
        if block["type"] == "tool_use":
            _tell_call(session, block["id"], block["name"], block["input"])
    used = answer["usage"]
    session.usage(
        model=answer["model"], input_tokens=used["input_tokens"], output_tokens=used["output_tokens"],
        cache_read_tokens=used.get("cache_read_input_tokens"),
        cache_write_tokens=used.get("cache_creation_input_tokens"),
    )  # fmt: skip


def _openai(session: Recording, answer: Json) -> None:
    """Its tokens of the prompt hold those that were cached; ours do not."""
    for choice in answer["choices"]:
        said = choice["message"]
        if said.get("content"):
            session.message(said["content"], model=answer["model"])
        for call in said.get("tool_calls") or ():
            if call.get("function"):
                _tell_call(session, call["id"], call["function"]["name"], _read(call["function"]["arguments"]))
    used = answer.get("usage")
    if used:
        cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        session.usage(
            model=answer["model"], input_tokens=used["prompt_tokens"] - cached, cache_read_tokens=cached,
            output_tokens=used["completion_tokens"],
            reasoning_tokens=(used.get("completion_tokens_details") or {}).get("reasoning_tokens"),
        )  # fmt: skip


def _tell_new(session: Recording, messages: Any) -> None:
    if not isinstance(messages, list | tuple):  # what can be read but once is the client's
        raise TypeError("the messages are no list")
    plain = [_plain(message) for message in messages]
    answered = [place for place, message in enumerate(plain) if message.get("role") == "assistant"]
    for message in plain[answered[-1] + 1 :] if answered else plain:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            _tell_result(session, message.get("tool_call_id"), content, failed=False)
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if block.get("type") == "tool_result":
                _tell_result(session, block["tool_use_id"], block.get("content"), failed=bool(block.get("is_error")))
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if text:
            session.message(text, "user" if role == "user" else "system")


def _tell_call(session: Recording, call_id: str, name: str, arguments: Any) -> None:
    session.record("tool_call", tool={"call_id": call_id, "name": name, "arguments": arguments})


def _tell_result(session: Recording, call_id: Any, result: Any, *, failed: bool) -> None:
    tool = {"call_id": call_id, "result": result, "status": "error" if failed else "ok"}
    session.record("tool_result", tool=tool)


def _tell_error(session: Recording, error: Exception) -> None:
    _safely(lambda: session.record("error", text=f"{type(error).__name__}: {error}"[:10_000], actor={"kind": "agent"}))


def _safely(tell: Callable[[], Any]) -> None:
    try:
        tell()
    except Exception as error:  # whatever a client or a later version of it answers
        logger.warning("countersign: not recorded: %s: %s", type(error).__name__, error)


def _plain(answer: Any) -> Json:
    """As JSON, of a client's own class or of a dict."""
    if isinstance(answer, dict):
        return {name: [_plain(one) if hasattr(one, "model_dump") else one for one in held]
                if isinstance(held, list) else held for name, held in answer.items()}  # fmt: skip
    if not hasattr(answer, "model_dump"):
        raise TypeError(STREAMED)
    plain: Json = answer.model_dump(mode="json")
    return plain


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"arguments": text}
