"""The clients of ``anthropic`` and ``openai``, recorded in a session; neither package is imported here.

Of each request what came after the model's last answer is new: a person's message, results of tools. A response is the
agent's message, the calls it wants, and its tokens; a streamed one is told when it ends. Nothing that goes wrong in
recording reaches the program.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, TypeVar

from . import chat_completions, messages_api, responses_api
from .streams import Reading, is_stream, watch
from .telling import Recording, plain, safely, tell_error

Client = TypeVar("Client")


def record_anthropic(client: Client, session: Recording) -> Client:
    """The same ``Anthropic`` or ``AsyncAnthropic``, whose ``messages`` (``beta``, too) are recorded from now on."""
    for messages in (client.messages, client.beta.messages):  # type: ignore[attr-defined]
        _watch(messages, session, messages_api)
    return client


def record_openai(client: Client, session: Recording) -> Client:
    """The same ``OpenAI`` or ``AsyncOpenAI``: ``chat.completions`` and ``responses`` are recorded from now on."""
    _watch(client.chat.completions, session, chat_completions)  # type: ignore[attr-defined]
    _watch(client.responses, session, responses_api)  # type: ignore[attr-defined]
    return client


def _watch(place: Any, session: Recording, api: Any) -> None:
    """Tell of what ``place`` posts: ``create``, ``parse`` and ``stream`` all do it there, and nowhere else."""
    post = place._post

    @functools.wraps(post)
    def recorded(path: str, **asked: Any) -> Any:
        if path.partition("?")[0] != api.PATH:
            return post(path, **asked)
        safely(lambda: api.tell_new(session, asked["body"]))
        try:
            answer = post(path, **asked)
        except Exception as error:
            tell_error(session, error)
            raise
        return later(answer) if inspect.isawaitable(answer) else told(answer)

    async def later(answer: Any) -> Any:
        try:
            return told(await answer)
        except Exception as error:
            tell_error(session, error)
            raise

    def told(answer: Any) -> Any:
        if is_stream(answer):
            safely(lambda: watch(answer, Reading(session, api.Pieces(), api.tell)))
        else:
            safely(lambda: api.tell(session, plain(answer)))
        return answer

    place._post = recorded
