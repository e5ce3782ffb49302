"""Requests to a model as events: of each input, which repeats the whole history, only what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ....drafts import EventDraft, Kind, ToolDraft
from ..calls import Call, Calls, server_of
from ..jsonio import dumps
from ..lines import Actor, Line
from ..values import bounded
from .messages import Message
from .parts import Part

CONTEXTS = 16
"""Histories of one agent that are remembered: a new request goes on from one of the latest."""
SPOKEN: dict[str, tuple[Kind, Actor]] = {
    "system": ("system", ("system", "")), "user": ("user_message", ("person", "")),
    "assistant": ("agent_message", ("agent", "")), "tool": ("injected_context", ("tool", "")),
}  # fmt: skip


class Histories:
    """History of each agent: fingerprints of the messages that it has sent and received."""

    def __init__(self) -> None:
        self._by_agent: dict[Any, list[list[str]]] = {}

    def new_messages(self, agent_key: Any, fingerprints: list[str]) -> list[int]:
        """Indices of the messages that no history of the agent has yet; ``fingerprints`` are theirs.

        Where a history goes on, that is its end. Where it was shortened (after its first messages others were left
        out), what the one it comes from holds is not told twice.
        """
        shared, history = 0, []
        for known in reversed(self._by_agent.get(agent_key, [])):
            count = _shared(known, fingerprints)
            if count > shared:
                shared, history = count, known
            if count == len(known):  # nothing can be a better beginning than all that was said
                break
        rest = Counter(history[shared:])
        found = []
        for index in range(shared, len(fingerprints)):
            if rest[fingerprints[index]] > 0:
                rest[fingerprints[index]] -= 1
            else:
                found.append(index)
        return found

    def remember(self, agent_key: Any, fingerprints: list[str]) -> None:
        """Remember what was sent and answered."""
        if not fingerprints:  # nothing was recorded of what was said, which no history goes on from
            return
        known = self._by_agent.setdefault(agent_key, [])
        known.append(fingerprints)
        del known[:-CONTEXTS]


def _shared(known: list[str], fingerprints: list[str]) -> int:
    """Length of the common beginning. Mostly one begins with all of the other, and lists compare fast."""
    length = min(len(known), len(fingerprints))
    if known[:length] == fingerprints[:length]:
        return length
    return next(index for index in range(length) if known[index] != fingerprints[index])


class Teller:
    """Event maker for the requests of one session, in their order. No event depends on what comes later."""

    def __init__(self, calls: Calls, *, as_events: bool) -> None:
        """``as_events``: a call without a span of its own becomes one when its result comes back in a message.

        Else its message names it, and the result is context that the model was given.
        """
        self._histories = Histories()
        self._calls = calls
        self._as_events = as_events
        self._asked: dict[str, Part] = {}
        self._ran: set[str] = set()

    def note_call_span(self, call_id: str | None, name: str | None) -> None:
        """Note that a span tells of this call (of this tool, where it names no call), so messages need not."""
        self._ran.add(call_id or f"name:{name}")

    def context(self, line: Line, agent_key: Any, sent: list[Message]) -> Iterator[EventDraft]:
        """Events of what is new in a history that no request was made of."""
        yield from self._new_requests(line, agent_key, sent, [message.print for message in sent])

    def _new_requests(
        self, line: Line, agent_key: Any, sent: list[Message], fingerprints: list[str]
    ) -> Iterator[EventDraft]:
        for index in self._histories.new_messages(agent_key, fingerprints):
            yield from self._message(line, sent[index], f":i{index}")

    def new_events(
        self, line: Line, agent_key: Any, sent: list[Message], answered: list[Message], ended: datetime | None = None,
        **billing: Any,
    ) -> Iterator[EventDraft]:  # fmt: skip
        """Events of what is new in the request, then of the answer at the time ``ended``.

        ``billing`` (usage, cost, request, model, data) stands with the last event of the answer.
        """
        fingerprints = [message.print for message in sent]
        yield from self._new_requests(line, agent_key, sent, fingerprints)
        self._histories.remember(agent_key, fingerprints + [message.print for message in answered])
        line.at = ended or line.at
        made = [event for index, message in enumerate(answered) for event in self._message(line, message, f":o{index}")]
        if not made:
            made = [line.event("model_request", part=":r", actor=line.agent)]
        yield from made[:-1]
        yield replace(made[-1], **billing | {"data": billing.get("data", {}) | made[-1].data})

    def _message(self, line: Line, message: Message, part: str) -> Iterator[EventDraft]:
        self._asked |= {_call_key(piece): piece for piece in message.parts if piece.kind == "call"}
        for index, piece in enumerate(_parts_of_kind(message, "reasoning")):
            yield line.event("reasoning", piece.text, part=f"{part}.r{index}", actor=line.agent)
        yield from self._text_event(line, message, part)
        for index, piece in enumerate(_parts_of_kind(message, "result")):
            if not self._has_span(piece):
                yield from self._result_events(line, piece, f"{part}.{index}")

    def _text_event(self, line: Line, message: Message, part: str) -> Iterator[EventDraft]:
        """The message itself; calls in it are only named, for they are events where they ran."""
        text = "\n".join(piece.text for piece in _parts_of_kind(message, "text"))
        others = [piece.value for piece in _parts_of_kind(message, "other") if piece.value]
        named = [self._named(line, piece) for piece in _parts_of_kind(message, "call")]
        if not (text or others or named):
            return
        data: dict[str, Any] = {"attachments": others} if others else {}
        if named:
            data["calls"] = named
        kind, actor = _spoken_by(line, message.role)
        if message.role == "assistant" and not (text or others):
            kind = "model_request"
        yield line.event(kind, text, part=part, actor=actor, data=data)

    def _result_events(self, line: Line, piece: Part, part: str) -> Iterator[EventDraft]:
        """A result that stands in no span; with its call, when that was only named so far."""
        if not self._as_events:
            data = {"call_id": piece.call_id, "name": self._name(piece)}
            yield line.event("injected_context", _text(piece), part=f"{part}.t", data=data)
            return
        asked = self._asked.pop(_call_key(piece), None)
        call = self._call(line, asked, f"{part}.c") if asked else None
        if call:
            yield call
        yield self._result(line, piece, call, f"{part}.t")

    def _has_span(self, piece: Part) -> bool:
        return _call_key(piece) in self._ran or f"name:{self._name(piece)}" in self._ran

    def _name(self, piece: Part) -> str | None:
        asked = self._asked.get(_call_key(piece))
        return piece.name or (asked.name if asked else None)

    def _named(self, line: Line, piece: Part) -> dict[str, Any]:
        return {"id": piece.call_id, "name": piece.name, "arguments": bounded(piece.value, len(line.raw))}

    def _call(self, line: Line, piece: Part, part: str) -> EventDraft:
        tool = ToolDraft(piece.call_id, piece.name, server_of(piece.name), bounded(piece.value, len(line.raw)))
        event = line.event("tool_call", part=part, actor=line.agent, tool=tool)
        self._calls.add(piece.call_id, Call(event.key, piece.name or "", tool.server))
        return event

    def _result(self, line: Line, piece: Part, asked: EventDraft | None, part: str) -> EventDraft:
        call = Call(asked.key, asked.tool.name or "") if asked and asked.tool else self._calls.get(piece.call_id)
        name = piece.name or (call.name if call else None)
        status = ("error" if piece.failed else "ok") if piece.failed is not None else None
        value = bounded(piece.value, len(line.raw))
        tool = ToolDraft(piece.call_id, name, server_of(name), result=value, status=status)
        parent = call.key if call else None
        return line.event("tool_result", piece.text, part=part, actor=("tool", name or ""), tool=tool, parent=parent)


def _parts_of_kind(message: Message, kind: str) -> list[Part]:
    return [part for part in message.parts if part.kind == kind]


def _spoken_by(line: Line, role: str) -> tuple[Kind, Actor]:
    """Event kind and actor of a message of this role; a sub-agent's user is the agent above it."""
    kind, actor = SPOKEN.get(role, ("injected_context", ("unknown", "")))
    if role == "assistant":
        return kind, line.agent
    return kind, ("agent", "") if role == "user" and line.depth else actor


def _call_key(piece: Part) -> str:
    """Key by which a result finds its call: the id, or the name where a vendor gives no ids."""
    return piece.call_id or f"name:{piece.name}"


def _text(piece: Part) -> str:
    return piece.text or ("" if piece.value is None else dumps(piece.value).decode())
