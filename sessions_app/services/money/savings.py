"""What a cache saved at list prices: tokens read from it at the price of input, less what writing them cost besides."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

from ..log import pricing

TYPICAL = 1
"""Tokens of a prompt for which prices are asked: what is kept by day knows no size of single prompts."""


def is_steady(model: str) -> bool:
    """Whether the price of a model is the same on all days, so that days need not be told apart."""
    return pricing.bands(model) is not None


def saved(model: str, day: date, cache_read: int | None, cache_write: int | None) -> Decimal | None:
    """US dollars that a model's tokens of a day would have cost more without a cache; None where no price is known.

    Of a steady model they may be of many days. Below 0 where more was paid for writing than reading saved. Writes are
    taken to be for five minutes.
    """
    rates = pricing.rates(model or None, datetime.combine(day, time(12), UTC), TYPICAL)
    if rates is None:
        return None
    return (cache_read or 0) * (rates.input - rates.cache_read) - (cache_write or 0) * (rates.cache_write - rates.input)
