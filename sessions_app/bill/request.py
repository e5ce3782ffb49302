"""What a bill is made of: one model request with its money by class, and one result of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TypeAlias

ZERO = Decimal(0)
INPUT, CACHE_READ, CACHE_WRITE = "input", "cache_read", "cache_write"
CACHE_WRITE_5M, CACHE_WRITE_1H = "cache_write_5m", "cache_write_1h"
OUTPUT, REASONING, FEE = "output", "reasoning", "request"
STATED, OTHER_TABLE = "stated", "other_table"
"""Money that has no parts: an amount of the recorder, and one computed with prices that are not at hand any more."""
CLASSES = (
    INPUT, CACHE_READ, CACHE_WRITE, CACHE_WRITE_5M, CACHE_WRITE_1H, OUTPUT, REASONING, FEE, STATED, OTHER_TABLE,
)  # fmt: skip
PROMPT = (INPUT, CACHE_READ, CACHE_WRITE, CACHE_WRITE_5M, CACHE_WRITE_1H)

Flow: TypeAlias = int | str
"""Whose context a request reads: 0 is the session's agent, else the event that began a sub-agent, or its name."""


@dataclass(frozen=True, slots=True)
class PerToken:
    """List prices of one request in US dollars per token; what is written to the cache at the mix of this request."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal


@dataclass(slots=True)
class Request:
    """One response of a model. ``money`` is what the session's cost has of it, by class; empty where it has nothing:
    there is no price, or it is counted in another session or within a statement of the recorder."""

    key: str
    seq: int
    at: datetime | None
    model: str | None
    flow: Flow = 0
    agent: tuple[int, str] | None = None
    """The event of the main flow that began the sub-agent, 0 where none is known, and the sub-agent's name."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """By class; what is not stated is not there."""
    money: Mapping[str, Decimal] = field(default_factory=dict)
    prices: PerToken | None = None
    is_counted: bool = True
    """Whether its tokens count in this session, and not as a copy in another one."""
    is_unpriced: bool = False
    covers: bool = False
    """Whether its amount is what the recorder states for other responses as well."""
    is_under_reported: bool = False

    context: int = field(init=False)
    """Tokens that the model read: without a cache, from it and into it."""
    amount: Decimal = field(init=False)

    def __post_init__(self) -> None:
        # Both are asked for ten times: of 13,000 requests that is half of the time that a bill takes.
        self.context = sum(self.tokens.get(name, 0) for name in PROMPT)
        self.amount = sum(self.money.values(), ZERO)

    @property
    def written(self) -> int:
        return sum(self.tokens.get(name, 0) for name in (CACHE_WRITE, CACHE_WRITE_5M, CACHE_WRITE_1H))

    @property
    def output(self) -> int:
        return self.tokens.get(OUTPUT, 0) + self.tokens.get(REASONING, 0)

    def of(self, *classes: str) -> Decimal:
        """Money of some classes."""
        return sum((self.money[name] for name in classes if name in self.money), ZERO)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its result, of which ``size`` is the length in bytes of what the log holds of it."""

    seq: int
    name: str
    request: str
    """Key of the response that asks for it."""
    flow: Flow = 0
    result_seq: int | None = None
    size: int = 0
