"""Requests to a model as events: of each input, which repeats the whole history, only what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..calls import Call, Calls, server_of
from ..jsonio import dumps
from ..lines import Actor, Line
from ..values import bounded
from .messages import Message
from .parts import Part

CONTEXTS = 16
"""Histories of one agent that are remembered: a new request goes on from one of the latest."""
SPOKEN: dict[str, tuple[str, Actor]] = {
    "system": ("system", ("system", "")), "user": ("user_message", ("person", "")),
    "assistant": ("agent_message", ("agent", "")), "tool": ("tool_result", ("tool", "")),
}  # fmt: skip


class Histories:
    """What each agent has seen and said so far, by fingerprints of messages."""

    def __init__(self) -> None:
        self._lanes: dict[Any, list[list[str]]] = {}

    def new(self, lane: Any, messages: list[Message]) -> list[tuple[int, Message]]:
        """The messages that no history of the lane has yet, with their index.

        Where a history goes on, that is its end. Where it was shortened (after its first messages others were left
        out), what the one it comes from holds is not told twice.
        """
        prints = [message.print for message in messages]
        shared, history = max(
            ((_shared(known, prints), known) for known in self._lanes.get(lane, [[]])), key=lambda pair: pair[0]
        )
        rest = Counter(history[shared:]) if shared else Counter()
        found = []
        for index in range(shared, len(messages)):
            if rest[prints[index]] > 0:
                rest[prints[index]] -= 1
            else:
                found.append((index, messages[index]))
        return found

    def keep(self, lane: Any, messages: list[Message]) -> None:
        """Remember what was sent and answered."""
        known = self._lanes.setdefault(lane, [])
        known.append([message.print for message in messages])
        del known[:-CONTEXTS]


def _shared(known: list[str], prints: list[str]) -> int:
    count = 0
    for a, b in zip(known, prints, strict=False):
        if a != b:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Told:
    """Which calls have spans of their own, and what is done with the others that stand in messages."""

    ids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Of tools whose spans name no call."""
    as_events: bool = False
    """Whether the others become calls and results; else their message names them, with what they were given."""

    def has(self, piece: Part, name: str | None) -> bool:
        """Whether a span tells of this call or result."""
        return piece.call_id in self.ids or (name or piece.name) in self.names


class Teller:
    """Makes events of the requests of one session."""

    def __init__(self, calls: Calls, told: Told) -> None:
        self._histories = Histories()
        self._calls = calls
        self._told = told
        self._names: dict[str | None, str | None] = {}

    def tell(
        self, line: Line, lane: Any, sent: list[Message], answered: list[Message], **billing: Any
    ) -> Iterator[EventDraft]:
        """What is new in the request, then the answer; ``billing`` (usage, cost, request) stands with its end."""
        for index, message in self._histories.new(lane, sent):
            yield from self._message(line, message, f":i{index}")
        self._histories.keep(lane, sent + answered)
        made = [event for index, message in enumerate(answered) for event in self._message(line, message, f":o{index}")]
        if not made:
            made = [line.event("model_request", part=":r", actor=line.agent)]
        yield from made[:-1]
        yield replace(made[-1], **billing)

    def _message(self, line: Line, message: Message, part: str) -> Iterator[EventDraft]:
        self._names |= {piece.call_id: piece.name for piece in message.parts if piece.kind == "call"}
        for index, piece in enumerate(piece for piece in message.parts if piece.kind == "reasoning"):
            yield line.event("reasoning", piece.text, part=f"{part}.r{index}", actor=line.agent)
        yield from self._said(line, message, part)
        for index, piece in enumerate(message.parts):
            if piece.kind == "call" and self._is_event(piece):
                yield self._call(line, piece, f"{part}.c{index}")
            elif piece.kind == "result" and self._is_event(piece):
                yield self._result(line, piece, f"{part}.t{index}")
            elif piece.kind == "result" and not self._is_told(piece):
                text = piece.text or dumps(piece.value).decode()
                data = {"role": "tool", "call_id": piece.call_id, "name": self._name(piece)}
                yield line.event("injected_context", text, part=f"{part}.t{index}", data=data)

    def _said(self, line: Line, message: Message, part: str) -> Iterator[EventDraft]:
        """The message itself. Calls that spans tell of are only named: they are told where they ran."""
        text = "\n".join(piece.text for piece in message.parts if piece.kind == "text")
        others = [piece.value for piece in message.parts if piece.kind == "other" and piece.value]
        named = [self._named(line, piece) for piece in message.parts if piece.kind == "call"]
        named = [] if self._told.as_events else named
        if not (text or others or named):
            return
        data = ({"attachments": others} if others else {}) | ({"calls": named} if named else {})
        if message.role == "tool" and not self._told.as_events:
            yield line.event("injected_context", text, part=part, data={"role": "tool"})
            return
        kind, actor = SPOKEN.get(message.role, ("injected_context", ("unknown", "")))
        actor = line.agent if message.role == "assistant" else actor
        actor = ("agent", "") if message.role == "user" and line.depth else actor
        yield line.event(kind, text, part=part, actor=actor, data=data)

    def _is_told(self, piece: Part) -> bool:
        return self._told.has(piece, self._name(piece))

    def _is_event(self, piece: Part) -> bool:
        return self._told.as_events and not self._is_told(piece)

    def _name(self, piece: Part) -> str | None:
        return piece.name or self._names.get(piece.call_id)

    def _named(self, line: Line, piece: Part) -> dict[str, Any]:
        named = {"id": piece.call_id, "name": piece.name}
        return named if self._is_told(piece) else named | {"arguments": bounded(piece.value, len(line.raw))}

    def _call(self, line: Line, piece: Part, part: str) -> EventDraft:
        tool = ToolDraft(piece.call_id, piece.name, server_of(piece.name), bounded(piece.value, len(line.raw)))
        event = line.event("tool_call", part=part, actor=line.agent, tool=tool)
        self._calls.add(piece.call_id, Call(event.key, piece.name or "", tool.server))
        return event

    def _result(self, line: Line, piece: Part, part: str) -> EventDraft:
        call, name = self._calls.of(piece.call_id), self._name(piece)
        status = ("error" if piece.failed else "ok") if piece.failed is not None else None
        value = bounded(piece.value, len(line.raw))
        tool = ToolDraft(piece.call_id, name, server_of(name), result=value, status=status)
        parent = call.key if call else None
        return line.event("tool_result", piece.text, part=part, actor=("tool", name or ""), tool=tool, parent=parent)
