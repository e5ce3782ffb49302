"""Buckets: a session's events in at most 1,200 stretches of equal length, with counts of what lies in each.

A bucket holds ``step`` events. A session that grows past the last bucket has its buckets joined in pairs, and ``step``
doubles: what was counted is never read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

from ..toolline import ASK, describe_call

MOST = 1_200
"""Buckets of one session; half of them at the least, once it has as many events."""
COUNTED = ("person", "agent", "subagent", "read", "write", "run", "ask", "other", "errors", "compactions")
TOOLS = ("read", "write", "run", "ask", "other")
OF_VERB = {
    "run": "run", "write": "write", "edit": "write", "read": "read", "search": "read", "find": "read", "fetch": "read",
    "search the web": "read", ASK: "ask", "ask an agent": "subagent",
}  # fmt: skip
OF_KIND = {
    "user_message": "person", "agent_message": "agent", "reasoning": "agent", "approval": "ask", "escalation": "ask",
    "handoff": "subagent", "compaction": "compactions",
}  # fmt: skip
NAMED = 200
"""Errors that are kept with their words."""
Value = TypeVar("Value")


@lru_cache(maxsize=2_000)
def lane_of_tool(name: str, *, is_served: bool = False) -> str:
    """Lane of a tool's calls; those of an MCP server are ``other``, whatever their names promise."""
    if is_served or name.startswith("mcp__"):
        return "other"
    return OF_VERB.get(describe_call(name, None).verb, "other")


def lanes_of(kind: str, tool: str, *, is_nested: bool, is_served: bool = False) -> tuple[str, ...]:
    """Lanes that an event is counted in; none for results and for what recorders note. Errors are counted apart."""
    own = lane_of_tool(tool, is_served=is_served) if kind == "tool_call" else OF_KIND.get(kind, "")
    if not is_nested:
        return (own,) if own else ()
    return ("subagent", own) if own in TOOLS or own == "compactions" else ("subagent",) if own else ()


@dataclass(frozen=True, slots=True)
class Mark:
    """An error, with the beginning of what it says."""

    seq: int
    text: str
    is_event: bool
    """An event of its own, and no call that failed."""


@dataclass(slots=True)
class Buckets:
    """A session up to event ``seq``, which is the last that was counted."""

    step: int = 1
    seq: int = 0
    counts: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in COUNTED})
    error_events: list[int] = field(default_factory=list)
    """Errors that are events of their own, in each bucket; the calls that failed are counted besides."""
    began: list[int | None] = field(default_factory=list)
    """First and last time in a bucket, in milliseconds since 1970; None where no event in it has one."""
    ended: list[int | None] = field(default_factory=list)
    turns: list[int | None] = field(default_factory=list)
    """The first turn that has events in a bucket."""
    costs: list[Decimal | None] = field(default_factory=list)
    """US dollars of the responses that end in a bucket; None where no price is known, or there are none."""
    errors: list[Mark] = field(default_factory=list)
    """The first ``NAMED``; their number is among the counts."""
    compactions: list[int] = field(default_factory=list)
    """Events; the first ``NAMED``."""

    def __len__(self) -> int:
        return len(self.turns)

    def grow(self, last_seq: int) -> None:
        """Make room for the events up to ``last_seq``."""
        while last_seq > self.step * MOST:
            self._join()
        more = -(-last_seq // self.step) - len(self)
        for column in (*self.counts.values(), self.error_events):
            column.extend([0] * more)
        for dated in (self.began, self.ended, self.turns):
            dated.extend([None] * more)
        self.costs.extend([None] * more)
        self.seq = last_seq

    def _join(self) -> None:
        self.step *= 2
        self.counts = {name: [sum(pair) for pair in pairs(column)] for name, column in self.counts.items()}
        self.error_events = [sum(pair) for pair in pairs(self.error_events)]
        self.began, self.turns = _least(self.began), _least(self.turns)
        self.ended = [max((one for one in pair if one is not None), default=None) for pair in pairs(self.ended)]
        self.costs = [_added(pair) for pair in pairs(self.costs)]

    def first_seq(self, bucket: int) -> int:
        return bucket * self.step + 1

    def running_costs(self) -> list[Decimal | None]:
        """What everything up to the end of each bucket cost; None as long as no price is known."""
        found: list[Decimal | None] = []
        total: Decimal | None = None
        for cost in self.costs:
            total = total if cost is None else (total or Decimal(0)) + cost
            found.append(total)
        return found

    def kept(self) -> dict[str, Any]:
        """As JSON, to be read by ``of``."""
        return {
            "step": self.step, "seq": self.seq, "counts": self.counts, "error_events": self.error_events,
            "began": self.began, "ended": self.ended, "turns": self.turns,
            "costs": [None if cost is None else str(cost) for cost in self.costs],
            "errors": [[mark.seq, mark.text, mark.is_event] for mark in self.errors],
            "compactions": self.compactions,
        }  # fmt: skip

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Buckets:
        """What ``kept`` gave."""
        costs = [None if cost is None else Decimal(cost) for cost in kept["costs"]]
        errors = [Mark(*mark) for mark in kept["errors"]]
        return cls(**{**kept, "costs": costs, "errors": errors})


def pairs(values: Sequence[Value]) -> list[Sequence[Value]]:
    """Neighbours two by two; the last may be alone."""
    return [values[at : at + 2] for at in range(0, len(values), 2)]


def _least(values: Sequence[int | None]) -> list[int | None]:
    return [min((one for one in pair if one is not None), default=None) for pair in pairs(values)]


def _added(values: Sequence[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, Decimal(0)) if known else None
