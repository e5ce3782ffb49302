"""Microsoft Agent Framework (``agent-framework-core`` 1.23): a middleware asks about every call of a function tool, and
what waits for an approval is answered by the desk.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..answers import Decision
from ..canonical import canonical
from ..sentences import why
from .asker import Asker


class Gate:
    """``middleware`` goes to the agent, ``run`` stands in for ``agent.run``. Options: those of ``Asker``."""

    def __init__(self, agent: str, **options: Any) -> None:
        self._asker = Asker(agent, **options)
        self._decisions: dict[str, Decision] = {}
        """By call, as ``_written`` writes it, from its approval to its execution; each is used up by one."""

    @property
    def middleware(self) -> Any:
        """For ``Agent(middleware=[...])``: asks right before a function runs, unless ``run`` has asked about it."""
        from agent_framework import function_middleware

        async def decide(context: Any, call_next: Any) -> None:
            given = _given(context.arguments)
            name, id_ = context.function.name, context.metadata.get("call_id")
            decision = self._decisions.pop(_written(name, id_, given), None)
            if decision is None:
                decision = await self._asker.ask(name, given, external_id=_session(context.session))
            if not decision.allowed:
                context.result = why(decision)
                return
            if decision.is_edited:
                context.arguments = decision.arguments
            try:
                await call_next()
            except Exception:
                await self._asker.report(decision, failed=True)
                raise
            await self._asker.report(decision)

        return function_middleware(decide)

    async def run(self, agent: Any, given: Any, *, session: Any = None, **more: Any) -> Any:
        """``agent.run`` until nothing waits for an approval.

        The framework takes a yes or a no and no more: an edit is a no here.
        """
        session = session or agent.create_session()
        result = await agent.run(given, session=session, **more)
        while requests := [each for each in result.user_input_requests if each.type == "function_approval_request"]:
            answers = await asyncio.gather(*(self._answer(each, session) for each in requests))
            result = await agent.run(_message(answers), session=session, **more)
        return result

    async def _answer(self, request: Any, session: Any) -> Any:
        call = request.function_call
        given = call.parse_arguments()
        given = {} if given is None else given
        decision = await self._asker.ask(
            str(call.name), given, server=call.server_name or None, external_id=_session(session)
        )
        approved = decision.allowed and not decision.is_edited
        if approved and not call.hosted:
            self._decisions[_written(call.name, call.call_id, given)] = decision
        return request.to_function_approval_response(approved)


def _message(contents: list[Any]) -> Any:
    from agent_framework import Message

    return Message(role="user", contents=contents)


def _given(arguments: Any) -> Any:
    """As an object: the framework gives a mapping, or a model of pydantic."""
    return arguments.model_dump(mode="json") if hasattr(arguments, "model_dump") else dict(arguments or {})


def _session(session: Any) -> str | None:
    id_ = getattr(session, "session_id", None)
    return id_ if isinstance(id_, str) and id_ else None


def _written(name: Any, call: Any, arguments: Any) -> str:
    try:
        return canonical([str(name), str(call), arguments])
    except (ValueError, RecursionError):
        return ""
