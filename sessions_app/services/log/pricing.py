"""Prices of model responses, from ``genai-prices`` (a list that was made of it, never updated over the network).

Each request is priced by itself, at its own date: long-context tiers apply per request, and prices change.
An unknown model has no price, never that of its family and never 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from sessions_app.prices.listed import Model, the_list

UNPRICED = "unpriced"
"""In place of ``source`` where no price is known."""
LARGEST = 2**62
"""Tokens; a prompt of more there is not."""


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token, and per request."""

    request: Decimal
    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    output: Decimal

    def amount(self, input_: int, cache_read: int, cache_write: int, cache_write_1h: int, output: int) -> Decimal:
        """``cache_write`` contains ``cache_write_1h``; what is not split is priced as five-minute cache."""
        return (
            self.request
            + self.input * input_
            + self.cache_read * cache_read
            + self.cache_write * (cache_write - cache_write_1h)
            + self.cache_write_1h * cache_write_1h
            + self.output * output
        )


def source() -> str:
    """Where prices come from, with its version."""
    return the_list().source


def price(model: str | None, at: datetime, tokens: tuple[int, int, int, int, int]) -> Decimal | None:
    """Cost of one request in US dollars, or None when there is no price for the model.

    ``tokens``: input without cache, cache read, cache write, of which for an hour, output with reasoning.
    """
    found = rates(model, at, tokens[0] + tokens[1] + tokens[2])
    return None if found is None else found.amount(*tokens)


def rates(model: str | None, at: datetime, prompt: int) -> Rates | None:
    """What a token of one request costs whose prompt has so many, or None when there is no price for the model."""
    known = _find(model) if model else None
    if known is None:
        return None
    card = known.card(at)  # by date, and with some providers by the time of day
    first, *higher = _bands(card)
    return next((band.rates for band in reversed(higher) if prompt > band.above), first.rates)


@dataclass(frozen=True, slots=True)
class Band:
    """Rates of a model for prompts of more than ``above`` tokens, and at most ``until``."""

    above: int
    until: int
    rates: Rates


def bands(model: str) -> tuple[Band, ...] | None:
    """What a model costs whenever it is used: nothing known is no band. None where it depends on the time."""
    known = _find(model)
    if known is None:
        return ()
    return _bands(known.prices) if isinstance(known.prices, str) else None


def context_window(model: str) -> int | None:
    """Tokens that a model reads at once, where the price list tells."""
    known = _find(model)
    return known.context_window if known else None


@lru_cache(maxsize=1024)
def _bands(card: str) -> tuple[Band, ...]:
    """The rates for prompts of all sizes."""
    tiers = [tier.split() for tier in card.split(";")]
    edges = [int(tier[0]) for tier in tiers] + [LARGEST]
    rates = [Rates(*map(Decimal, tier[1:])) for tier in tiers]
    return tuple(Band(*edge, found) for edge, found in zip(pairwise(edges), rates, strict=True))


@lru_cache(maxsize=1024)
def _find(model: str) -> Model | None:
    found = (the_list().model(name, provider) for name, provider in _spellings(model))
    return next(filter(None, found), None)


def _spellings(model: str) -> list[tuple[str, str | None]]:
    """The name itself, then without the provider in front, then without a date or version behind."""
    bare = model.rsplit("/", 1)[-1]
    provider = model.rsplit("/", 1)[0].split("/")[-1] if "/" in model else None
    undated = re.sub(r"(-\d{8}|@\d{8}|-v\d+:\d+)+$", "", bare)
    found: list[tuple[str, str | None]] = [(model, None)]
    if provider:
        found += [(bare, provider), (bare, None)]
    if undated != bare:
        found += [(undated, provider), (undated, None)]
    if re.match(r"([a-z]+\.)+[a-z]", bare):  # Bedrock's own names: us.anthropic.claude-...
        found.append((bare, "aws"))
    return found
