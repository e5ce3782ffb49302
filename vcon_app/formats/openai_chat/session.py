"""Conversations in a file of requests and responses, each of which repeats the history before it.

A conversation is known by what came from outside (the person's messages, the tools' results): the hash of all of
that so far is a position. A request goes on with the conversation whose last position it contains; the model's
side of its history counts only where no response has told that position. Settings (system prompts) are told once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from ...drafts import Draft, EventDraft, ToolDraft, Usage
from ..common.calls import ID_LIMIT, Call, Calls
from ..common.facts import Facts
from ..common.lines import Actor, Line, digest
from ..common.reading import Findings, unknown_event
from ..common.values import bounded
from .pieces import AGENT, Piece, position_bytes

START = ""


def positions(pieces: Iterable[Piece], start: str = START) -> list[str]:
    """The positions that a request passes."""
    passed = []
    for piece in pieces:
        if piece.side == "input":
            start = digest(position_bytes(piece, start))
            passed.append(start)
    return passed


@dataclass(slots=True)
class Billing:
    """Tokens, cost and model of a response; they go on the last of its events that is known."""

    request: str | None = None
    model: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None
    at: datetime | None = None
    data: dict[str, Any] = field(default_factory=dict)


class Session:
    """One conversation, with its events so far."""

    def __init__(self, name: str, id: str, findings: Findings) -> None:
        self.facts = Facts(name, "", id)
        self.drafts: list[EventDraft] = []
        self.calls = Calls()
        self.position = START
        """Where the conversation stands."""
        self.told = {START}
        """Its positions, and what was said once (settings, items with ids)."""
        self.first = ""
        """Its first position, by which a conversation without an id is known."""
        self._answered: set[str] = set()
        """Positions at which the model's side was told."""
        self._keys: dict[str, int] = {}
        self._findings = findings

    @property
    def external_id(self) -> str:
        """The id that the file states, else one made of what the person said first."""
        return self.facts.session or (f"{self.facts.name}-{self.first}" if self.first else self.facts.external_id)

    def request(self, line: Line, pieces: list[Piece], start: str = START) -> None:
        """Tell what of a request is new, and stand where it ends."""
        answered = frozenset(self._answered)
        position = start
        for piece in pieces:
            if piece.side == "input":
                position = digest(position_bytes(piece, position))
                self.first = self.first or position
                self._once(line, piece, position, position)
            elif piece.side == "setting":
                self._once(line, piece, digest(position_bytes(piece, START)), position)
            elif position not in answered:
                self._answered.add(position)
                self._add(line, piece, position)
        self.position = position

    def response(self, line: Line, pieces: list[Piece], billing: Billing) -> None:
        """Tell an answer at the position of the request before it."""
        self._answered.add(self.position)
        bearer = next((piece for piece in reversed(pieces) if not piece.unknown), None)
        for piece in pieces:
            shared = Billing(model=billing.model, at=billing.at)
            self._add(line, piece, self.position, billing if piece is bearer else shared)
        if bearer is None and (billing.usage or billing.data):
            self._add(line, Piece("model_request", "output", actor=AGENT), self.position, billing)
        self.facts.model = billing.model or self.facts.model
        self.facts.at(billing.at)

    def tell_messages(self, line: Line, pieces: Iterable[Piece]) -> None:
        """Tell messages that follow one another, none of which repeats another."""
        for piece in pieces:
            if piece.side == "input":
                self.position = digest(position_bytes(piece, self.position))
                self.first = self.first or self.position
                self.told.add(self.position)
            self._add(line, piece, self.position)

    def complete(self, external_id: str) -> Iterator[Draft]:
        """The session and its events."""
        yield replace(self.facts.draft(complete=False), external_id=external_id)
        yield from self.drafts
        yield replace(self.facts.draft(complete=True), external_id=external_id)

    def _once(self, line: Line, piece: Piece, known: str, position: str) -> None:
        if known not in self.told:
            self.told.add(known)
            self._add(line, piece, position)

    def _add(self, line: Line, piece: Piece, position: str, billing: Billing | None = None) -> None:
        billing = billing or Billing()
        line = replace(line, at=billing.at or line.at, depth=piece.depth)
        line.key = self._key(piece, position)
        if piece.unknown:
            self.drafts.append(unknown_event(self._findings, line, piece.unknown, piece.raw, path=piece.path))
            return
        tool, called = self._tool_of(piece, len(line.raw))
        actor: Actor = ("tool", tool.name or "") if piece.kind == "tool_result" and tool else piece.actor
        event = line.event(
            piece.kind, piece.text, at_path=piece.path, actor=actor, tool=tool, parent=called.key if called else None,
            data=piece.data | billing.data, model=billing.model, usage=billing.usage, request=billing.request,
            cost=billing.cost,
        )  # fmt: skip
        if tool and piece.kind in ("tool_call", "approval") and not called:
            self.calls.add(tool.call_id, Call(event.key, tool.name or "", tool.server))
        self.drafts.append(event)

    def _tool_of(self, piece: Piece, size: int) -> tuple[ToolDraft | None, Call | None]:
        """The tool half of a piece in a line of ``size`` bytes, and the call that it answers or is asked for."""
        tool = piece.tool
        if tool is None:
            return None, None
        tool = replace(tool, arguments=bounded(tool.arguments, size), result=bounded(tool.result, size))
        called = self.calls.get(tool.call_id) if piece.kind in ("tool_result", "approval") else None
        if called:
            tool = replace(tool, name=tool.name or called.name or None, server=tool.server or called.server)
        return tool, called

    def _key(self, piece: Piece, position: str) -> str:
        key = f"{(piece.id or piece.kind)[:ID_LIMIT]}:{digest(position_bytes(piece, position))[:12]}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        return key if count == 1 else f"{key}#{count}"
