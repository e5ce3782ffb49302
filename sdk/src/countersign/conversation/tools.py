"""Python functions as tools of a model."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints

Json = dict[str, Any]
TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class Tool:
    """A function, what a model is told of it, and how it is called: by its own name and parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self._function = function
        try:
            hints = get_type_hints(function)
        except (NameError, TypeError):  # an annotation that cannot be read says nothing
            hints = {}
        given = inspect.signature(function).parameters.values()
        named = [one for one in given if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        typed = {one.name: _type(hints.get(one.name)) for one in named}
        self.told: Json = {
            "name": self.name, "description": inspect.getdoc(function) or self.name,
            "input_schema": {"type": "object", "properties": typed,
                             "required": [one.name for one in named if one.default is one.empty]},
        }  # fmt: skip

    async def call(self, arguments: Json) -> Any:
        """What the function returns; one that is no coroutine runs in a thread."""
        if inspect.iscoroutinefunction(self._function):
            return await self._function(**arguments)
        return await asyncio.to_thread(self._function, **arguments)


def tools_of(given: Iterable[Any]) -> dict[str, Tool]:
    """Tools by name, of functions and lists of functions. Raises ``ValueError`` where two are called the same."""
    found: dict[str, Tool] = {}
    for one in given:
        new = tools_of(one) if isinstance(one, (list, tuple)) else {one.__name__: Tool(one)}
        twice = found.keys() & new.keys()
        if twice:
            raise ValueError(f"two tools are called {min(twice)}")
        found |= new
    return found


def as_text(result: Any) -> str:
    """A result as the model reads it."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def _type(hint: Any) -> Json:
    kind = TYPES.get(getattr(hint, "__origin__", hint))
    return {"type": kind} if kind else {}
