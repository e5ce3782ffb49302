"""Attributes of OTLP as plain values, and those that spell out a list in their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.values import dict_of, list_of

DEEPEST = 12
"""Parts of a name that are taken apart; ``0.message.tool_calls.0.tool_call.function.arguments`` has seven."""
MOST_ITEMS = 10_000
"""Of a list in names: an index beyond is nonsense."""


SPACES = frozenset({
    "agent", "ai", "gen_ai", "input", "llm", "openinference", "output", "session", "tool", "tool_call", "traceloop",
    "user",
})  # fmt: skip
"""First parts of names that Phoenix turns into a tree of objects: ``{"llm": {"token_count": {"prompt": 9}}}``."""
WHOLE = frozenset({"arguments", "invocation_parameters", "parameters", "result", "value"})
"""Last parts of names whose values may be objects themselves."""


def plain(attributes: Any) -> dict[str, Any]:
    """``[{key, value: {stringValue}}]`` as a dict; exporters of SDKs write a dict at once, Phoenix a tree of them."""
    if isinstance(attributes, dict):
        if not any(name in SPACES and isinstance(value, dict) for name, value in attributes.items()):
            return attributes
        return {long: value for name, held in attributes.items() for long, value in _dotted(name, held, name in SPACES)}
    pairs = (item for item in list_of(attributes) if isinstance(item, dict) and isinstance(item.get("key"), str))
    return {item["key"]: plain_value(item.get("value")) for item in pairs}


def _dotted(name: str, value: Any, opens: bool, level: int = 0) -> Iterator[tuple[str, Any]]:
    """The values in a tree of objects, by their whole names."""
    if opens and isinstance(value, dict) and level < DEEPEST and name.rpartition(".")[2] not in WHOLE:
        for key, inner in value.items():
            yield from _dotted(f"{name}.{key}", inner, True, level + 1)
    else:
        yield name, value


def plain_value(value: Any, level: int = 0) -> Any:
    """An ``AnyValue``: 64-bit integers are text in JSON (protobuf's mapping), names are in either case.

    Some serialisers write the kinds that it is not beside it, as null.
    """
    if not isinstance(value, dict) or level > 20:
        return value if not isinstance(value, dict) else None
    kinds = ((name.replace("_", "").lower(), inner) for name, inner in value.items() if inner is not None)
    name, inner = next(((name, inner) for name, inner in kinds if name.endswith("value")), ("", None))
    if name == "intvalue":
        return _integer(inner)
    if name == "arrayvalue":
        return [plain_value(item, level + 1) for item in list_of(dict_of(inner).get("values"))]
    if name == "kvlistvalue":
        pairs = (item for item in list_of(dict_of(inner).get("values")) if isinstance(item, dict))
        return {str(item.get("key")): plain_value(item.get("value"), level + 1) for item in pairs}
    return inner


def _integer(value: Any) -> Any:
    try:
        return int(value) if isinstance(value, str) and len(value) < 20 else value
    except ValueError:
        return value


def listed(attributes: dict[str, Any], prefix: str) -> list[Any]:
    """``<prefix>.0.role``, ``<prefix>.0.tool_calls.0.name`` … as a list of objects; Phoenix has the list itself."""
    if isinstance(held := attributes.get(prefix), list):
        return [_opened(item, 0) for item in held[:MOST_ITEMS]]
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}."):
            _put_member(root, name[len(prefix) + 1 :].split(".", DEEPEST), value)
    found = _lists(root)
    return found if isinstance(found, list) else []


def _opened(value: Any, level: int) -> Any:
    """``{"message.role": …}`` and ``{"message": {"role": …}}`` as ``{"role": …}``, at all levels."""
    if isinstance(value, list) and level < DEEPEST:
        return [_opened(item, level + 1) for item in value]
    if not isinstance(value, dict) or level >= DEEPEST:
        return value
    root: dict[str, Any] = {}
    for name, inner in value.items():
        _put_member(root, name.split(".", DEEPEST), inner if name in WHOLE else _opened(inner, level + 1))
    return _unwrapped(root)


def _put_member(holder: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = holder.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        holder = inner
    holder.setdefault(path[-1], value)


def _lists(value: Any) -> Any:
    """Objects whose names are all numbers are lists; OpenInference wraps each item once more."""
    if not isinstance(value, dict):
        return value
    inner = {name: _lists(item) for name, item in value.items()}
    if inner and all(name.isdecimal() and len(name) < 6 for name in inner):
        return [_unwrapped(inner[name]) for name in sorted(inner, key=int)[:MOST_ITEMS]]
    return inner


def _unwrapped(item: Any) -> Any:
    """``{message: {…}}``, ``{tool_call: {function: {…}}}``, ``{message_content: {…}}`` without the wrapper."""
    if isinstance(item, dict) and len(item) == 1:
        name, inner = next(iter(item.items()))
        if name in ("message", "tool_call", "message_content", "document") and isinstance(inner, dict):
            return inner
    return item
