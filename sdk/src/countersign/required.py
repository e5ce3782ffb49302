"""``requires_approval``: a function that runs only with a decision of the desk about its arguments."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from .client import AsyncClient, Client, required

Function = TypeVar("Function", bound=Callable[..., Any])


def requires_approval(agent: str, *, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
    """Ask in the name of ``agent`` before each call, and run it with what was decided; ``Denied`` otherwise.

    For functions and for coroutine functions; ``name``: of the tool, the function's own unless it is given;
    ``options``: those of ``Client.ask``. All calls in a process are asked in one session, unless they name another. The
    arguments have to be JSON; the desk is told what came of the call.
    Raises ``TypeError`` for a function whose arguments have no names, and ``NotConfigured`` when it is called.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
        if any(parameter.kind in unnamed for parameter in signature.parameters.values()):
            raise TypeError(f"{function.__name__} takes arguments without names, which nobody could decide about")
        tool = name or function.__name__
        place = {} if options.keys() & {"session", "external_id"} else {"external_id": str(uuid.uuid4())}
        said = options | place

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            itself, given = _arguments(signature, args, kwargs)
            client = Client(agent=agent)
            decision = client.ask(tool, given, **said)
            arguments = required(decision)
            try:
                result = function(*itself, **arguments)
            except Exception:
                client.report(decision, "errored")
                raise
            client.report(decision, "succeeded")
            return result

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            itself, given = _arguments(signature, args, kwargs)
            client = AsyncClient(agent=agent)
            decision = await client.ask(tool, given, **said)
            arguments = required(decision)
            try:
                result = await function(*itself, **arguments)
            except Exception:
                await client.report(decision, "errored")
                raise
            await client.report(decision, "succeeded")
            return result

        wrapped: Any = run_async if inspect.iscoroutinefunction(function) else run
        return wrapped

    return decorate


def _arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """What a method is called on, and the arguments by name, with those that were left out."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    itself, given = [], dict[str, Any]()
    for number, (name, value) in enumerate(bound.arguments.items()):
        if number == 0 and name in ("self", "cls"):
            itself.append(value)
        elif signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        else:
            given[name] = value
    return itself, given
