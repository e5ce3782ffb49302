"""Tools that are Python functions: entry points of installed packages, in the group ``countersign.tools``.

Type hints become the JSON schema, the docstring the description; arguments are checked before the function runs.
What it raises is an error for the model, with the exception's own words.
"""

from __future__ import annotations

import inspect
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from anyio.from_thread import BlockingPortal
from pydantic import PydanticUserError, TypeAdapter, validate_call
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from sessions_app.runtimes.calls import Result
from sessions_app.runtimes.run import TurnRun

from .entries import PythonEntry
from .offers import Offer, Unusable, schema_of
from .results import of_value
from .waiting import in_thread, outcome

GROUP = "countersign.tools"


def offer(entry: PythonEntry, turn: TurnRun, portal: BlockingPortal) -> Offer:
    """Offer of the function as a tool. Raises ``Unusable`` when it is not there or cannot be described."""
    function = _function(entry.name)
    try:
        schema = TypeAdapter(function).json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, NameError) as error:
        raise Unusable(f"its type hints make no JSON schema ({error.__class__.__name__}: {error})") from None
    run = partial(_run, validate_call(function), inspect.iscoroutinefunction(function), turn, portal, entry.timeout)
    return Offer(entry.name, None, inspect.getdoc(function) or "", schema_of(schema), run)


def _function(name: str) -> Any:
    found = list(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        known = ", ".join(sorted({point.name for point in entry_points(group=GROUP)})) or "none"
        many = "no installed package offers it" if not found else "several installed packages offer it"
        raise Unusable(f"{many} as an entry point of {GROUP}; there is {known}")
    try:
        function = found[0].load()
    except Exception as error:  # any module may fail in any way while it is imported
        raise Unusable(f"{found[0].value} cannot be loaded: {error.__class__.__name__}: {error}") from error
    if not inspect.isroutine(function):
        raise Unusable(f"{found[0].value} is no function")
    return function


def _run(
    function: Any, is_async: bool, turn: TurnRun, portal: BlockingPortal, seconds: float, arguments: Any
) -> Result:
    call = partial(function, **(arguments if isinstance(arguments, dict) else {"input": arguments}))
    future = portal.start_task_soon(call) if is_async else in_thread(call)
    return of_value(outcome(future, turn, seconds))
