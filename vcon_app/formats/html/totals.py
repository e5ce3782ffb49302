"""The first walk over the events: what each turn and the session came to, counted as the desk counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from sessions_app.rendering.text import first_line

from ...drafts import EventDraft, Usage

COUNTED = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
PROMPT = 120
"""Characters of a prompt that stand in the outline."""


@dataclass(slots=True)
class Tally:
    """Tokens, money and time of a turn or of the session. ``None`` is "not said", never 0."""

    prompt: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    events: int = 0
    tool_calls: int = 0
    errors: int = 0
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    uncosted: bool = False
    """Some response has tokens and no cost, so ``cost`` is a lower bound."""

    @property
    def total_tokens(self) -> int | None:
        known = [count for name in COUNTED if (count := getattr(self, name)) is not None]
        return sum(known) if known else None

    @property
    def milliseconds(self) -> float | None:
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds() * 1000

    def count(self, event: EventDraft) -> None:
        """Count an event: errors, calls, times and the like that need no other event."""
        self.events += 1
        self.errors += event.kind == "error" or (event.kind == "tool_result" and _failed(event))
        self.tool_calls += event.kind == "tool_call"
        if event.at:
            self.started_at = min(self.started_at or event.at, event.at)
            self.ended_at = max(self.ended_at or event.at, event.at)

    def add_response(self, usage: Usage | None, cost: Decimal | None) -> None:
        """Add one model response."""
        for name in COUNTED if usage else ():
            if (count := getattr(usage, name)) is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)
        if cost is not None:
            self.cost = (self.cost or Decimal(0)) + cost
        elif usage and any(getattr(usage, name) for name in COUNTED):
            self.uncosted = True


@dataclass(slots=True)
class Total(Tally):
    """Of the session. A turn has no dictionaries: all turns are held at once, and there may be 50,000."""

    models: dict[str, None] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)

    def name(self, event: EventDraft) -> None:
        """Count the model and the tool of an event."""
        if event.kind == "tool_call":
            name = event.tool.name if event.tool and event.tool.name else "unnamed"
            self.tools[name] = self.tools.get(name, 0) + 1
        if event.model:
            self.models[event.model] = None

    def add(self, turn: Tally) -> None:
        """Add what a turn came to."""
        for name in ("events", "tool_calls", "errors"):
            setattr(self, name, getattr(self, name) + getattr(turn, name))
        self.add_response(Usage(**{name: getattr(turn, name) for name in COUNTED}), turn.cost)
        self.uncosted |= turn.uncosted
        times = [at for at in (self.started_at, turn.started_at, self.ended_at, turn.ended_at) if at]
        self.started_at, self.ended_at = (min(times), max(times)) if times else (None, None)


@dataclass(slots=True)
class _Response:
    """One model response; recorders repeat it on several lines, growing or not: the greatest output is true."""

    turn: int
    usage: Usage | None = None
    cost: Decimal | None = None

    def add_repeated(self, event: EventDraft) -> None:
        if event.usage and (self.usage is None or (event.usage.output_tokens or 0) >= (self.usage.output_tokens or 0)):
            self.usage = event.usage
        if event.cost is not None:
            self.cost = max(event.cost, self.cost or event.cost)


def count(events: Iterable[EventDraft], costs: Mapping[int, Any] | None = None) -> tuple[Total, list[Tally]]:
    """The session's tally and one for each turn; number 0 is what came before the first message.

    ``costs`` gives the cost of turns as the desk priced them, ``{turn: {amount, unpriced_tokens}}``, in
    place of what the recorder stated.
    """
    turns = [Tally()]
    total = Total()
    responses: dict[str, _Response] = {}
    for number, event in enumerate(events):
        if starts_turn(event):
            turns.append(Tally(prompt=first_line(event.text, PROMPT)))
        turns[-1].count(event)
        total.name(event)
        if event.usage or event.cost is not None:
            key = f"id:{event.request}" if event.request else f"event:{number}"
            responses.setdefault(key, _Response(len(turns) - 1)).add_repeated(event)
    for response in responses.values():
        turns[response.turn].add_response(response.usage, response.cost)
    for number, turn in enumerate(turns if costs is not None else ()):
        _price(turn, costs.get(number))
    for turn in turns:
        total.add(turn)
    return total, turns


def starts_turn(event: EventDraft) -> bool:
    """A turn starts at each message of a person or trigger, not at a prompt inside a sub-agent."""
    return event.kind == "user_message" and event.depth == 0


def _price(turn: Tally, cost: Any) -> None:
    amount = cost.get("amount") if cost else None
    turn.cost = Decimal(amount) if amount is not None else None
    turn.uncosted = bool(cost and cost.get("unpriced_tokens")) or (not cost and turn.total_tokens is not None)


def _failed(event: EventDraft) -> bool:
    return event.tool is not None and event.tool.status == "error"
