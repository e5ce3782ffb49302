"""``pi --mode json``: a message is told piece by piece, whole at its end, and again at the ends of its turn and of the
run. Its end is what counts. Of one that never ended the last piece says all that came of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...common.lines import Item, Line
from ...common.records import part_of
from ...common.values import dict_of, list_of, text_of

REPEATS = frozenset({
    "message_start", "message_update", "turn_end", "agent_end", "tool_execution_start", "tool_execution_update",
    "tool_execution_end",
})  # fmt: skip
PASSED = frozenset({"agent_start", "turn_start"})
TOLD = frozenset({"message_start", "message_update", "message_end", "turn_end"})
ROLES = frozenset({"user", "assistant", "toolResult"})


def is_streamed(line: dict[str, Any]) -> bool:
    """An event that holds a message in pi's own words: with its time in milliseconds, or with why it ended."""
    kind, message = text_of(line.get("type")), dict_of(line.get("message"))
    if kind == "agent_end":
        message = next(map(dict_of, list_of(line.get("messages"))), {})
    elif kind not in TOLD:
        return False
    return text_of(message.get("role")) in ROLES and bool(
        {"stopReason", "toolCallId"} & message.keys() or _is_ms(message)
    )


def _is_ms(message: dict[str, Any]) -> bool:
    at = message.get("timestamp")
    return isinstance(at, (int, float)) and at > 10**12


def without_repeats(items: Iterable[Item]) -> Iterator[Item]:
    """Entries of a session as they are; of a stream each message once, as an entry would hold it."""
    told: set[str] = set()
    """Messages since the run began, as ``_mark`` knows them."""
    begun: Line | None = None
    for item in items:
        if not isinstance(item, Line):
            yield item
            continue
        kind = text_of(item.value.get("type"))
        if kind == "agent_start":
            told.clear()
        if kind in PASSED:
            continue
        for place, message in _messages(item.value) if kind in REPEATS or kind == "message_end" else ():
            if kind in ("message_start", "message_update"):
                begun = item
            elif kind == "message_end" or _mark(message) not in told:
                told.add(_mark(message))
                begun = None
                yield _entry(item, message, place)
        if kind not in REPEATS and kind != "message_end":
            yield item
    if begun is not None:
        yield _entry(begun, {**dict_of(begun.value.get("message")), "stopReason": "aborted"}, "")


def _messages(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value.get("message"), dict):
        yield "", value["message"]
    for name in ("toolResults", "messages"):
        for index, message in enumerate(list_of(value.get(name))):
            if isinstance(message, dict):
                yield f"/{name}/{index}", message


def _mark(message: dict[str, Any]) -> str:
    named = (message.get(name) for name in ("role", "toolCallId", "timestamp", "responseId"))
    return "\0".join(map(str, named))


def _entry(line: Line, message: dict[str, Any], place: str) -> Line:
    """A message under the names of an entry."""
    return part_of(line, {"type": "message", "message": message}, place)
