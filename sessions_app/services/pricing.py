"""What a model response costs, from ``genai-prices`` (bundled data, never updated over the network).

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

SOURCE = f"genai-prices/{version('genai-prices')}"
UNPRICED = "unpriced"
PROBE = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token."""

    input: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal
    output: Decimal

    def amount(self, input_: int, cache_read: int, cache_write: int, cache_write_1h: int, output: int) -> Decimal:
        """``cache_write`` contains ``cache_write_1h``; what is not split is priced as five-minute cache."""
        return (
            self.input * input_
            + self.cache_read * cache_read
            + self.cache_write * (cache_write - cache_write_1h)
            + self.cache_write_1h * cache_write_1h
            + self.output * output
        )


def price(model: str | None, at: datetime, tokens: tuple[int, int, int, int, int]) -> Decimal | None:
    """Cost of one request in US dollars, or None when there is no price for the model.

    ``tokens``: input without cache, cache read, cache write, of which for an hour, output with reasoning.
    """
    known = _find(model) if model else None
    if known is None:
        return None
    hour = at.replace(minute=0, second=0, microsecond=0)
    rates = _rates(model, hour, _size_class(model, hour, tokens[0] + tokens[1] + tokens[2]))
    return rates.amount(*tokens)


@lru_cache(maxsize=1024)
def _find(model: str) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import get_snapshot  # 0.7 s and 35 MB: only in processes that price

    for name, provider in _spellings(model):
        try:
            return get_snapshot().find_provider_model(name, None, provider, None)
        except LookupError:
            continue
    return None


def _spellings(model: str) -> list[tuple[str, str | None]]:
    """The name itself, then without the provider in front, then without a date or version behind."""
    bare = model.rsplit("/", 1)[-1]
    provider = model.rsplit("/", 1)[0].split("/")[-1] if "/" in model else None
    undated = re.sub(r"(-\d{8}|@\d{8}|-v\d+:\d+)+$", "", bare)
    found = [(model, None)]
    if provider:
        found += [(bare, provider), (bare, None)]
    if undated != bare:
        found += [(undated, provider), (undated, None)]
    return found


@lru_cache(maxsize=4096)
def _thresholds(model: str, hour: datetime) -> tuple[int, ...]:
    from genai_prices.types import TieredPrices

    _, info = _find(model)
    prices = vars(info.get_prices(hour)).values()
    return tuple(sorted({tier.start for value in prices if isinstance(value, TieredPrices) for tier in value.tiers}))


def _size_class(model: str, hour: datetime, prompt: int) -> int:
    return sum(prompt > start for start in _thresholds(model, hour))


@lru_cache(maxsize=4096)
def _rates(model: str, hour: datetime, size_class: int) -> Rates:
    """Rates of one tier, asked of the library with a prompt of that size: within a tier prices are linear."""
    from genai_prices import Usage

    provider, info = _find(model)
    starts = _thresholds(model, hour)
    size = starts[size_class - 1] + 1 if size_class else (starts[0] if starts else PROBE)

    def cost(**tokens: int) -> Decimal:
        return info.calc_price(Usage(**tokens), provider, genai_request_timestamp=hour).total_price

    plain = cost(input_tokens=size)
    return Rates(
        input=plain / size,
        cache_read=cost(input_tokens=size, cache_read_tokens=size) / size,
        cache_write=cost(input_tokens=size, cache_write_tokens=size) / size,
        cache_write_1h=cost(input_tokens=size, cache_write_tokens=size, cache_write_1h_tokens=size) / size,
        output=(cost(input_tokens=size, output_tokens=PROBE) - plain) / PROBE,
    )
