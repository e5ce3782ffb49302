"""Responses of Anthropic's Messages API as programs keep them, and its batches: requests (``custom_id``, ``params``)
and results (``custom_id``, ``result``), in lines, a list or one object. Nothing says which of them belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ..drafts import Draft
from .common.agents.pieces import pieces_of
from .common.agents.reading import AgentReading
from .common.apis.anthropic import usage_of
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Item, Line, digest
from .common.records import part_of, records
from .common.runs import alone
from .common.values import dict_of, list_of, scalars_of, text_of
from .contract import Spec

NAME = "anthropic-api"
SPEC = Spec(name=NAME, title="Anthropic responses and batches")
ENDS = frozenset({"succeeded", "errored", "canceled", "expired"})
STATED = frozenset({"stop_reason", "usage"})
ROLES = {"user": "user", "assistant": "assistant", "system": "system"}


def detect(head: Head) -> bool:
    """By a response with what the API says of its end, or by a line of a batch."""
    if head.records:
        return any(map(_is_ours, head.records[:5]))
    shape = head.shape  # an object that is larger than what is looked at
    said = shape.get("type") == "message" and shape.get("role") == "assistant" and shape.get("content") == "["
    return said and not STATED.isdisjoint(head.keys)


def _is_ours(value: dict[str, Any]) -> bool:
    return bool(_message_in(value) or _ended(value) or _asked(value))


def _message_in(value: dict[str, Any]) -> dict[str, Any]:
    """The response itself, or that in the result of a batch."""
    held = dict_of(dict_of(value.get("result")).get("message")) if "custom_id" in value else value
    said = held.get("type") == "message" and held.get("role") == "assistant" and isinstance(held.get("content"), list)
    return held if said and not STATED.isdisjoint(held) else {}


def _ended(value: dict[str, Any]) -> bool:
    return "custom_id" in value and text_of(dict_of(value.get("result")).get("type")) in ENDS


def _asked(value: dict[str, Any]) -> dict[str, Any]:
    """The request of a batch; those of OpenAI have a body and an address."""
    asked = dict_of(value.get("params")) if "custom_id" in value else {}
    return asked if isinstance(asked.get("messages"), list) and "max_tokens" in asked else {}


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of each response or request, one in memory at a time. Raises ``FormatError``."""
    yield from alone(records(source, NAME), NAME, _opened, MessageReading)


def _opened(item: Line) -> Iterator[Item] | None:
    return _items(item) if _is_ours(item.value) else None


def _items(record: Line) -> Iterator[Item]:
    value = record.value
    message, asked, result = _message_in(value), _asked(value), dict_of(value.get("result"))
    header = {"session": text_of(message.get("id")) or f"{NAME}-{digest(dumps(value))}",
              "custom_id": value.get("custom_id"), "model": message.get("model") or asked.get("model")}  # fmt: skip
    yield Line(header, record.pointer, dumps(header), record.offset, about_session=True)
    if system := asked.get("system"):
        yield part_of(record, {"role": "system", "content": system}, "/params")
    for index, said in enumerate(list_of(asked.get("messages"))):
        if isinstance(said, dict):
            yield part_of(record, said, f"/params/messages/{index}")
    if message:
        yield part_of(record, message, "/result/message" if "custom_id" in value else "")
    elif result:
        yield part_of(record, {"ended": result}, "/result")


class MessageReading(AgentReading):
    """The state of one response or request while it is read."""

    name = NAME
    title = "Claude"
    stamps = ()

    def note(self, line: Line) -> None:
        value = line.value
        if "session" in value:
            self.claim(value["session"])
            self.facts.title = text_of(value.get("custom_id")) or self.facts.title
            self.facts.model = text_of(value.get("model"))[:200] or self.facts.model

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        role = ROLES.get(text_of(value.get("role")))
        if "session" in value:
            return
        if "ended" in value:
            yield self._failed(line, dict_of(value["ended"]))
        elif role:
            answers = role == "assistant" and not STATED.isdisjoint(value)
            data = scalars_of({"stop_reason": value.get("stop_reason")})
            yield from self.message(
                line, role, pieces_of(value.get("content")), data=data, usage=usage_of(value) if answers else None,  # type: ignore[arg-type]
                request=text_of(value.get("id")) or None, model=value.get("model") if answers else None,
            )  # fmt: skip
        else:
            yield self.unknown(line, f"role {text_of(value.get('role'))[:100]!r}")

    def _failed(self, line: Line, ended: dict[str, Any]) -> Draft:
        """A request of a batch that was not answered."""
        kind = text_of(ended.get("type"))
        error = dict_of(ended.get("error"))
        error = dict_of(error.get("error")) or error
        self.facts.phase = "crashed" if kind == "errored" else "cancelled"
        event: Any = "error" if kind == "errored" else "status"
        return line.event(
            event, text_of(error.get("message")), data={"type": kind} | scalars_of({"error": error.get("type")})
        )
