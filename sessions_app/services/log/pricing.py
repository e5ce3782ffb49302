"""Prices of model responses, from ``genai-prices`` (bundled data, never updated over the network).

Each request is priced by itself, at its own date: long-context tiers apply per request, and prices change.
An unknown model has no price, never that of its family and never 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

SOURCE = f"genai-prices/{version('genai-prices')}"
UNPRICED = "unpriced"
PROBE = 1_000_000
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
    prices = known.get_prices(at)  # by date, and with some providers by the time of day
    card = _cards.get(id(prices)) or _cards.setdefault(id(prices), _Card(prices))
    return card.rates(prompt)


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
    if isinstance(known.prices, list):
        return None
    card = _cards.get(id(known.prices)) or _cards.setdefault(id(known.prices), _Card(known.prices))
    return card.bands()


def context_window(model: str) -> int | None:
    """Tokens that a model reads at once, where the price list tells."""
    known = _find(model)
    return known.context_window if known else None


class _Card:
    """One price list of the library, which holds on to it for as long as the process lives."""

    def __init__(self, prices: ModelPrice) -> None:
        from genai_prices.types import TieredPrices

        tiered = [value for value in vars(prices).values() if isinstance(value, TieredPrices)]
        self._prices = prices
        self._starts = sorted({tier.start for value in tiered for tier in value.tiers})
        self._rates: dict[int, Rates] = {}

    def rates(self, prompt: int) -> Rates:
        """The rates for a prompt of this size: within a tier prices are linear."""
        tier = sum(prompt > start for start in self._starts)
        if tier not in self._rates:
            self._rates[tier] = self._ask(tier)
        return self._rates[tier]

    def bands(self) -> tuple[Band, ...]:
        """The rates for prompts of all sizes."""
        edges = [-1, *self._starts, LARGEST]
        return tuple(
            Band(above, until, self.rates(above + 1)) for above, until in pairwise(edges)
        )  # fmt: skip

    def _ask(self, tier: int) -> Rates:
        size = self._starts[tier - 1] + 1 if tier else (self._starts or [PROBE])[0]
        fee, plain = self._cost(), self._cost(input_tokens=size)

        def rate(**cached: int) -> Decimal:
            return (self._cost(input_tokens=size, **cached) - fee) / size

        return Rates(
            request=fee,
            input=rate(),
            cache_read=rate(cache_read_tokens=size),
            cache_write=rate(cache_write_tokens=size),
            cache_write_1h=rate(cache_write_tokens=size, cache_write_1h_tokens=size),
            output=(self._cost(input_tokens=size, output_tokens=PROBE) - plain) / PROBE,
        )

    def _cost(self, **tokens: int) -> Decimal:
        from genai_prices import Usage

        return self._prices.calc_price(Usage(**tokens))["total_price"]


_cards: dict[int, _Card] = {}


@lru_cache(maxsize=1024)
def _find(model: str) -> ModelInfo | None:
    from genai_prices.data_snapshot import get_snapshot  # 0.7 s and 35 MB: only in processes that price

    for name, provider in _spellings(model):
        try:
            return get_snapshot().find_provider_model(name, None, provider, None)[1]
        except LookupError:
            continue
    return None


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
